"""Typed arguments, named and shaped as the API's messages in snake case. Dictionaries work as well."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import pulumi
from pulumi import Input

from pulumi_vertex_training.program.references import ImageLike, ServiceAccountLike, WithReadyId, image_uri
from vertex_training.fields.schema import camel_case
from vertex_training.findings.words import all_of, nearest
from vertex_training.topology.pools import chief_worker_counts

T = TypeVar("T")

_IMAGES = ("image_uri", "executor_image_uri")
"""Arguments that take an image resource or its name."""

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        """Do nothing at runtime: the real decorator is for type checkers."""
        return lambda decorated: decorated


@dataclass_transform(kw_only_default=True)
def arguments_class(cls: type[T]) -> type[T]:
    """Make a Pulumi input type with a keyword-only constructor from the class's annotations."""
    defaults = {name: cls.__dict__.get(name, Parameter.empty) for name in cls.__annotations__}
    for name, default in defaults.items():
        if default is not Parameter.empty:
            delattr(cls, name)
    signature = Signature(
        [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in defaults.items()]
    )

    def construct(self: T, **given: object) -> None:
        try:
            bound = signature.bind(**given)
        except TypeError as error:
            unknown = [name for name in given if name not in defaults]
            hint = "; ".join(_hint(name, defaults) for name in unknown) or str(error)
            raise pulumi.RunError(f"{cls.__name__}: {hint}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            pulumi.set(self, name, image_uri(value) if name in _IMAGES else value)

    cls.__init__ = construct  # type: ignore[assignment]
    cls.__signature__ = signature  # type: ignore[attr-defined]
    return pulumi.input_type(cls)


def _hint(name: str, known: Collection[str]) -> str:
    """Return a hint about a misspelt argument."""
    others = nearest(name, known) or f"the arguments are {all_of(list(known))}"
    return f"{name!r} is not an argument; {others}"


@arguments_class
class EnvVarArgs:
    """One environment variable; `value` may refer to earlier ones as `$(NAME)`."""

    name: Input[str]
    value: Input[str]


@arguments_class
class ContainerSpecArgs:
    """A container to run: `command` replaces the image's ENTRYPOINT, `args` its CMD.

    In a `DistributedTraining`, which has an image of its own, `image_uri` may be left out.
    """

    image_uri: ImageLike | None = None
    command: Input[Sequence[Input[str]]] | None = None
    args: Input[Sequence[Input[str]]] | None = None
    env: Input[Sequence[Input[EnvVarArgs]]] | None = None


@arguments_class
class PythonPackageSpecArgs:
    """Packages to install on every replica of the pool, and the module to run with `python3 -m`.

    In a `DistributedTraining` with a package, the fields that it fills in may be left out.
    """

    executor_image_uri: ImageLike | None = None
    package_uris: Input[Sequence[Input[str]]] | None = None
    python_module: Input[str] | None = None
    args: Input[Sequence[Input[str]]] | None = None
    env: Input[Sequence[Input[EnvVarArgs]]] | None = None


@arguments_class
class ReservationAffinityArgs:
    """Reserved capacity that a machine may use.

    The type is NO_RESERVATION, ANY_RESERVATION, or SPECIFIC_RESERVATION with `key` and `values`.
    """

    reservation_affinity_type: Input[str]
    key: Input[str] | None = None
    values: Input[Sequence[Input[str]]] | None = None


@arguments_class
class MachineSpecArgs:
    """Machine of every replica of a pool. Give accelerator type and count together or not at all."""

    machine_type: Input[str]
    accelerator_type: Input[str] | None = None
    accelerator_count: Input[int] | None = None
    gpu_partition_size: Input[str] | None = None
    tpu_topology: Input[str] | None = None
    reservation_affinity: Input[ReservationAffinityArgs] | None = None


@arguments_class
class DiskSpecArgs:
    """Boot disk of every replica of a pool. The service's default is 100 GB of `pd-ssd`."""

    boot_disk_type: Input[str] | None = None
    boot_disk_size_gb: Input[int] | None = None


@arguments_class
class NfsMountArgs:
    """A file share of the job's network, mounted at `/mnt/nfs/<mount_point>`."""

    server: Input[str]
    path: Input[str]
    mount_point: Input[str]


@arguments_class
class LustreMountArgs:
    """A Managed Lustre instance, mounted at `/mnt/lustre/<mount_point>`."""

    instance_ip: Input[str]
    volume_handle: Input[str]
    filesystem: Input[str]
    mount_point: Input[str]


@arguments_class
class WorkerPoolSpecArgs:
    """Pool of equal replicas with one task. Its position in the list gives its role, see `topology`."""

    machine_spec: Input[MachineSpecArgs]
    replica_count: Input[int] | Literal["auto"] = 1
    container_spec: Input[ContainerSpecArgs] | None = None
    python_package_spec: Input[PythonPackageSpecArgs] | None = None
    disk_spec: Input[DiskSpecArgs] | None = None
    nfs_mounts: Input[Sequence[Input[NfsMountArgs]]] | None = None
    lustre_mounts: Input[Sequence[Input[LustreMountArgs]]] | None = None


@arguments_class
class SchedulingArgs:
    """Scheduling of a job.

    `timeout` is a duration such as "3600s" (the service's default is 7 days). `strategy` is STANDARD, SPOT or
    FLEX_START, which waits up to `max_wait_duration` for machines.
    """

    timeout: Input[str] | None = None
    restart_job_on_worker_restart: Input[bool] | None = None
    strategy: Input[str] | None = None
    disable_retries: Input[bool] | None = None
    max_wait_duration: Input[str] | None = None


@arguments_class
class DnsPeeringConfigArgs:
    """Domain, with a final dot, that the job resolves in another network."""

    domain: Input[str]
    target_project: Input[str]
    target_network: Input[str]


@arguments_class
class PscInterfaceConfigArgs:
    """Private Service Connect interface, through which the job reaches a network."""

    network_attachment: Input[str] | None = None
    dns_peering_configs: Input[Sequence[Input[DnsPeeringConfigArgs]]] | None = None


@arguments_class
class EncryptionSpecArgs:
    """Customer-managed key that encrypts the job's resources."""

    kms_key_name: Input[str]


class JobSpecOptions(TypedDict, total=False):
    """Arguments of a job besides its worker pools: the fields of the API's CustomJobSpec.

    `JobOptions` extends it. `CustomJob` and `TrialJobSpecArgs` repeat the names in their signatures, for
    editors and `help`. A test compares all of them with `JobSpec`.
    """

    scheduling: Input[SchedulingArgs | Mapping[str, Any]] | None
    service_account: ServiceAccountLike | None
    network: Input[str] | None
    reserved_ip_ranges: Input[Sequence[Input[str]]] | None
    psc_interface_config: Input[PscInterfaceConfigArgs | Mapping[str, Any]] | None
    base_output_directory: Input[str] | None
    persistent_resource_id: WithReadyId | Input[str] | None
    protected_artifact_location_id: Input[str] | None
    tensorboard: Input[str] | None
    enable_web_access: Input[bool] | None
    enable_dashboard_access: Input[bool] | None
    experiment: Input[str] | None
    experiment_run: Input[str] | None
    models: Input[Sequence[Input[str]]] | None


WorkerPool = WorkerPoolSpecArgs | Mapping[str, object]


_IMAGE_KEYS = {spelling for name in _IMAGES for spelling in (name, camel_case(name))}
_TASK_KEYS = {
    spelling for name in ("container_spec", "python_package_spec") for spelling in (name, camel_case(name))
}


def with_image_names(pools: Any) -> Any:
    """Replace image resources in pools by their names, also in plain dictionaries."""
    if isinstance(pools, (list, tuple)):
        return [_with_image_names(pool) for pool in pools]
    return pools.apply(with_image_names) if isinstance(pools, pulumi.Output) else pools


def _with_image_names(pool: Any) -> Any:
    """Replace image resources in a pool or a task; our own classes have already done it."""
    if not isinstance(pool, Mapping):
        return pool
    return {
        key: image_uri(value)
        if key in _IMAGE_KEYS
        else _with_image_names(value)
        if key in _TASK_KEYS
        else value
        for key, value in pool.items()
    }


def topology(
    *,
    chief: WorkerPool,
    workers: WorkerPool | None = None,
    parameter_servers: WorkerPool | None = None,
    reduction_servers: WorkerPool | Literal["auto"] | None = None,
    evaluator: WorkerPool | None = None,
) -> list[WorkerPool]:
    """Return the list of worker pools for `CustomJob(worker_pool_specs=...)` from pools by role.

    `reduction_servers="auto"` makes as many as the network bandwidth of chief and workers needs, with
    Google's image for the job's region. To choose their machine, give a pool with `replica_count="auto"`.

    Positions are chief, workers, parameter or reduction servers, evaluator; an unused one becomes the empty
    pool `{}` (Vertex AI documentation, "Distributed training"). Raises `pulumi.RunError` if both parameter
    and reduction servers are given: they share one position.
    """
    if parameter_servers is not None and reduction_servers is not None:
        raise pulumi.RunError(
            "parameter_servers and reduction_servers are both given; they share the third worker pool. "
            "Leave one of them out."
        )
    if reduction_servers == "auto":
        reduction_servers = {"replica_count": "auto"}
    servers = parameter_servers if parameter_servers is not None else reduction_servers
    pools = [chief, workers, servers, evaluator]
    while pools[-1] is None:
        pools.pop()
    return [{} if pool is None else _with_default_count(pool) for pool in pools]


def _with_default_count(pool: WorkerPool) -> WorkerPool:
    """Set the default of one replica in a dictionary, as `WorkerPoolSpecArgs` does."""
    if not isinstance(pool, Mapping) or not pool or {"replica_count", "replicaCount"} & set(pool):
        return pool
    return {**pool, "replica_count": 1}


def chief_worker_pool(pool: WorkerPool, *, replica_count: Input[int]) -> list[WorkerPool]:
    """Return worker pools with `replica_count` equal replicas: one chief, and workers for the rest.

    All have the same machine and task. Raises `pulumi.RunError` for a count below 1.
    """
    if isinstance(replica_count, pulumi.Output):
        return [_with_replicas(pool, 1), _with_replicas(pool, replica_count.apply(_workers_of))]
    try:
        counts = chief_worker_counts(replica_count)  # type: ignore[arg-type]
    except ValueError:
        raise pulumi.RunError(
            f"chief_worker_pool: replica_count is {replica_count!r}; give a whole number of 1 or more, "
            "including the chief"
        ) from None
    return [_with_replicas(pool, count) for count in counts]


def _workers_of(replica_count: int) -> int:
    return sum(chief_worker_counts(int(replica_count))[1:])


def _with_replicas(pool: WorkerPool, count: Input[int]) -> WorkerPool:
    if isinstance(pool, Mapping):
        return {
            **{key: value for key, value in pool.items() if key != "replicaCount"},
            "replica_count": count,
        }
    other = copy.copy(pool)
    pulumi.set(other, "replica_count", count)
    return other
