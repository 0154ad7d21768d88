"""Typed arguments of a job. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import arguments_class
from pulumi_vertex_training.program.arguments.references import BucketLike, ImageLike


@arguments_class
class EnvVarArgs:
    """A variable of the container.

    :param name: Name of the variable, a valid C identifier.
    :param value: Value of the variable. `$(NAME)` refers to a variable that is set earlier.
    """

    name: Input[str]
    """Name of the variable, a valid C identifier."""
    value: Input[str]
    """Value of the variable. `$(NAME)` refers to a variable that is set earlier."""


@arguments_class
class ContainerSpecArgs:
    """A container image to run.

    :param image_uri: Image to run, HOST/PATH:TAG or HOST/PATH@DIGEST. In a `DistributedTraining` with an
        image, it may be left out.
    :param command: Command that replaces the image's ENTRYPOINT.
    :param args: Arguments of the command; they replace the image's CMD.
    :param env: Environment variables of the container.
    """

    image_uri: ImageLike | None = None
    """Image to run, HOST/PATH:TAG or HOST/PATH@DIGEST. In a `DistributedTraining` with an image, it may be
    left out.
    """
    command: Input[Sequence[Input[str]] | None] = None
    """Command that replaces the image's ENTRYPOINT."""
    args: Input[Sequence[Input[str]] | None] = None
    """Arguments of the command; they replace the image's CMD."""
    env: Input[Sequence[Input[EnvVarArgs]] | None] = None
    """Environment variables of the container."""


@arguments_class
class PythonPackageSpecArgs:
    """Python packages to install in a prebuilt image, and the module to run with `python3 -m`.

    :param executor_image_uri: Image in which the packages are installed, such as a prebuilt training image.
        In a `DistributedTraining` with an `executor_image_uri`, it may be left out.
    :param package_uris: gs:// URIs of the packages, such as `StagedPackage.uri`; they are installed with pip
        on every replica. In a `DistributedTraining` with a package, they may be left out.
    :param python_module: Module to run with `python3 -m` once the packages are installed. In a
        `DistributedTraining` with a `StagedPackage`, it may be left out.
    :param args: Command line arguments of the module.
    :param env: Environment variables of the module.
    """

    executor_image_uri: ImageLike | None = None
    """Image in which the packages are installed, such as a prebuilt training image. In a
    `DistributedTraining` with an `executor_image_uri`, it may be left out.
    """
    package_uris: Input[Sequence[Input[str]]] | None = None
    """gs:// URIs of the packages, such as `StagedPackage.uri`; they are installed with pip on every replica.
    In a `DistributedTraining` with a package, they may be left out.
    """
    python_module: Input[str] | None = None
    """Module to run with `python3 -m` once the packages are installed. In a `DistributedTraining` with a
    `StagedPackage`, it may be left out.
    """
    args: Input[Sequence[Input[str]] | None] = None
    """Command line arguments of the module."""
    env: Input[Sequence[Input[EnvVarArgs]] | None] = None
    """Environment variables of the module."""


@arguments_class
class ReservationAffinityArgs:
    """The reserved capacity that a machine may use; `key` and `values` name it for SPECIFIC_RESERVATION.

    :param reservation_affinity_type: NO_RESERVATION, ANY_RESERVATION, or SPECIFIC_RESERVATION, which needs
        `key` and `values`.
    :param key: Label key of the reservation. To name a reservation, use
        `compute.googleapis.com/reservation-name`.
    :param values: Full names of the reservations.
    """

    reservation_affinity_type: Input[str]
    """NO_RESERVATION, ANY_RESERVATION, or SPECIFIC_RESERVATION, which needs `key` and `values`."""
    key: Input[str | None] = None
    """Label key of the reservation. To name a reservation, use `compute.googleapis.com/reservation-name`."""
    values: Input[Sequence[Input[str]] | None] = None
    """Full names of the reservations."""


@arguments_class
class MachineSpecArgs:
    """One machine of a pool.

    :param machine_type: Machine type of Compute Engine, such as "n1-standard-8".
    :param accelerator_type: Type of the accelerators, such as "NVIDIA_TESLA_T4". Give type and count together
        or not at all.
    :param accelerator_count: Number of accelerators of each machine.
    :param gpu_partition_size: Size of the partitions that each GPU is divided into, such as "1g.10gb".
    :param tpu_topology: Topology of a newer TPU, such as "2x2x1".
    :param reservation_affinity: Reserved capacity that the machine may use.
    """

    machine_type: Input[str]
    """Machine type of Compute Engine, such as "n1-standard-8"."""
    accelerator_type: Input[str | None] = None
    """Type of the accelerators, such as "NVIDIA_TESLA_T4". Give type and count together or not at all."""
    accelerator_count: Input[int | None] = None
    """Number of accelerators of each machine."""
    gpu_partition_size: Input[str | None] = None
    """Size of the partitions that each GPU is divided into, such as "1g.10gb"."""
    tpu_topology: Input[str | None] = None
    """Topology of a newer TPU, such as "2x2x1"."""
    reservation_affinity: Input[ReservationAffinityArgs | None] = None
    """Reserved capacity that the machine may use."""


