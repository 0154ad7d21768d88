"""`CustomJob`: a distributed training job on Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pulumi

from pulumi_vertex_training.kinds.custom_job.provider import CustomJobProvider
from pulumi_vertex_training.kinds.persistent_resource.reference import on_resource
from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.program.job_args import (
    EncryptionSpecArgs,
    PscInterfaceConfigArgs,
    SchedulingArgs,
    WorkerPool,
    with_image_names,
)
from pulumi_vertex_training.program.job_resource import JobResource
from pulumi_vertex_training.program.references import BucketLike, ServiceAccountLike, service_account_email
from pulumi_vertex_training.program.run import Run
from pulumi_vertex_training.program.run_options import DEFAULT_WAIT_TIMEOUT, OnInterrupt, RunOptions, Wait
from pulumi_vertex_training.runs.rerun import DEFAULT_LIMIT


class CustomJob(JobResource, module="customJob", name="CustomJob"):
    """A training job that runs once for what is declared, and again when the declaration changes.

    A job cannot be changed once it exists: every change of the spec replaces it, the old one being cancelled
    and deleted first. A finished job is a steady state.
    """

    provider = CustomJobProvider
    run_class = Run

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
        persistent_resource_id: PersistentResource | pulumi.Input[str] | None = None,
        persistent_resource: PersistentResource | None = None,
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
        wait_timeout: float = DEFAULT_WAIT_TIMEOUT,
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
        :param persistent_resource_id: a `PersistentResource`, or the id of one, on whose machines the job
            runs. It waits for the resource, and is checked against its pools in the preview.
        :param persistent_resource: the same, for a resource only.
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
        super().__init__(
            resource_name,
            spec={
                "display_name": display_name,
                "worker_pool_specs": with_image_names(worker_pool_specs),
                "scheduling": scheduling,
                "service_account": service_account_email(service_account),
                "network": network,
                "reserved_ip_ranges": reserved_ip_ranges,
                "psc_interface_config": psc_interface_config,
                "base_output_directory": base_output_directory,
                **on_resource(resource_name, persistent_resource_id, persistent_resource),
                "protected_artifact_location_id": protected_artifact_location_id,
                "tensorboard": tensorboard,
                "enable_web_access": enable_web_access,
                "enable_dashboard_access": enable_dashboard_access,
                "experiment": experiment,
                "experiment_run": experiment_run,
                "models": models,
                "encryption_spec": encryption_spec,
                "labels": labels,
            },
            options=RunOptions(
                staging_bucket=staging_bucket,
                framework=framework,
                allow_unknown_types=allow_unknown_types,
                allow_legacy_types=allow_legacy_types,
                run_token=run_token,
                rerun=rerun,
                rerun_limit=rerun_limit,
                protect_running=protect_running,
                on_delete=on_delete,
                adopt=adopt,
                taking_over=taking_over,
                wait=wait,
                wait_timeout=wait_timeout,
                on_interrupt=on_interrupt,
                stream_logs=stream_logs,
                project=project,
                location=location,
                opts=opts,
            ),
            unknown=more,
        )
