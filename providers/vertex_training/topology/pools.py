"""Worker pools as the API describes them: messages of `CustomJobSpec.workerPoolSpecs`, in snake case.

The metadata of a field, read by `fields.decode` and `fields.wire`, adds what its type cannot express:

* `secret`: the value is never shown,
* `int64`: a string, or a list of strings, in the API's JSON,
* `presence`: zero or "" differs from no value,
* `convert`: a function that accepts other spellings of a value,
* `absent_if_empty`: an empty message means no message,
* `required_with`: required if one of the named fields is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from vertex_training.catalog import accelerators, enumerations


@dataclass(frozen=True, kw_only=True)
class EnvVar:
    """A variable of the container. `$(OTHER)` in the value refers to a variable before it."""

    name: str
    value: str = field(metadata={"secret": True})


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """A container image to run. `command` replaces the image's ENTRYPOINT, `args` its CMD."""

    image_uri: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PythonPackageSpec:
    """Python packages to install in a prebuilt image, and the module to run with `python3 -m`."""

    executor_image_uri: str
    package_uris: tuple[str, ...]
    python_module: str
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReservationAffinity:
    """The reserved capacity that a machine may use; `key` and `values` name it for SPECIFIC_RESERVATION."""

    reservation_affinity_type: str = field(metadata={"convert": enumerations.reservation_by_number})
    key: str | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MachineSpec:
    """One machine of a pool. `accelerator_count` is per machine; newer TPUs have a `tpu_topology` instead."""

    machine_type: str
    accelerator_type: str | None = field(default=None, metadata={"convert": accelerators.by_number})
    accelerator_count: int = 0
    gpu_partition_size: str | None = None
    tpu_topology: str | None = None
    reservation_affinity: ReservationAffinity | None = field(default=None, metadata={"absent_if_empty": True})


@dataclass(frozen=True, kw_only=True)
class DiskSpec:
    """The boot disk of each machine. With the type "" the service chooses, see `normal.default_disk`."""

    boot_disk_type: str = ""
    boot_disk_size_gb: int = 100


@dataclass(frozen=True, kw_only=True)
class NfsMount:
    """A file share, mounted at `/mnt/nfs/<mount_point>`; `server` is an address in the job's network."""

    server: str
    path: str
    mount_point: str


@dataclass(frozen=True, kw_only=True)
class LustreMount:
    """A Managed Lustre instance, mounted at `/mnt/lustre/<mount_point>`."""

    instance_ip: str
    volume_handle: str
    filesystem: str
    mount_point: str


@dataclass(frozen=True, kw_only=True)
class WorkerPoolSpec:
    """Replicas of one machine with one task. The position in the list decides the role (`topology.roles`)."""

    machine_spec: MachineSpec | None = None
    replica_count: int = field(
        default=0,
        metadata={
            "int64": True,
            "required_with": ("machine_spec", "container_spec", "python_package_spec", "disk_spec"),
        },
    )
    nfs_mounts: tuple[NfsMount, ...] = ()
    lustre_mounts: tuple[LustreMount, ...] = ()
    disk_spec: DiskSpec | None = None
    container_spec: ContainerSpec | None = None
    python_package_spec: PythonPackageSpec | None = None

    @property
    def is_empty(self) -> bool:
        """True for a skipped pool: `{}`, or anything with a replica count of 0."""
        return self.replica_count == 0

    @property
    def task(self) -> ContainerSpec | PythonPackageSpec | None:
        """The task of the replicas: the container if both are set, which `validate_pools` rejects."""
        return self.container_spec or self.python_package_spec

    @property
    def images(self) -> tuple[tuple[str, str], ...]:
        """The image of each task, with the path of its field in the pool; two for a pool with both tasks."""
        found = []
        if self.container_spec is not None:
            found.append(("container_spec.image_uri", self.container_spec.image_uri))
        if self.python_package_spec is not None:
            found.append(
                ("python_package_spec.executor_image_uri", self.python_package_spec.executor_image_uri)
            )
        return tuple(found)

    @property
    def machine_type(self) -> str:
        """The machine type, or "" if none is given."""
        return self.machine_spec.machine_type if self.machine_spec else ""


EMPTY_POOL = WorkerPoolSpec()
"""A skipped pool, which keeps the positions of the pools after it."""


def chief_worker_counts(replica_count: int) -> tuple[int, ...]:
    """Split `replica_count` into a chief and workers: (1,) for 1, (1, 3) for 4.

    Raises ValueError unless it is a whole number of 1 or more.
    """
    if isinstance(replica_count, bool) or not isinstance(replica_count, int) or replica_count < 1:
        raise ValueError(f"{replica_count!r} replicas are not allowed; give a whole number of 1 or more")
    return (1,) if replica_count == 1 else (1, replica_count - 1)


def chief_worker_pool(pool: WorkerPoolSpec, replica_count: int) -> tuple[WorkerPoolSpec, ...]:
    """Return pools for 1 chief and `replica_count` - 1 workers, each like `pool` except for its count.

    Raises ValueError unless `replica_count` is 1 or more.
    """
    return tuple(replace(pool, replica_count=count) for count in chief_worker_counts(replica_count))