@arguments_class
class DiskSpecArgs:
    """The boot disk of each machine.

    :param boot_disk_type: Type of the boot disk, such as "pd-ssd", "pd-standard" or "hyperdisk-balanced".
        Without it, the machine type decides: "pd-ssd" for most.
    :param boot_disk_size_gb: Size of the boot disk in GB, 100 to 64000.
    """

    boot_disk_type: Input[str | None] = None
    """Type of the boot disk, such as "pd-ssd", "pd-standard" or "hyperdisk-balanced". Without it, the machine
    type decides: "pd-ssd" for most.
    """
    boot_disk_size_gb: Input[int | None] = None
    """Size of the boot disk in GB, 100 to 64000."""


@arguments_class
class NfsMountArgs:
    """A file share, mounted at `/mnt/nfs/<mount_point>`; `server` is an address in the job's network.

    :param server: IP address of the NFS server, in the job's network.
    :param path: Path that the server exports, with a leading slash.
    :param mount_point: Name of the folder in `/mnt/nfs/` at which the share is mounted.
    """

    server: Input[str]
    """IP address of the NFS server, in the job's network."""
    path: Input[str]
    """Path that the server exports, with a leading slash."""
    mount_point: Input[str]
    """Name of the folder in `/mnt/nfs/` at which the share is mounted."""


@arguments_class
class LustreMountArgs:
    """A Managed Lustre instance, mounted at `/mnt/lustre/<mount_point>`.

    :param instance_ip: IP address of the Lustre instance.
    :param volume_handle: Unique identifier of the Lustre volume.
    :param filesystem: Name of the Lustre file system.
    :param mount_point: Name of the folder in `/mnt/lustre/` at which the file system is mounted.
    """

    instance_ip: Input[str]
    """IP address of the Lustre instance."""
    volume_handle: Input[str]
    """Unique identifier of the Lustre volume."""
    filesystem: Input[str]
    """Name of the Lustre file system."""
    mount_point: Input[str]
    """Name of the folder in `/mnt/lustre/` at which the file system is mounted."""


@arguments_class
class WorkerPoolSpecArgs:
    """Replicas of one machine with one task.

    :param machine_spec: Machine of every replica.
    :param replica_count: Number of replicas. "auto" is for reduction servers: as many as the network
        bandwidth of chief and workers needs.
    :param nfs_mounts: NFS file shares to mount in every replica.
    :param lustre_mounts: Managed Lustre file systems to mount in every replica.
    :param disk_spec: Boot disk of every replica.
    :param container_spec: Container to run. Give either this or `python_package_spec`.
    :param python_package_spec: Python packages to install and run. Give either this or `container_spec`.
    """

    machine_spec: Input[MachineSpecArgs]
    """Machine of every replica."""
    replica_count: Input[int] | Literal["auto"] = 1
    """Number of replicas. "auto" is for reduction servers: as many as the network bandwidth of chief and
    workers needs.
    """
    nfs_mounts: Input[Sequence[Input[NfsMountArgs]] | None] = None
    """NFS file shares to mount in every replica."""
    lustre_mounts: Input[Sequence[Input[LustreMountArgs]] | None] = None
    """Managed Lustre file systems to mount in every replica."""
    disk_spec: Input[DiskSpecArgs | None] = None
    """Boot disk of every replica."""
    container_spec: Input[ContainerSpecArgs | None] = None
    """Container to run. Give either this or `python_package_spec`."""
    python_package_spec: Input[PythonPackageSpecArgs | None] = None
    """Python packages to install and run. Give either this or `container_spec`."""


@arguments_class
class SchedulingArgs:
    """Time limits, restarts, and the strategy for machines.

    :param timeout: Longest running time of the job, such as "3600s". The service's default is 7 days.
    :param restart_job_on_worker_restart: Restart the whole job if a worker is restarted.
    :param strategy: STANDARD (the service's default), SPOT, or FLEX_START, which waits for machines.
    :param disable_retries: Do not retry the job after internal errors. It overrides
        `restart_job_on_worker_restart`.
    :param max_wait_duration: Longest time that FLEX_START waits for machines, such as "7200s". The service's
        default is 24 hours; "0s" means forever.
    """

    timeout: Input[str | None] = None
    """Longest running time of the job, such as "3600s". The service's default is 7 days."""
    restart_job_on_worker_restart: Input[bool | None] = None
    """Restart the whole job if a worker is restarted."""
    strategy: Input[str | None] = None
    """STANDARD (the service's default), SPOT, or FLEX_START, which waits for machines."""
    disable_retries: Input[bool | None] = None
    """Do not retry the job after internal errors. It overrides `restart_job_on_worker_restart`."""
    max_wait_duration: Input[str | None] = None
    """Longest time that FLEX_START waits for machines, such as "7200s". The service's default is 24 hours;
    "0s" means forever.
    """


