"""Training tasks from an image, a package or a script, with the arguments of google-cloud-aiplatform.

Each function returns a `custom_task` of `TrainingPipeline`, which is also a `trial_job_spec` of a tuning job.
Arguments and defaults are those of `CustomContainerTrainingJob.run`, `CustomPythonPackageTrainingJob.run` and
`CustomTrainingJob.run` (one replica of `n1-standard-4`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import pulumi
from pulumi import Input

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.kinds.staged.resource import StagedPackage
from pulumi_vertex_training.program.arguments.references import (
    BucketLike,
    ImageLike,
    ServiceAccountLike,
    image_uri,
    service_account_email,
)
from pulumi_vertex_training.program.arguments.worker_pools import chief_worker_pool
from vertex_training.findings.words import all_of, nearest

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TaskOptions(TypedDict, total=False):
    """The options of all three functions, named as in google-cloud-aiplatform.

    They mean what the fields of docs/reference/resources/CustomJob.md do. `replica_count` counts the chief.
    Times are in seconds. Defaults: one replica of n1-standard-4, with a boot disk of 100 GB, pd-ssd.
    """

    args: Input[Sequence[Input[str | float]]] | None
    """Arguments of the program."""
    environment_variables: Mapping[str, Input[str]] | None
    """Environment variables of the program."""
    replica_count: int
    """Number of replicas: a chief, and workers for the rest. Default: 1."""
    machine_type: Input[str]
    """Machine of each replica. Default: n1-standard-4."""
    accelerator_type: Input[str] | None
    """Accelerator of each replica."""
    accelerator_count: Input[int]
    """Number of accelerators of each replica."""
    boot_disk_type: Input[str]
    """Kind of the boot disk. Default: pd-ssd."""
    boot_disk_size_gb: Input[int]
    """Size of the boot disk. Default: 100."""
    tpu_topology: Input[str] | None
    """Topology of a TPU."""
    reservation_affinity_type: Input[str] | None
    """Use of reservations."""
    reservation_affinity_key: Input[str] | None
    """Label key of a specific reservation."""
    reservation_affinity_values: Input[Sequence[Input[str]]] | None
    """Names of specific reservations."""
    reduction_server_replica_count: Input[int]
    """Number of reduction servers."""
    reduction_server_machine_type: Input[str] | None
    """Machine of the reduction servers."""
    reduction_server_container_uri: ImageLike | None
    """Image of the reduction servers."""
    base_output_dir: Input[str] | None
    """gs:// directory for the output."""
    service_account: ServiceAccountLike | None
    """Service account that the job runs as."""
    network: Input[str] | None
    """Full name of the network to which the job is peered."""
    timeout: Input[int] | None
    """Longest run in seconds."""
    restart_job_on_worker_restart: Input[bool]
    """Restart all replicas when one restarts."""
    enable_web_access: Input[bool]
    """Allow interactive shells in the containers."""
    enable_dashboard_access: Input[bool]
    """Allow access to a dashboard in the chief's container."""
    tensorboard: Input[str] | None
    """Full name of the TensorBoard for the logs."""
    disable_retries: Input[bool]
    """Do not retry after an error of the service."""
    persistent_resource_id: PersistentResource | Input[str] | None
    """Persistent resource on whose machines the job runs."""
    scheduling_strategy: Input[str] | None
    """Strategy, such as SPOT."""
    max_wait_duration: Input[int] | None
    """Longest wait for machines in seconds."""
    psc_interface_config: Input[Mapping[str, Any]] | None
    """Private Service Connect interface."""


_DEFAULTS: TaskOptions = {
    "replica_count": 1,
    "machine_type": "n1-standard-4",
    "boot_disk_type": "pd-ssd",
    "boot_disk_size_gb": 100,
}
"""The defaults of google-cloud-aiplatform. An option that is not listed has none."""


def task_from_image(
    container_uri: ImageLike,
    *,
    command: Input[Sequence[Input[str]]] | None = None,
    **options: Unpack[TaskOptions],
) -> dict[str, Any]:
    """Return a task that runs a container, as `CustomContainerTrainingJob` does.

    Raises `pulumi.RunError` for an unknown option.
    """
    return _task({"container_spec": {"image_uri": image_uri(container_uri), "command": command}}, options)


def task_from_package(
    package: StagedPackage | Input[str] | Sequence[Input[str]],
    *,
    container_uri: ImageLike,
    python_module: Input[str] | None = None,
    **options: Unpack[TaskOptions],
) -> dict[str, Any]:
    """Return a task that installs a package in a prebuilt image and runs its module.

    It does so as `CustomPythonPackageTrainingJob` does. `package` is a `StagedPackage`, which knows its
    module, or one or more gs:// addresses. Raises `pulumi.RunError` if the module is not known, or for an
    unknown option.
    """
    if isinstance(package, StagedPackage):
        uris: Any = [package.uri]
        module: Any = package.python_module if python_module is None else python_module
    else:
        uris = list(package) if isinstance(package, (list, tuple)) else [package]
        module = python_module
    if module is None:
        raise pulumi.RunError(
            "task_from_package: python_module is missing; write the name that python -m takes, such as "
            "trainer.task"
        )
    task = {"executor_image_uri": image_uri(container_uri), "package_uris": uris, "python_module": module}
    return _task({"python_package_spec": task}, options)


