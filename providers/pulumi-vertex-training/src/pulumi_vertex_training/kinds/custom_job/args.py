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
    """Name for people, up to 128 characters. Default: the resource's name. `{run}` in it is replaced with the
    number of the run: `train {run}` becomes `train 3`. A change of the name alone reruns nothing: the next
    run gets it.
    """
    scheduling: Input[SchedulingArgs | Mapping[str, Any] | None]
    """Timeout, restarts and scheduling strategy."""
    service_account: ServiceAccountLike | None
    """Service account that the job runs as: a resource with an `email`, or the address. Default: Vertex AI's
    Custom Code Service Agent.
    """
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
    """Bucket, or its name, in which each run gets an output directory of its own if `base_output_directory`
    is left out. A rerun then never overwrites a good model.
    """
    persistent_resource_id: PersistentResource | Input[str] | None
    """`PersistentResource`, or the id of one, on whose machines the job runs. The job waits for the resource,
    and the preview checks the job against the resource's pools.
    """
    persistent_resource: PersistentResource | None
    """The same as `persistent_resource_id`, for a resource only."""
    capacity: Input[Sequence[Input[RungArgs | Mapping[str, Any]]] | None]
    """Capacity ladder: what the job tries in turn until there are machines for it, one rung after the other.
    Each rung can change the strategy and the machine, and limit the wait. A change of it reruns nothing
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
    """Labels of the job. A change of labels alone reruns nothing: the next run gets them."""
    framework: str | None
    """Framework or strategy of the program, such as `pytorch`, `jax` or `MultiWorkerMirroredStrategy`. The
    pools are checked against its requirements, and get the image, launcher and variables that it needs where
    you give none (docs/guides/frameworks/choose.md).
    """
    allow_unknown_types: bool
    """Report machine and accelerator types that this version does not know as a warning, not as an error, for
    types that Google has added since.
    """
    allow_legacy_types: bool
    """Accept types that Google has retired, such as NVIDIA_TESLA_K80."""
    run_token: Input[str] | None
    """Any string. A different one reruns an unchanged job."""
    rerun: Literal["on_change", "on_failure", "always", "never"]
    """When the job runs again: `on_change`, `on_failure`, `always` or `never`
    (docs/guides/programs/rerun.md).
    """
    rerun_limit: int
    """How often in a row `on_failure` reruns the job."""
    protect_running: bool
    """Refuse to replace or destroy the job while it is live."""
    on_delete: Literal["delete", "cancel"] | None
    """Effect of destroying the job. A live job is always cancelled. By default its record and those of its
    earlier runs are deleted, and a model that a pipeline uploaded is kept. `delete` also deletes the model
    versions of these runs, and a model with its last version. `cancel` keeps records and models.
    """
    adopt: Input[str] | None
    """Id or full name of an existing job, which becomes this resource's job instead of a new one. It has to
    equal the declaration; otherwise every difference is listed. The option is read when the resource is
    created: afterwards, leave it out or keep it.
    """
    taking_over: Input[str] | None
    """Run of a declaration that is given up for good, whose job is adopted."""
    wait: Wait
    """Event that a deployment waits for: `none`, `running` or `done`. With `done`, a failed job fails each
    deployment until it has succeeded (docs/guides/programs/failed-jobs.md).
    """
    wait_timeout: float
    """Longest wait in seconds. After it the deployment continues with a warning."""
    on_interrupt: OnInterrupt
    """Treatment of the job if the deployment is interrupted while it waits: `leave` or `cancel`
    (docs/guides/programs/waiting.md).
    """
    stream_logs: bool
    """Show the log of all replicas while the deployment waits."""
    on_replace: Literal["keep", "delete"]
    """Effect on the job that a new run replaces, after it was cancelled if it was live: `keep` keeps its
    record and logs (`vertex-training runs` lists them), `delete` deletes the record.
    """
    keep_runs: int
    """How many earlier runs are kept. A new run deletes the records of older ones that have ended."""
    notifications: NotificationsLike | None
    """Notifications of the ends of runs, one or several: to a webhook, and on Google Cloud to a Pub/Sub topic
    or channels of Cloud Monitoring, on the emulator to a local command. A change reruns nothing
    (docs/guides/programs/notifications.md).
    """
    max_cost: float | None
    """The most that all runs of this resource may cost together, in US dollars: sets a timeout by the known
    price, and turns the service's retries off unless `scheduling` sets `disable_retries`
    (docs/guides/cost/limit.md).
    """
    stall_timeout: float | None
    """Seconds after which a replica that has called `vertex_cluster.report`, and then reports nothing more,
    prints the stacks of its threads and ends the job with exit code 1 (docs/guides/frameworks/hangs.md). A
    change reruns the job.
    """
    resume: Input[str] | None
    """Checkpoints of a program that uses `vertex_cluster.checkpoints`. With `after_interruption`, a run that
    repeats an interrupted or failed one continues from its checkpoints; with `never`, it does not. All runs
    share a gs:// folder that you give. Default: `after_interruption` with a `staging_bucket`. Not for tuning
    jobs. A change reruns nothing (docs/guides/frameworks/checkpoints.md).
    """
