"""The three ways of google-cloud-aiplatform to say what a pipeline trains: an image, a package, a script.

Each makes a `custom_task` of `TrainingPipeline`, or the `trial_job_spec` of a tuning job, with the arguments
and defaults of `CustomContainerTrainingJob.run`, `CustomPythonPackageTrainingJob.run` and
`CustomTrainingJob.run` (one replica of `n1-standard-4`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi import Input

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.kinds.staged.resource import StagedPackage
from pulumi_vertex_training.program.job_args import chief_worker_pool
from pulumi_vertex_training.program.references import (
    BucketLike,
    ImageLike,
    ServiceAccountLike,
    image_uri,
    service_account_email,
)
from vertex_training.findings.words import all_of, nearest

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class TaskOptions(TypedDict, total=False):
        """What all three take besides what runs; the names are those of google-cloud-aiplatform."""

        args: Input[Sequence[Input[str | float]]] | None
        environment_variables: Mapping[str, Input[str]] | None
        replica_count: int
        machine_type: Input[str]
        accelerator_type: Input[str] | None
        accelerator_count: Input[int]
        boot_disk_type: Input[str]
        boot_disk_size_gb: Input[int]
        tpu_topology: Input[str] | None
        reservation_affinity_type: Input[str] | None
        reservation_affinity_key: Input[str] | None
        reservation_affinity_values: Input[Sequence[Input[str]]] | None
        reduction_server_replica_count: Input[int]
        reduction_server_machine_type: Input[str] | None
        reduction_server_container_uri: ImageLike | None
        base_output_dir: Input[str] | None
        service_account: ServiceAccountLike | None
        network: Input[str] | None
        timeout: Input[int] | None
        restart_job_on_worker_restart: Input[bool]
        enable_web_access: Input[bool]
        enable_dashboard_access: Input[bool]
        tensorboard: Input[str] | None
        disable_retries: Input[bool]
        persistent_resource_id: PersistentResource | Input[str] | None
        scheduling_strategy: Input[str] | None
        max_wait_duration: Input[int] | None
        psc_interface_config: Input[Mapping[str, Any]] | None


@dataclass(frozen=True, kw_only=True)
class _Options:
    args: Any = None
    environment_variables: Any = None
    replica_count: int = 1
    machine_type: Any = "n1-standard-4"
    accelerator_type: Any = None
    accelerator_count: Any = 0
    boot_disk_type: Any = "pd-ssd"
    boot_disk_size_gb: Any = 100
    tpu_topology: Any = None
    reservation_affinity_type: Any = None
    reservation_affinity_key: Any = None
    reservation_affinity_values: Any = None
    reduction_server_replica_count: Any = 0
    reduction_server_machine_type: Any = None
    reduction_server_container_uri: Any = None
    base_output_dir: Any = None
    service_account: Any = None
    network: Any = None
    timeout: Any = None
    restart_job_on_worker_restart: Any = False
    enable_web_access: Any = False
    enable_dashboard_access: Any = False
    tensorboard: Any = None
    disable_retries: Any = False
    persistent_resource_id: Any = None
    scheduling_strategy: Any = None
    max_wait_duration: Any = None
    psc_interface_config: Any = None


def task_from_image(
    container_uri: ImageLike,
    *,
    command: Input[Sequence[Input[str]]] | None = None,
    **options: Unpack[TaskOptions],
) -> dict[str, Any]:
    """Run a container, as `CustomContainerTrainingJob` does. Raises `pulumi.RunError`."""
    return _task({"container_spec": {"image_uri": image_uri(container_uri), "command": command}}, options)


def task_from_package(
    package: StagedPackage | Input[str] | Sequence[Input[str]],
    *,
    container_uri: ImageLike,
    python_module: Input[str] | None = None,
    **options: Unpack[TaskOptions],
) -> dict[str, Any]:
    """Install a package in one of Google's prebuilt images and run a module of it, as
    `CustomPythonPackageTrainingJob` does.

    `package` is a `StagedPackage`, which knows its module, or one or more gs:// addresses. Raises
    `pulumi.RunError` where the module is not known.
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
    """Pack a script, or a folder, into a package and run it in one of Google's prebuilt images, as
    `CustomTrainingJob` does. The package is a `StagedPackage` of this name in the bucket.
    """
    package = StagedPackage(
        resource_name, bucket=bucket, source=script_path, requirements=requirements, opts=opts
    )
    return task_from_package(package, container_uri=container_uri, **options)


def _task(task: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.name for field in fields(_Options)}
    if unknown := [name for name in given if name not in known]:
        hint = nearest(unknown[0], known) or f"they are {all_of(sorted(known))}"
        raise pulumi.RunError(f"{unknown[0]!r} is not one of the options of a task; {hint}")
    options = _Options(**given)
    ((name, spec),) = task.items()
    machine = _given(
        machine_type=options.machine_type,
        accelerator_type=options.accelerator_type,
        accelerator_count=options.accelerator_count or None,
        tpu_topology=options.tpu_topology,
        reservation_affinity=_given(
            reservation_affinity_type=options.reservation_affinity_type,
            key=options.reservation_affinity_key,
            values=options.reservation_affinity_values,
        )
        or None,
    )
    disk = {"boot_disk_type": options.boot_disk_type, "boot_disk_size_gb": options.boot_disk_size_gb}
    variables = [
        {"name": key, "value": value} for key, value in (options.environment_variables or {}).items()
    ]
    pool = {
        "machine_spec": machine,
        "disk_spec": disk,
        name: _given(**spec, args=_texts(options.args), env=variables or None),
    }
    pools = list(chief_worker_pool(pool, replica_count=options.replica_count))
    if options.reduction_server_replica_count:
        pools += [{}] * (2 - len(pools))
        pools.append(_reduction_servers(options))
    scheduling = _given(
        timeout=_seconds(options.timeout),
        restart_job_on_worker_restart=options.restart_job_on_worker_restart or None,
        disable_retries=options.disable_retries or None,
        strategy=options.scheduling_strategy,
        max_wait_duration=_seconds(options.max_wait_duration),
    )
    return _given(
        worker_pool_specs=pools,
        base_output_directory=options.base_output_dir,
        scheduling=scheduling or None,
        service_account=service_account_email(options.service_account),
        enable_web_access=options.enable_web_access or None,
        enable_dashboard_access=options.enable_dashboard_access or None,
        network=options.network,
        tensorboard=options.tensorboard,
        persistent_resource_id=options.persistent_resource_id,
        psc_interface_config=options.psc_interface_config,
    )


def _reduction_servers(options: _Options) -> dict[str, Any]:
    if options.reduction_server_container_uri is None or options.reduction_server_machine_type is None:
        raise pulumi.RunError(
            "reduction_server_replica_count is given; give reduction_server_machine_type and "
            "reduction_server_container_uri with it"
        )
    return {
        "machine_spec": {"machine_type": options.reduction_server_machine_type},
        "replica_count": options.reduction_server_replica_count,
        "container_spec": {"image_uri": image_uri(options.reduction_server_container_uri)},
    }


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _texts(args: Any) -> Any:
    """Arguments, of which google-cloud-aiplatform takes numbers, too."""
    if isinstance(args, (list, tuple)):
        return [str(each) if isinstance(each, (int, float)) else each for each in args] or None
    return args


def _seconds(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return value.apply(_seconds) if isinstance(value, pulumi.Output) else f"{value}s"
