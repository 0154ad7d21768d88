"""The service's own checks of a custom job, all at once and in its words where they are known.

Written apart from the client's rules, so that the two do not share a misunderstanding. Known words: the
accelerator rule and the rule of labels (public logs). The rules come from the comments of the API's messages
and from the documentation, "Create a serverless training job" and "Distributed training".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vertex_emulator.jobs.custom.checks import environment_rules, image_rules
from vertex_emulator.replicas.images.image import ImageError, ReplicaImage
from vertex_emulator.replicas.images.resolution import Images
from vertex_emulator.replicas.sandbox.mounts import file_shares
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.resource_engine import machine_types
from vertex_emulator.services.resource_engine.names import label_problems
from vertex_training.catalog import accelerators, machines
from vertex_training.topology.variables import MAX_VARIABLE, expanded_lengths

_ACCELERATOR = "Both `accelerator_type` and `accelerator_count` should be specified or none."
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"\w[\w-]*(\.\w[\w-]*)*", re.ASCII)
_OBJECT = re.compile(r"gs://[^/]+/.+")
_DISK_TYPES = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
_DISK_SIZES = range(100, 64_001)
MAX_REPLICAS = 1000
_MAX_POOLS = 4
_MAX_ITEMS = 100
_MAX_ARGS = 100_000
_MAX_DISPLAY_NAME = 128
_GCS = re.compile(r"(?<![\w.-])/gcs(?![\w.-])")


def check(job: DynamicMessage, *, location: str, allow_unknown_types: bool) -> None:
    """Check a `CustomJob` message. Raises `RpcError` INVALID_ARGUMENT with every violation."""
    if violations := [
        *_violations(job, allow_unknown_types),
        *environment_rules.key_violations(job, location),
    ]:
        raise invalid_fields(violations)
    for _, pool in _used_pools(job):
        _check_accelerator(pool.machine_spec)


def _check_accelerator(machine: DynamicMessage) -> None:
    """Check an accelerator against its machine type; the service reports this error without any others."""
    kind, known = accelerators.by_number(machine.accelerator_type), machines.machine(machine.machine_type)
    if machine.accelerator_type and known is not None and kind not in known.accelerators:
        retired = f". {kind} is retired. Use NVIDIA_TESLA_T4" if kind in accelerators.RETIRED else ""
        raise RpcError(
            "INVALID_ARGUMENT",
            f'Accelerator "{kind}" is not supported for machine type "{machine.machine_type}"{retired}',
        )


def check_images(job: DynamicMessage, registry: Images, sandbox: Sandbox) -> dict[str, ReplicaImage]:
    """Resolve each image of the job; the keys are the names in the job.

    Raises `RpcError` FAILED_PRECONDITION with every image that cannot run here.
    """
    images_by_uri: dict[str, ReplicaImage] = {}
    refused = []
    for path, pool in _used_pools(job):
        container = _has(pool, "container_spec")
        field = "container_spec.image_uri" if container else "python_package_spec.executor_image_uri"
        image = pool.container_spec.image_uri if container else pool.python_package_spec.executor_image_uri
        try:
            images_by_uri[image] = image_rules.resolve_for_replica(
                registry,
                image,
                has_command=bool(pool.container_spec.command),
                is_executor=not container,
                sandbox=sandbox,
            )
        except ImageError as error:
            refused.append(Violation(f"{path}.{field}", f"the emulator does not run it: {error}."))
    if refused:
        text = " ".join(f"{each.field}: {each.description}" for each in refused)
        raise RpcError("FAILED_PRECONDITION", text, refused)
    return images_by_uri


def check_size(job: DynamicMessage) -> None:
    """Check the number of replicas.

    Raises `RpcError` FAILED_PRECONDITION if it is too much for one machine.
    """
    count = sum(pool.replica_count for _, pool in _used_pools(job))
    if count > MAX_REPLICAS:
        raise RpcError(
            "FAILED_PRECONDITION",
            f"The job has {count} replicas, each of them a process on this machine; the emulator runs at "
            f"most {MAX_REPLICAS} for one job. Declare fewer in job_spec.worker_pool_specs.",
        )


def check_mount(job: DynamicMessage, *, why: str) -> None:
    """Check that a job does not name /gcs, for replicas without it. Raises `RpcError` FAILED_PRECONDITION.

    `why` says why there is no /gcs.
    """
    paths = [path for path, text in _texts(job) if _GCS.search(text)]
    if paths:
        raise RpcError(
            "FAILED_PRECONDITION",
            f"{', '.join(paths)}: the job names /gcs, and replicas have no /gcs on this machine: {why}. "
            "Allow unprivileged user namespaces (Ubuntu: sudo sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0), run the emulator as root, or give the program "
            "another path.",
            [Violation(path, "names /gcs") for path in paths],
        )


def check_shares(job: DynamicMessage, *, why: str) -> None:
    """Check that a job has no file shares, for replicas without mounts.

    Raises `RpcError` FAILED_PRECONDITION.

    `why` says why nothing can be mounted.
    """
    paths = [
        f"{path}.{kind}_mounts"
        for path, pool in _used_pools(job)
        for kind in file_shares.KINDS
        if getattr(pool, f"{kind}_mounts")
    ]
    if paths:
        raise RpcError(
            "FAILED_PRECONDITION",
            f"{', '.join(paths)}: replicas cannot have a folder at /mnt on this machine: {why}. Allow "
            "unprivileged user namespaces (Ubuntu: sudo sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0), run the emulator as root, or keep the data "
            "in a bucket.",
            [Violation(path, "cannot be mounted here") for path in paths],
        )


def _texts(job: DynamicMessage) -> Iterator[tuple[str, str]]:
    for path, pool in _used_pools(job):
        name = "container_spec" if _has(pool, "container_spec") else "python_package_spec"
        task = getattr(pool, name)
        lists = ("command", "args") if name == "container_spec" else ("args",)
        for field in lists:
            for index, text in enumerate(getattr(task, field)):
                yield f"{path}.{name}.{field}[{index}]", text
        for index, variable in enumerate(task.env):
            yield f"{path}.{name}.env[{index}].value", variable.value


def _used_pools(job: DynamicMessage) -> Iterator[tuple[str, Any]]:
    for index, pool in enumerate(job.job_spec.worker_pool_specs):
        if pool.replica_count:
            yield f"job_spec.worker_pool_specs[{index}]", pool


def _violations(job: DynamicMessage, allow_unknown: bool) -> Iterator[Violation]:
    if not job.display_name:
        yield Violation("display_name", "Required field is not set.")
    elif len(job.display_name) > _MAX_DISPLAY_NAME:
        yield Violation("display_name", f"The display name can be up to {_MAX_DISPLAY_NAME} characters long.")
    yield from label_problems(job.labels, "labels")
    if not job.HasField("job_spec") or not job.job_spec.worker_pool_specs:
        yield Violation("job_spec.worker_pool_specs", "At least one worker pool spec is required.")
        return
    pools = job.job_spec.worker_pool_specs
    if len(pools) > _MAX_POOLS:
        yield Violation(
            "job_spec.worker_pool_specs", f"{len(pools)} worker pools; there can be at most {_MAX_POOLS}."
        )
    for index, pool in enumerate(pools):
        path = f"job_spec.worker_pool_specs[{index}]"
        yield from _pool_violations(pool, index, path, allow_unknown)
    yield from _job_violations(job.job_spec)


def _job_violations(spec: DynamicMessage) -> Iterator[Violation]:
    if spec.scheduling.HasField("timeout") and spec.scheduling.timeout.ToNanoseconds() <= 0:
        yield Violation("job_spec.scheduling.timeout", "The timeout must be greater than 0.")
    if spec.scheduling.max_wait_duration.ToNanoseconds() < 0:
        yield Violation("job_spec.scheduling.max_wait_duration", "The duration must not be negative.")
    yield from environment_rules.network_violations(spec)
    yield from environment_rules.record_violations(spec)
    prefix = spec.base_output_directory.output_uri_prefix
    if spec.HasField("base_output_directory") and not re.fullmatch(r"gs://[^/]+(/.*)?", prefix):
        yield Violation(
            "job_spec.base_output_directory.output_uri_prefix",
            f"{prefix!r} is not a Cloud Storage directory; it looks like gs://BUCKET/DIRECTORY/.",
        )


def _pool_violations(pool: DynamicMessage, index: int, path: str, allow_unknown: bool) -> Iterator[Violation]:
    if index == 0 and pool.replica_count != 1:
        yield Violation(
            f"{path}.replica_count",
            f"The first worker pool is the primary replica and must have exactly 1 replica, not "
            f"{pool.replica_count}.",
        )
    elif pool.replica_count < 0:
        yield Violation(f"{path}.replica_count", "The replica count must not be negative.")
    if pool.replica_count <= 0:
        if index > 0 and pool.replica_count == 0 and pool.WhichOneof("task"):
            yield from _machine_violations(pool, path, needed=False, allow_unknown=allow_unknown)
        return
    if pool.WhichOneof("task") is None:
        yield Violation(path, "One of `container_spec` and `python_package_spec` must be set.")
    yield from _machine_violations(pool, path, needed=True, allow_unknown=allow_unknown)
    yield from environment_rules.mount_violations(pool, path)
    if _has(pool, "container_spec"):
        yield from _container_violations(pool.container_spec, f"{path}.container_spec")
    if _has(pool, "python_package_spec"):
        yield from _package_violations(pool.python_package_spec, f"{path}.python_package_spec")


def _machine_violations(
    pool: DynamicMessage, path: str, *, needed: bool, allow_unknown: bool
) -> Iterator[Violation]:
    machine, named = pool.machine_spec, f"{path}.machine_spec.machine_type"
    if needed and not machine.machine_type:
        yield Violation(named, "Required field is not set.")
    elif machine.machine_type:
        yield from machine_types.problems(machine.machine_type, named, allow_unknown=allow_unknown)
    if bool(machine.accelerator_type) != bool(machine.accelerator_count):
        yield Violation(f"{path}.machine_spec.accelerator_type", _ACCELERATOR)
    yield from environment_rules.reservation_violations(machine, f"{path}.machine_spec")
    disk = pool.disk_spec
    if disk.boot_disk_type and disk.boot_disk_type not in _DISK_TYPES:
        yield Violation(
            f"{path}.disk_spec.boot_disk_type",
            f"{disk.boot_disk_type!r} is not one of {', '.join(_DISK_TYPES)}.",
        )
    if disk.boot_disk_size_gb and disk.boot_disk_size_gb not in _DISK_SIZES:
        yield Violation(
            f"{path}.disk_spec.boot_disk_size_gb",
            f"{disk.boot_disk_size_gb} is not between {_DISK_SIZES[0]} and {_DISK_SIZES[-1]}.",
        )


def _container_violations(container: DynamicMessage, path: str) -> Iterator[Violation]:
    if not container.image_uri:
        yield Violation(f"{path}.image_uri", "Required field is not set.")
    elif image_rules.is_prebuilt(container.image_uri) and not container.command:
        yield Violation(
            f"{path}.command",
            'A prebuilt image has no program of its own; set command, such as ["python3", "-m", "trainer"].',
        )
    yield from _task_violations(container, path)


def _package_violations(package: DynamicMessage, path: str) -> Iterator[Violation]:
    if not package.executor_image_uri:
        yield Violation(f"{path}.executor_image_uri", "Required field is not set.")
    if not package.package_uris:
        yield Violation(f"{path}.package_uris", "Required field is not set.")
    if len(package.package_uris) > _MAX_ITEMS:
        yield Violation(f"{path}.package_uris", f"There can be at most {_MAX_ITEMS} packages.")
    for index, uri in enumerate(package.package_uris):
        if not _OBJECT.fullmatch(uri) or not uri.endswith((".tar.gz", ".tar", ".zip", ".whl")):
            yield Violation(
                f"{path}.package_uris[{index}]",
                f"{uri!r} is no Cloud Storage address of a Python package (.tar.gz, .tar, .zip or .whl).",
            )
    if not package.python_module:
        yield Violation(f"{path}.python_module", "Required field is not set.")
    elif not _MODULE.fullmatch(package.python_module):
        yield Violation(f"{path}.python_module", f"{package.python_module!r} is not a module's name.")
    yield from _task_violations(package, path)


def _task_violations(task: DynamicMessage, path: str) -> Iterator[Violation]:
    if sum(map(len, task.args)) > _MAX_ARGS:
        yield Violation(f"{path}.args", f"The arguments have more than {_MAX_ARGS} characters.")
    if len(task.env) > _MAX_ITEMS:
        yield Violation(f"{path}.env", f"There can be at most {_MAX_ITEMS} variables.")
    for index, length in enumerate(expanded_lengths(task.env)):
        if length > MAX_VARIABLE:
            yield Violation(
                f"{path}.env[{index}].value",
                f"The variable has about {length} characters after its references are replaced; the limit "
                f"is {MAX_VARIABLE}.",
            )
    names = [variable.name for variable in task.env]
    if len(set(names)) < len(names):
        yield Violation(f"{path}.env", "EnvVar names must be unique.")
    for index, name in enumerate(names):
        if not _VARIABLE.fullmatch(name):
            yield Violation(f"{path}.env[{index}].name", f"{name!r} must be a valid C identifier.")


def _has(pool: DynamicMessage, task: str) -> bool:
    return bool(pool.WhichOneof("task") == task)
