"""`CustomJob`: a distributed training job on Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pulumi
from pulumi import _types

from pulumi_vertex_training import registry
from pulumi_vertex_training.program import links
from pulumi_vertex_training.program.arguments.job_args import (
    EncryptionSpecArgs,
    PscInterfaceConfigArgs,
    RungArgs,
    SchedulingArgs,
)
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments
from pulumi_vertex_training.program.arguments.references import (
    BucketLike,
    ServiceAccountLike,
    bucket_name,
    service_account_email,
)
from pulumi_vertex_training.program.arguments.run_options import (
    DEFAULT_WAIT_TIMEOUT,
    NotificationsLike,
    OnInterrupt,
    RunOptions,
    Wait,
)
from pulumi_vertex_training.program.arguments.worker_pools import WorkerPool, with_names_and_counts
from pulumi_vertex_training.program.job_resource import JobResource
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_CLIMB_LIMIT, DEFAULT_LIMIT

if TYPE_CHECKING:
    from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource


class CustomJob(JobResource, module="customJob", name="CustomJob"):
    """A training job that runs once for its declaration, and again when the declaration changes.

    A job cannot change once it exists. After a change of the spec the job runs again: a live one is
    cancelled first, and `on_replace` decides whether the record of the old one is kept, as by default.
    A finished job is a steady state.
    """

    kind = registry.CUSTOM_JOB

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        worker_pool_specs: pulumi.Input[Sequence[pulumi.Input[WorkerPool]]],
        display_name: pulumi.Input[str] | None = None,
        scheduling: pulumi.Input[SchedulingArgs | Mapping[str, Any] | None] = None,
        service_account: ServiceAccountLike | None = None,
        network: pulumi.Input[str | None] = None,
        reserved_ip_ranges: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        psc_interface_config: pulumi.Input[PscInterfaceConfigArgs | Mapping[str, Any] | None] = None,
        base_output_directory: pulumi.Input[str | None] = None,
        staging_bucket: BucketLike | None = None,
        persistent_resource_id: PersistentResource | pulumi.Input[str] | None = None,
        persistent_resource: PersistentResource | None = None,
        capacity: pulumi.Input[Sequence[pulumi.Input[RungArgs | Mapping[str, Any]]] | None] = None,
        capacity_limit: int = DEFAULT_CLIMB_LIMIT,
        protected_artifact_location_id: pulumi.Input[str | None] = None,
        tensorboard: pulumi.Input[str | None] = None,
        enable_web_access: pulumi.Input[bool | None] = None,
        enable_dashboard_access: pulumi.Input[bool | None] = None,
        experiment: pulumi.Input[str | None] = None,
        experiment_run: pulumi.Input[str | None] = None,
        models: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any] | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        framework: str | None = None,
        allow_unknown_types: bool = False,
        allow_legacy_types: bool = False,
        run_token: pulumi.Input[str] | None = None,
        rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change",
        rerun_limit: int = DEFAULT_LIMIT,
        protect_running: bool = False,
        on_delete: Literal["delete", "cancel"] | None = None,
        adopt: pulumi.Input[str] | None = None,
        taking_over: pulumi.Input[str] | None = None,
        wait: Wait = "running",
        wait_timeout: float = DEFAULT_WAIT_TIMEOUT,
        on_interrupt: OnInterrupt = "leave",
        stream_logs: bool = False,
        on_replace: Literal["keep", "delete"] = "keep",
        keep_runs: int = DEFAULT_KEEP_RUNS,
        notifications: NotificationsLike | None = None,
        max_cost: float | None = None,
        stall_timeout: float | None = None,
        resume: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a job.

        :param resource_name: Name of the resource in the program.
        :param worker_pool_specs: Worker pools by position: chief, workers, parameter or reduction servers,
            evaluator. `topology` builds this list from roles.
        :param display_name: Name for people, up to 128 characters. Default: the resource's name. `{run}` in
            it becomes the number of the run. A change applies to the next run.
        :param scheduling: Timeout, restarts and scheduling strategy.
        :param service_account: Service account that the job runs as. Default: Vertex AI's Custom Code Service
            Agent.
        :param network: Full name of the VPC network to which the job is peered,
            projects/PROJECT_NUMBER/global/networks/NETWORK.
        :param reserved_ip_ranges: Names of reserved IP ranges of the network that the job may use. Default:
            any range.
        :param psc_interface_config: Private Service Connect interface, through which the job reaches a
            network.
        :param base_output_directory: The gs:// directory for the output of all runs. Default: each run has a
            directory of its own in `staging_bucket`.
        :param staging_bucket: Bucket in which each run gets an output directory of its own, unless there is a
            `base_output_directory`.
        :param persistent_resource_id: `PersistentResource`, or the id of one, on whose machines the job runs.
            The job waits for the resource, and the preview checks the job against the resource's pools.
        :param persistent_resource: The same as `persistent_resource_id`, for a resource only.
        :param capacity: Capacity ladder: strategies, machines and regions that the job tries in turn until
            there are machines (docs/guides/programs/capacity.md).
        :param capacity_limit: How often in a row later deployments climb the ladder again after no rung had
            machines.
        :param protected_artifact_location_id: Region in which protected artifacts are stored, if it is not
            that of the job.
        :param tensorboard: TensorBoard for the job's logs,
            projects/PROJECT/locations/LOCATION/tensorboards/ID. It needs a `service_account`.
        :param enable_web_access: Allow interactive shells in the containers.
        :param enable_dashboard_access: Allow access to a dashboard in the chief's container.
        :param experiment: Experiment of the job,
            projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT.
        :param experiment_run: Experiment run of the job,
            projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT-RUN.
        :param models: Models whose artifact URIs the job gets,
            projects/PROJECT/locations/LOCATION/models/MODEL, also with @VERSION. Only for some jobs that
            Google provides.
        :param encryption_spec: Customer-managed key that encrypts the job's resources.
        :param labels: Labels of the job. A change applies to the next run.
        :param framework: Framework or strategy of the program, such as `pytorch`, `jax` or
            `MultiWorkerMirroredStrategy`. The pools are checked against its requirements, and get the image,
            launcher and variables that it needs where you give none (docs/guides/frameworks/choose.md).
        :param allow_unknown_types: Only warn about machine and accelerator types that this version does not
            know, such as Google's newest.
        :param allow_legacy_types: Accept types that Google has retired, such as NVIDIA_TESLA_K80.
        :param run_token: Any string. A different one reruns an unchanged job.
        :param rerun: When the job runs again (docs/guides/programs/rerun.md).
        :param rerun_limit: How often in a row `on_failure` reruns the job.
        :param protect_running: Refuse to replace or destroy the job while it is live.
        :param on_delete: Effect of destroying the job on the records of its runs and on their models
            (docs/guides/programs/protect-and-delete.md#delete-a-job).
        :param adopt: Id or full name of an existing job to manage instead of a new one
            (docs/guides/running/adopt.md).
        :param taking_over: Run of a declaration that is given up for good, whose job is adopted.
        :param wait: Event that a deployment waits for. With `done`, a failed job fails each deployment until
            it has succeeded (docs/guides/programs/failed-jobs.md).
        :param wait_timeout: Longest wait in seconds. After it the deployment continues with a warning.
        :param on_interrupt: Effect of Ctrl-C on a job that the deployment waits for
            (docs/guides/programs/waiting.md).
        :param stream_logs: Show the log of all replicas while the deployment waits.
        :param on_replace: Effect on the record and the logs of a job that a new run replaces.
        :param keep_runs: How many earlier runs are kept. A new run deletes the records of older ones that
            have ended.
        :param notifications: Notifications of the ends of runs (docs/guides/programs/notifications.md).
        :param max_cost: The most that all runs of this resource may cost together, in US dollars
            (docs/guides/cost/limit.md).
        :param stall_timeout: Seconds without a further `vertex_cluster.report` after which a replica ends the
            job (docs/guides/frameworks/hangs.md).
        :param resume: Runs that continue from checkpoints: `after_interruption`, the default with a
            `staging_bucket`; `never`; or all, in a gs:// folder that you give. Not for tuning jobs
            (docs/guides/frameworks/checkpoints.md).
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        super().__init__(
            resource_name,
            spec={
                "display_name": display_name,
                "worker_pool_specs": with_names_and_counts(worker_pool_specs),
                "scheduling": scheduling,
                "service_account": service_account_email(service_account),
                "network": network,
                "reserved_ip_ranges": reserved_ip_ranges,
                "psc_interface_config": psc_interface_config,
                "base_output_directory": base_output_directory,
                **_machines(resource_name, persistent_resource_id, persistent_resource),
                "capacity": rungs(capacity),
                "capacity_limit": None if capacity_limit == DEFAULT_CLIMB_LIMIT else capacity_limit,
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
                on_replace=on_replace,
                keep_runs=keep_runs,
                notifications=notifications,
                max_cost=max_cost,
                stall_timeout=stall_timeout,
                resume=resume,
                project=project,
                location=location,
                opts=opts,
            ),
        )
        self._tensorboard = tensorboard

    @property
    def logs_url(self) -> pulumi.Output[str]:
        """Address of the job's log in the Google Cloud console.

        On the emulator, the command that prints it: `vertex-training logs ID`.
        """
        return self._link(links.logs_url)

    @property
    def tensorboard_url(self) -> pulumi.Output[str | None]:
        """Address of the job's TensorBoard experiment. None if the job names no TensorBoard.

        On the emulator, the command that shows its event files: `tensorboard --logdir FOLDER`.
        """
        facts = (self.endpoint, self.id, self._tensorboard, self.base_output_directory)
        return pulumi.Output.all(*facts).apply(_tensorboard_url)


def rungs(given: object) -> Any:
    """Return the rungs of a ladder with the names of buckets in place of resources."""
    if not isinstance(given, (list, tuple)):
        return given
    plain = [_types.input_type_to_dict(one) if _types.is_input_type(type(one)) else one for one in given]
    return [
        {**one, "staging_bucket": bucket_name(one["staging_bucket"])}
        if isinstance(one, Mapping) and one.get("staging_bucket") is not None
        else one
        for one in plain
    ]


def _machines(
    job: str, resource_id: PersistentResource | pulumi.Input[str] | None, resource: PersistentResource | None
) -> dict[str, Any]:
    """Return `persistent_resource_inputs`; that module is imported only if the job may have a resource."""
    if resource is None and (resource_id is None or isinstance(resource_id, (str, pulumi.Output))):
        return {"persistent_resource_id": resource_id}
    from pulumi_vertex_training.kinds.persistent_resource.resource import persistent_resource_inputs

    return persistent_resource_inputs(job, resource_id, resource)


def _tensorboard_url(facts: Sequence[Any]) -> str | None:
    endpoint, name, tensorboard, directory = facts
    if not tensorboard:
        return None
    if endpoint == "google":
        return links.tensorboard_url(name, tensorboard)
    return links.event_files_command(stack_settings().data_dir, directory)
