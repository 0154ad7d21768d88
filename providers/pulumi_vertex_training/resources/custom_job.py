"""`CustomJob`: a distributed training job on Vertex AI."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training import arguments, connection, guarding, interruption, wait_policy
from pulumi_vertex_training.args import (
    EncryptionSpecArgs,
    PscInterfaceConfigArgs,
    SchedulingArgs,
    WorkerPool,
    with_image_names,
)
from pulumi_vertex_training.completion import completion, standing
from pulumi_vertex_training.names import (
    BucketLike,
    ServiceAccountLike,
    bucket_location,
    bucket_name,
    service_account_email,
)
from pulumi_vertex_training.providers.custom_job import CustomJobProvider
from pulumi_vertex_training.resources.common import (
    as_secret_as,
    place,
    stack_settings,
    start_emulator,
    with_outputs,
)
from pulumi_vertex_training.resources.run import Run
from pulumi_vertex_training.wait_policy import OnInterrupt, Wait, WaitPolicy
from vertex_training.emulator.launcher import LauncherError
from vertex_training.lifecycle.removal_plan import OnDelete
from vertex_training.lifecycle.rerun import DEFAULT_LIMIT, Policy


class CustomJob(Resource, module="vertex-training", name="CustomJob"):
    """A training job that runs once for what is declared, and again when the declaration changes.

    A job cannot be changed once it exists: every change of the spec replaces it, the old one being cancelled
    and deleted first. A finished job is a steady state.
    """

    name: pulumi.Output[str]
    job_id: pulumi.Output[str]
    state: pulumi.Output[str]
    create_time: pulumi.Output[str]
    start_time: pulumi.Output[str]
    end_time: pulumi.Output[str]
    error: pulumi.Output[str]
    run: pulumi.Output[str]
    base_output_directory: pulumi.Output[str]
    asked_by: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    project: pulumi.Output[str]
    location: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        worker_pool_specs: pulumi.Input[Sequence[pulumi.Input[WorkerPool]]],
        display_name: pulumi.Input[str] | None = None,
        scheduling: pulumi.Input[SchedulingArgs | Mapping[str, Any]] | None = None,
        service_account: ServiceAccountLike | None = None,
        network: pulumi.Input[str] | None = None,
        reserved_ip_ranges: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        psc_interface_config: pulumi.Input[PscInterfaceConfigArgs | Mapping[str, Any]] | None = None,
        base_output_directory: pulumi.Input[str] | None = None,
        staging_bucket: BucketLike | None = None,
        persistent_resource_id: pulumi.Input[str] | None = None,
        protected_artifact_location_id: pulumi.Input[str] | None = None,
        tensorboard: pulumi.Input[str] | None = None,
        enable_web_access: pulumi.Input[bool] | None = None,
        enable_dashboard_access: pulumi.Input[bool] | None = None,
        experiment: pulumi.Input[str] | None = None,
        experiment_run: pulumi.Input[str] | None = None,
        models: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any]] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        framework: str | None = None,
        allow_unknown_types: bool = False,
        allow_legacy_types: bool = False,
        run_token: pulumi.Input[str] | None = None,
        rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change",
        rerun_limit: int = DEFAULT_LIMIT,
        protect_running: bool = False,
        on_delete: Literal["delete", "cancel"] = "delete",
        adopt: pulumi.Input[str] | None = None,
        taking_over: pulumi.Input[str] | None = None,
        wait: Wait = "running",
        wait_timeout: float = wait_policy.DEFAULT_TIMEOUT,
        on_interrupt: OnInterrupt = "leave",
        stream_logs: bool = False,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a job.

        :param worker_pool_specs: the pools by position: chief, workers, servers, evaluators; `topology`
            makes the list from roles.
        :param display_name: default: `resource_name`.
        :param base_output_directory: a gs:// directory for the output of all runs.
        :param staging_bucket: where, without `base_output_directory`, each run gets an output directory of
            its own, so that a rerun never overwrites a good model.
        :param framework: the strategy or framework of the program, such as `MultiWorkerMirroredStrategy`,
            `ParameterServerStrategy` or `pytorch`: the pools are checked against what it needs.
        :param allow_unknown_types: machine and accelerator types that this version does not know are a
            warning instead of an error, for types that Google has added since.
        :param allow_legacy_types: accept types that Google has retired, such as NVIDIA_TESLA_K80.
        :param run_token: any string; another one runs the job again though nothing else changed.
        :param rerun: when it runs again: `on_change` (default), `on_failure`, `always` or `never`
            (docs/rerun.md).
        :param rerun_limit: how often in a row `on_failure` runs it again.
        :param protect_running: refuse to replace or destroy the job while it is live.
        :param on_delete: `delete` (default) cancels a live job and deletes its record; `cancel` keeps the
            record. Neither this nor the three above replace the job when they are edited.
        :param adopt: the id or full name of a job that exists, which becomes this resource's instead of a new
            one; it has to be what is declared, else every difference is listed. Looked at when the resource
            is created; leave it out afterwards, or let it stand.
        :param taking_over: the run of a declaration that is given up for good, whose job is adopted.
        :param wait: `none`, `running` (default) or `done`: what a deployment waits for. With `done` a failed
            job fails the deployment that started or joined it.
        :param wait_timeout: seconds; past it the deployment goes on with a warning.
        :param on_interrupt: `leave` (default) or `cancel`: what becomes of the job when the deployment is
            interrupted while it waits (docs/waiting.md).
        :param stream_logs: show the log of all replicas while the deployment waits.
        :param more: arguments that there are not; they are refused by name.
        """
        waits = WaitPolicy(
            until=wait, timeout=wait_timeout, on_interrupt=on_interrupt, stream_logs=stream_logs
        )
        arguments.require(
            resource_name,
            [
                *arguments.unknown(more, _ARGUMENTS),
                *wait_policy.findings(waits),
                arguments.one_of("rerun", rerun, [one.value for one in Policy]),
                arguments.whole_number("rerun_limit", rerun_limit),
                arguments.flag("protect_running", protect_running),
                arguments.one_of("on_delete", on_delete, [one.value for one in OnDelete]),
                "taking_over says whose job is adopted, and adopt is not given; give both"
                if taking_over is not None and adopt is None
                else None,
            ],
        )
        policy: dict[str, Any] = {"rerun": rerun, "protect_running": protect_running}
        declaration = {
            "display_name": display_name,
            "worker_pool_specs": with_image_names(worker_pool_specs),
            "scheduling": scheduling,
            "service_account": service_account_email(service_account),
            "network": network,
            "reserved_ip_ranges": reserved_ip_ranges,
            "psc_interface_config": psc_interface_config,
            "base_output_directory": base_output_directory,
            "persistent_resource_id": persistent_resource_id,
            "protected_artifact_location_id": protected_artifact_location_id,
            "tensorboard": tensorboard,
            "enable_web_access": enable_web_access,
            "enable_dashboard_access": enable_dashboard_access,
            "experiment": experiment,
            "experiment_run": experiment_run,
            "models": models,
            "encryption_spec": encryption_spec,
            "framework": framework,
            "allow_unknown_types": allow_unknown_types or None,
            "allow_legacy_types": allow_legacy_types or None,
            "staging_bucket": None if staging_bucket is None else bucket_name(staging_bucket),
            "labels": labels,
            **place(project, location),
            "staging_bucket_location": bucket_location(staging_bucket),
        }
        declaration = {name: value for name, value in declaration.items() if value is not None}
        start_emulator()
        run = Run(
            resource_name,
            declaration=declaration,
            run_token=run_token,
            policy={**policy, "rerun_limit": rerun_limit, "on_delete": on_delete, "adopt": adopt},
            opts=opts,
        )
        props = with_outputs(
            {
                **declaration,
                **policy,
                "on_delete": on_delete,
                "adopt": adopt,
                "taking_over": taking_over,
                "run": run.key,
                # Filled in by check; a secret in the declaration makes its hash one.
                "spec_hash": as_secret_as(declaration),
                "marks": {
                    "project": pulumi.get_project(),
                    "stack": pulumi.get_stack(),
                    "resource": resource_name,
                },
            },
            *("name", "job_id", "state", "create_time", "start_time", "end_time", "error", "asked_by"),
            *("display_name", "base_output_directory"),
        )
        immutable = pulumi.ResourceOptions(delete_before_replace=True)
        super().__init__(
            CustomJobProvider(), resource_name, props, pulumi.ResourceOptions.merge(opts, immutable)
        )
        self._wait = waits
        self._label = resource_name
        self._completion: pulumi.Output[Any] | None = None
        self._held: pulumi.Output[Any] | None = None
        if waits.waits and not pulumi.runtime.is_dry_run():
            interruption.listen()
            if waits.cancels:
                at = {name: declaration[name] for name in ("endpoint", "project", "location")}
                self._held = pulumi.Output.all(key=run.key, **at).apply(_hold_run)
            _ = self.completion

    @property
    def completion(self) -> pulumi.Output[Any]:
        """How the run ended, or stands when `wait` is not `done`: a dictionary of `state`, `job`, `error`,
        `start_time`, `end_time`, `model_directory` and `metrics` (the contents of metrics.json in the model
        directory; what is not there is None). In a preview it is known for a job that has ended."""
        if self._completion is None:
            facts: dict[str, Any] = {
                "name": self.id,
                "endpoint": self.endpoint,
                "project": self.project,
                "location": self.location,
            }
            if not pulumi.runtime.is_dry_run():
                facts |= {
                    "asked_by": self.asked_by,
                    "held_run": self._held,
                    "base_output_directory": self.base_output_directory,
                }
            self._completion = pulumi.Output.all(**facts).apply(self._complete)
        return self._completion

    @property
    def logs_command(self) -> pulumi.Output[str]:
        """The command that prints the logs of all replicas."""
        return self.id.apply(lambda name: f"vertex-training logs {name.rpartition('/')[2]}")

    async def _complete(self, facts: dict[str, Any]) -> Any:
        where = (facts["endpoint"], facts["project"], facts["location"], stack_settings())
        if pulumi.runtime.is_dry_run():
            ended = await asyncio.to_thread(
                standing,
                functools.partial(connection.connect_if_running, *where),
                facts["name"],
            )
            return ended or pulumi.UNKNOWN
        return await completion(
            self,
            functools.partial(connection.connect, *where),
            facts["name"],
            policy=self._wait,
            asked_by=facts["asked_by"],
            base_output_directory=facts["base_output_directory"],
            label=self._label,
            held_run=facts["held_run"],
        )


async def _hold_run(facts: dict[str, Any]) -> Any:
    """Have the job that is about to be created cancelled if the deployment ends while it is; the key."""
    try:
        endpoint = await asyncio.to_thread(
            connection.connect, facts["endpoint"], facts["project"], facts["location"], stack_settings()
        )
    except LauncherError:
        return None  # the job's creation says so
    guarding.hold_run(facts["key"], endpoint)
    return facts["key"]


_ARGUMENTS = [
    name
    for name, parameter in inspect.signature(CustomJob.__init__).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
]
