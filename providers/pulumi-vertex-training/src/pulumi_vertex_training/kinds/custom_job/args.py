"""Arguments of `CustomJob` that a component passes on. Written by `make generate`: do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from pulumi import Input

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.program.arguments.job_args import (
    EncryptionSpecArgs,
    PscInterfaceConfigArgs,
    RungArgs,
    SchedulingArgs,
)
from pulumi_vertex_training.program.arguments.references import BucketLike, ServiceAccountLike
from pulumi_vertex_training.program.arguments.run_options import NotificationsLike, OnInterrupt, Wait


class JobOptions(TypedDict, total=False):
    """Arguments of `CustomJob`, except the worker pools, for editors and type checkers."""

    display_name: Input[str] | None
    """Name for people, up to 128 characters. Default: the resource's name. `{run}` in it becomes the number
    of the run. A change applies to the next run.
    """
    scheduling: Input[SchedulingArgs | Mapping[str, Any] | None]
    """Timeout, restarts and scheduling strategy."""
    service_account: ServiceAccountLike | None
    """Service account that the job runs as. Default: Vertex AI's Custom Code Service Agent."""
    network: Input[str | None]
    """Full name of the VPC network to which the job is peered,
    projects/PROJECT_NUMBER/global/networks/NETWORK.
    """
    reserved_ip_ranges: Input[Sequence[Input[str]] | None]
    """Names of reserved IP ranges of the network that the job may use. Default: any range."""
    psc_interface_config: Input[PscInterfaceConfigArgs | Mapping[str, Any] | None]
    """Private Service Connect interface, through which the job reaches a network."""
    base_output_directory: Input[str | None]
    """The gs:// directory for the output of all runs. Default: each run has a directory of its own in
    `staging_bucket`.
    """
    staging_bucket: BucketLike | None
    """Bucket in which each run gets an output directory of its own, unless there is a
    `base_output_directory`.
    """
    persistent_resource_id: PersistentResource | Input[str] | None
    """`PersistentResource`, or the id of one, on whose machines the job runs. The job waits for the resource,
    and the preview checks the job against the resource's pools.
    """
    persistent_resource: PersistentResource | None
    """The same as `persistent_resource_id`, for a resource only."""
    capacity: Input[Sequence[Input[RungArgs | Mapping[str, Any]]] | None]
    """Capacity ladder: strategies, machines and regions that the job tries in turn until there are machines
    (docs/guides/programs/capacity.md).
    """
    capacity_limit: int
    """How often in a row later deployments climb the ladder again after no rung had machines."""
    protected_artifact_location_id: Input[str | None]
    """Region in which protected artifacts are stored, if it is not that of the job."""
    tensorboard: Input[str | None]
    """TensorBoard for the job's logs, projects/PROJECT/locations/LOCATION/tensorboards/ID. It needs a
    `service_account`.
    """
    enable_web_access: Input[bool | None]
    """Allow interactive shells in the containers."""
    enable_dashboard_access: Input[bool | None]
    """Allow access to a dashboard in the chief's container."""
    experiment: Input[str | None]
    """Experiment of the job, projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT."""
    experiment_run: Input[str | None]
    """Experiment run of the job,
    projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT-RUN.
    """
    models: Input[Sequence[Input[str]] | None]
    """Models whose artifact URIs the job gets, projects/PROJECT/locations/LOCATION/models/MODEL, also with
    @VERSION. Only for some jobs that Google provides.
    """
    encryption_spec: Input[EncryptionSpecArgs | Mapping[str, Any] | None]
    """Customer-managed key that encrypts the job's resources."""
    labels: Input[Mapping[str, Input[str]] | None]
    """Labels of the job. A change applies to the next run."""
    framework: str | None
    """Framework or strategy of the program, such as `pytorch`, `jax` or `MultiWorkerMirroredStrategy`. The
    pools are checked against its requirements, and get the image, launcher and variables that it needs where
    you give none (docs/guides/frameworks/choose.md).
    """
    allow_unknown_types: bool
    """Only warn about machine and accelerator types that this version does not know, such as Google's newest.
    """
    allow_legacy_types: bool
    """Accept types that Google has retired, such as NVIDIA_TESLA_K80."""
    run_token: Input[str] | None
    """Any string. A different one reruns an unchanged job."""
    rerun: Literal["on_change", "on_failure", "always", "never"]
    """When the job runs again (docs/guides/programs/rerun.md)."""
    rerun_limit: int
    """How often in a row `on_failure` reruns the job."""
    protect_running: bool
    """Refuse to replace or destroy the job while it is live."""
    on_delete: Literal["delete", "cancel"] | None
    """Effect of destroying the job on the records of its runs and on their models
    (docs/guides/programs/protect-and-delete.md#delete-a-job).
    """
    adopt: Input[str] | None
    """Id or full name of an existing job to manage instead of a new one (docs/guides/running/adopt.md)."""
    taking_over: Input[str] | None
    """Run of a declaration that is given up for good, whose job is adopted."""
    wait: Wait
    """Event that a deployment waits for. With `done`, a failed job fails each deployment until it has
    succeeded (docs/guides/programs/failed-jobs.md).
    """
    wait_timeout: float
    """Longest wait in seconds. After it the deployment continues with a warning."""
    on_interrupt: OnInterrupt
    """Effect of Ctrl-C on a job that the deployment waits for (docs/guides/programs/waiting.md)."""
    stream_logs: bool
    """Show the log of all replicas while the deployment waits."""
    on_replace: Literal["keep", "delete"]
    """Effect on the record and the logs of a job that a new run replaces."""
    keep_runs: int
    """How many earlier runs are kept. A new run deletes the records of older ones that have ended."""
    notifications: NotificationsLike | None
    """Notifications of the ends of runs (docs/guides/programs/notifications.md)."""
    max_cost: float | None
    """The most that all runs of this resource may cost together, in US dollars (docs/guides/cost/limit.md).
    """
    stall_timeout: float | None
    """Seconds without a further `vertex_cluster.report` after which a replica ends the job
    (docs/guides/frameworks/hangs.md).
    """
    resume: Input[str] | None
    """Runs that continue from checkpoints: `after_interruption`, the default with a `staging_bucket`;
    `never`; or all, in a gs:// folder that you give. Not for tuning jobs
    (docs/guides/frameworks/checkpoints.md).
    """