def task_from_script(
    resource_name: str,
    script_path: Input[str],
    *,
    bucket: BucketLike,
    container_uri: ImageLike,
    requirements: Input[Sequence[Input[str]]] | None = None,
    opts: pulumi.ResourceOptions | None = None,
    **options: Unpack[TaskOptions],
) -> dict[str, Any]:
    """Package a script or a folder, and return a task that runs it in a prebuilt image.

    It does so as `CustomTrainingJob` does. The package is a `StagedPackage` called `resource_name` in the
    bucket.
    """
    package = StagedPackage(
        resource_name, bucket=bucket, source=script_path, requirements=requirements, opts=opts
    )
    return task_from_package(package, container_uri=container_uri, **options)


def _task(task: Mapping[str, Mapping[str, Any]], given: TaskOptions) -> dict[str, Any]:
    known = TaskOptions.__annotations__
    if unknown := [name for name in given if name not in known]:
        hint = nearest(unknown[0], known) or f"the options are {all_of(sorted(known))}"
        raise pulumi.RunError(f"{unknown[0]!r} is not an option of a task; {hint}")
    options: TaskOptions = {**_DEFAULTS, **given}
    ((name, spec),) = task.items()
    disk = {"boot_disk_type": options["boot_disk_type"], "boot_disk_size_gb": options["boot_disk_size_gb"]}
    variables = [
        {"name": key, "value": value} for key, value in (options.get("environment_variables") or {}).items()
    ]
    pool = {
        "machine_spec": _machine(options),
        "disk_spec": disk,
        name: _given(**spec, args=_texts(options.get("args")), env=variables or None),
    }
    pools = list(chief_worker_pool(pool, replica_count=options["replica_count"]))
    if options.get("reduction_server_replica_count"):
        pools += [{}] * (2 - len(pools))
        pools.append(_reduction_servers(options))
    return _given(
        worker_pool_specs=pools,
        base_output_directory=options.get("base_output_dir"),
        scheduling=_scheduling(options) or None,
        service_account=service_account_email(options.get("service_account")),
        enable_web_access=options.get("enable_web_access") or None,
        enable_dashboard_access=options.get("enable_dashboard_access") or None,
        network=options.get("network"),
        tensorboard=options.get("tensorboard"),
        persistent_resource_id=options.get("persistent_resource_id"),
        psc_interface_config=options.get("psc_interface_config"),
    )


def _machine(options: TaskOptions) -> dict[str, Any]:
    affinity = _given(
        reservation_affinity_type=options.get("reservation_affinity_type"),
        key=options.get("reservation_affinity_key"),
        values=options.get("reservation_affinity_values"),
    )
    return _given(
        machine_type=options["machine_type"],
        accelerator_type=options.get("accelerator_type"),
        accelerator_count=options.get("accelerator_count") or None,
        tpu_topology=options.get("tpu_topology"),
        reservation_affinity=affinity or None,
    )


def _scheduling(options: TaskOptions) -> dict[str, Any]:
    return _given(
        timeout=_seconds(options.get("timeout")),
        restart_job_on_worker_restart=options.get("restart_job_on_worker_restart") or None,
        disable_retries=options.get("disable_retries") or None,
        strategy=options.get("scheduling_strategy"),
        max_wait_duration=_seconds(options.get("max_wait_duration")),
    )


def _reduction_servers(options: TaskOptions) -> dict[str, Any]:
    machine_type = options.get("reduction_server_machine_type")
    container_uri = options.get("reduction_server_container_uri")
    if machine_type is None or container_uri is None:
        raise pulumi.RunError(
            "reduction_server_replica_count needs reduction_server_machine_type and "
            "reduction_server_container_uri; set them, too"
        )
    return {
        "machine_spec": {"machine_type": machine_type},
        "replica_count": options.get("reduction_server_replica_count"),
        "container_spec": {"image_uri": image_uri(container_uri)},
    }


def _given(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _texts(args: object) -> Any:
    """Return arguments as texts; google-cloud-aiplatform takes numbers among them."""
    if isinstance(args, (list, tuple)):
        return [str(each) if isinstance(each, (int, float)) else each for each in args] or None
    return args


def _seconds(value: object) -> Any:
    if value is None or isinstance(value, str):
        return value
    return value.apply(_seconds) if isinstance(value, pulumi.Output) else f"{value}s"
