"""Worker pools as the API describes them: messages of `CustomJobSpec.workerPoolSpecs`, in snake case.

The metadata of a field, read by `fields.decode` and `fields.wire`, adds what its type cannot express:

* `secret`: the value is never shown,
* `int64`: a string, or a list of strings, in the API's JSON,
* `presence`: zero or "" differs from no value,
* `convert`: a function that accepts other spellings of a value,
* `absent_if_empty`: an empty message means no message,
* `required_with`: required if one of the named fields is given,
* `missing`: a function that returns the remedy for the path of such a field.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from vertex_training.catalog import accelerators, enumerations


@dataclass(frozen=True, kw_only=True)
class EnvVar:
    """A variable of the container. `$(OTHER)` in the value refers to a variable before it."""

    name: str
    """Name of the variable, a valid C identifier."""
    value: str = field(metadata={"secret": True})
    """Value of the variable. `$(NAME)` refers to a variable that is set earlier."""


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """A container image to run. `command` replaces the image's ENTRYPOINT, `args` its CMD."""

    image_uri: str
    """Image to run, HOST/PATH:TAG or HOST/PATH@DIGEST. In a `DistributedTraining` with an image, it may be
    left out.
    """
    command: tuple[str, ...] = ()
    """Command that replaces the image's ENTRYPOINT."""
    args: tuple[str, ...] = ()
    """Arguments of the command; they replace the image's CMD."""
    env: tuple[EnvVar, ...] = ()
    """Environment variables of the container."""


@dataclass(frozen=True, kw_only=True)
class PythonPackageSpec:
    """Python packages to install in a prebuilt image, and the module to run with `python3 -m`."""

    executor_image_uri: str
    """Image in which the packages are installed, such as a prebuilt training image. In a
    `DistributedTraining` with an `executor_image_uri`, it may be left out.
    """
    package_uris: tuple[str, ...]
    """gs:// URIs of the packages, such as `StagedPackage.uri`; they are installed with pip on every replica.
    In a `DistributedTraining` with a package, they may be left out.
    """
    python_module: str
    """Module to run with `python3 -m` once the packages are installed. In a `DistributedTraining` with a
    `StagedPackage`, it may be left out.
    """
    args: tuple[str, ...] = ()
    """Command line arguments of the module."""
    env: tuple[EnvVar, ...] = ()
    """Environment variables of the module."""


@dataclass(frozen=True, kw_only=True)
class ReservationAffinity:
    """The reserved capacity that a machine may use; `key` and `values` name it for SPECIFIC_RESERVATION."""

    reservation_affinity_type: str = field(metadata={"convert": enumerations.reservation_by_number})
    """NO_RESERVATION, ANY_RESERVATION, or SPECIFIC_RESERVATION, which needs `key` and `values`."""
    key: str | None = None
    """Label key of the reservation. To name a reservation, use `compute.googleapis.com/reservation-name`."""
    values: tuple[str, ...] = ()
    """Full names of the reservations."""


@dataclass(frozen=True, kw_only=True)
class MachineSpec:
    """One machine of a pool. `accelerator_count` is per machine; newer TPUs have a `tpu_topology` instead."""

    machine_type: str
    """Machine type of Compute Engine, such as "n1-standard-8"."""
    accelerator_type: str | None = field(default=None, metadata={"convert": accelerators.by_number})
    """Type of the accelerators, such as "NVIDIA_TESLA_T4". Give type and count together or not at all."""
    accelerator_count: int = 0
    """Number of accelerators of each machine."""
    gpu_partition_size: str | None = None
    """Size of the partitions that each GPU is divided into, such as "1g.10gb"."""
    tpu_topology: str | None = None
    """Topology of a newer TPU, such as "2x2x1"."""
    reservation_affinity: ReservationAffinity | None = field(default=None, metadata={"absent_if_empty": True})
    """Reserved capacity that the machine may use."""


@dataclass(frozen=True, kw_only=True)
class DiskSpec:
    """The boot disk of each machine. With the type "" the service chooses, see `normal.default_disk`."""

    boot_disk_type: str = ""
    """Type of the boot disk, such as "pd-ssd", "pd-standard" or "hyperdisk-balanced". Without it, the machine
    type decides: "pd-ssd" for most.
    """
    boot_disk_size_gb: int = 100
    """Size of the boot disk in GB, 100 to 64000."""


@dataclass(frozen=True, kw_only=True)
class NfsMount:
    """A file share, mounted at `/mnt/nfs/<mount_point>`; `server` is an address in the job's network."""

    server: str
    """IP address of the NFS server, in the job's network."""
    path: str
    """Path that the server exports, with a leading slash."""
    mount_point: str
    """Name of the folder in `/mnt/nfs/` at which the share is mounted."""


@dataclass(frozen=True, kw_only=True)
class LustreMount:
    """A Managed Lustre instance, mounted at `/mnt/lustre/<mount_point>`."""

    instance_ip: str
    """IP address of the Lustre instance."""
    volume_handle: str
    """Unique identifier of the Lustre volume."""
    filesystem: str
    """Name of the Lustre file system."""
    mount_point: str
    """Name of the folder in `/mnt/lustre/` at which the file system is mounted."""


def _number_of_replicas(path: str) -> str:
    if path.endswith("[0].replica_count"):
        return "give 1, as the first worker pool is the chief of the job"
    return "give a number, 0 leaves it out"


@dataclass(frozen=True, kw_only=True)
class WorkerPoolSpec:
    """Replicas of one machine with one task. The position in the list decides the role (`topology.roles`)."""

    machine_spec: MachineSpec | None = None
    """Machine of every replica."""
    replica_count: int = field(
        default=0,
        metadata={
            "int64": True,
            "required_with": ("machine_spec", "container_spec", "python_package_spec", "disk_spec"),
            "missing": _number_of_replicas,
        },
    )
    """Number of replicas. "auto" is for reduction servers: as many as the network bandwidth of chief and
    workers needs.
    """
    nfs_mounts: tuple[NfsMount, ...] = ()
    """NFS file shares to mount in every replica."""
    lustre_mounts: tuple[LustreMount, ...] = ()
    """Managed Lustre file systems to mount in every replica."""
    disk_spec: DiskSpec | None = None
    """Boot disk of every replica."""
    container_spec: ContainerSpec | None = None
    """Container to run. Give either this or `python_package_spec`."""
    python_package_spec: PythonPackageSpec | None = None
    """Python packages to install and run. Give either this or `container_spec`."""

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
        uris = []
        if self.container_spec is not None:
            uris.append(("container_spec.image_uri", self.container_spec.image_uri))
        if self.python_package_spec is not None:
            uris.append(
                ("python_package_spec.executor_image_uri", self.python_package_spec.executor_image_uri)
            )
        return tuple(uris)

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