@arguments_class
class DnsPeeringConfigArgs:
    """A domain that the job resolves in another network; `domain` ends with a dot.

    :param domain: Domain to resolve, with a final dot, such as "example.corp.".
    :param target_project: Project id of the managed DNS zone that has the domain.
    :param target_network: Name of the VPC network in `target_project` in which the domain is resolved.
    """

    domain: Input[str]
    """Domain to resolve, with a final dot, such as "example.corp."."""
    target_project: Input[str]
    """Project id of the managed DNS zone that has the domain."""
    target_network: Input[str]
    """Name of the VPC network in `target_project` in which the domain is resolved."""


@arguments_class
class PscInterfaceConfigArgs:
    """A Private Service Connect interface.

    :param network_attachment: Network attachment, projects/PROJECT/regions/REGION/networkAttachments/NAME.
    :param dns_peering_configs: Domains that are resolved in another network. Vertex AI's service agent needs
        the role dns.peer in the other project.
    """

    network_attachment: Input[str | None] = None
    """Network attachment, projects/PROJECT/regions/REGION/networkAttachments/NAME."""
    dns_peering_configs: Input[Sequence[Input[DnsPeeringConfigArgs]] | None] = None
    """Domains that are resolved in another network. Vertex AI's service agent needs the role dns.peer in the
    other project.
    """


@arguments_class
class EncryptionSpecArgs:
    """A customer-managed key, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY.

    :param kms_key_name: Full name of the key,
        projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY. It must be in the region of the
        resource.
    """

    kms_key_name: Input[str]
    """Full name of the key, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY. It must be in
    the region of the resource.
    """


@arguments_class
class RungArgs:
    """One rung of a capacity ladder: what a run changes in the job, and how long it waits for machines.

    :param strategy: Strategy of this rung: STANDARD, SPOT or FLEX_START. Default: the job's own.
    :param machine_spec: Machine of this rung, with its accelerators and its reservation. It replaces the
        machine of each worker pool that has accelerators, or of all pools if none has any. Default: the job's
        own.
    :param wait_for: Longest wait for machines, such as "1800s"; then the next rung is tried. With FLEX_START
        the service itself ends the wait. With SPOT and STANDARD it is counted while `pulumi up` waits.
        Default: until the service reports a lack of machines.
    :param location: Region of this rung. A rung in another region needs a bucket there, and its own
        TensorBoard, key and network attachment if the job has one. Default: the job's own.
    :param staging_bucket: Bucket, or its name, for the output of runs on this rung, in the region of the
        rung.
    :param base_output_directory: The gs:// directory for the output of runs on this rung, instead of a
        `staging_bucket`.
    :param tensorboard: TensorBoard for the logs of runs on this rung, in the region of the rung.
    :param encryption_spec: Customer-managed key of runs on this rung, in the region of the rung.
    :param psc_interface_config: Private Service Connect interface of runs on this rung, in the region of the
        rung.
    """

    strategy: Input[str | None] = None
    """Strategy of this rung: STANDARD, SPOT or FLEX_START. Default: the job's own."""
    machine_spec: Input[MachineSpecArgs | None] = None
    """Machine of this rung, with its accelerators and its reservation. It replaces the machine of each worker
    pool that has accelerators, or of all pools if none has any. Default: the job's own.
    """
    wait_for: Input[str | None] = None
    """Longest wait for machines, such as "1800s"; then the next rung is tried. With FLEX_START the service
    itself ends the wait. With SPOT and STANDARD it is counted while `pulumi up` waits. Default: until the
    service reports a lack of machines.
    """
    location: Input[str | None] = None
    """Region of this rung. A rung in another region needs a bucket there, and its own TensorBoard, key and
    network attachment if the job has one. Default: the job's own.
    """
    staging_bucket: BucketLike | None = None
    """Bucket, or its name, for the output of runs on this rung, in the region of the rung."""
    base_output_directory: Input[str | None] = None
    """The gs:// directory for the output of runs on this rung, instead of a `staging_bucket`."""
    tensorboard: Input[str | None] = None
    """TensorBoard for the logs of runs on this rung, in the region of the rung."""
    encryption_spec: Input[EncryptionSpecArgs | None] = None
    """Customer-managed key of runs on this rung, in the region of the rung."""
    psc_interface_config: Input[PscInterfaceConfigArgs | None] = None
    """Private Service Connect interface of runs on this rung, in the region of the rung."""
