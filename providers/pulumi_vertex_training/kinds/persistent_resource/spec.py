"""A persistent resource: machines that stay, on which jobs start at once. Spec and normal form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from vertex_training.fields.decode import Decoded, decode
from vertex_training.job.job_spec import EncryptionSpec, PscInterfaceConfig
from vertex_training.topology.normal import normal_disk, normal_machine
from vertex_training.topology.rules.resource_pools import ResourcePool


@dataclass(frozen=True, kw_only=True)
class ServiceAccountSpec:
    """Whether jobs have to bring a service account; `service_account` is that of a Ray cluster, and of jobs
    that name none.
    """

    enable_custom_service_account: bool
    service_account: str | None = None


@dataclass(frozen=True, kw_only=True)
class RayMetricSpec:
    """Whether Ray's metrics are collected."""

    disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class RayLogsSpec:
    """Whether Ray's own logs go to Cloud Logging."""

    disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class RaySpec:
    """Makes the resource a Ray cluster: one image for all pools, or one for each pool by the pool's id."""

    image_uri: str | None = None
    resource_pool_images: Mapping[str, str] = field(default_factory=dict)
    head_node_resource_pool_id: str | None = None
    ray_metric_spec: RayMetricSpec | None = None
    ray_logs_spec: RayLogsSpec | None = None


@dataclass(frozen=True, kw_only=True)
class ResourceRuntimeSpec:
    """What runs on the machines, and as whom."""

    service_account_spec: ServiceAccountSpec | None = field(default=None, metadata={"absent_if_empty": True})
    ray_spec: RaySpec | None = None


@dataclass(frozen=True, kw_only=True)
class PersistentResource:
    """The API's `PersistentResource`; its id is no field of it."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset(
        {"create_time", "error", "name", "resource_runtime", "start_time", "state", "update_time"}
    )

    resource_pools: tuple[ResourcePool, ...]
    display_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    reserved_ip_ranges: tuple[str, ...] = ()
    psc_interface_config: PscInterfaceConfig | None = None
    encryption_spec: EncryptionSpec | None = field(default=None, metadata={"absent_if_empty": True})
    resource_runtime_spec: ResourceRuntimeSpec | None = None


Resource = TypeVar("Resource", bound=PersistentResource)


def read(value: object, *, path: str = "persistent_resource") -> Decoded[PersistentResource]:
    """What the service or `gcloud ai persistent-resources describe` says; other fields are passed over."""
    return decode(PersistentResource, value, path=path, tolerant=True)


def full_name(project: str, location: str, resource_id: str) -> str:
    """The resource's name in the API."""
    return f"projects/{project}/locations/{location}/persistentResources/{resource_id}"


def normalise(resource: Resource) -> Resource:
    """The normal form: disks made explicit, without messages and values that vanish on the wire."""
    psc = resource.psc_interface_config
    psc = psc and replace(psc, network_attachment=psc.network_attachment or None)
    key = resource.encryption_spec
    return replace(
        resource,
        resource_pools=tuple(map(_normal_pool, resource.resource_pools)),
        network=resource.network or None,
        psc_interface_config=None if psc == PscInterfaceConfig() else psc,
        encryption_spec=key if key and key.kms_key_name else None,
        resource_runtime_spec=_normal_runtime(resource.resource_runtime_spec),
    )


def as_declared(lives: PersistentResource, declared: PersistentResource) -> PersistentResource:
    """What the service has, in normal form, without what is not the declaration's to say: ids of pools that
    the service made up, how many machines an autoscaled pool has just now, and disks of machines that the
    tables do not have.
    """
    lives, declared = normalise(lives), normalise(declared)
    pools = tuple(
        _as_declared(pool, declared.resource_pools[counterpart]) if counterpart is not None else pool
        for pool, counterpart in zip(lives.resource_pools, counterparts(lives, declared), strict=True)
    )
    return replace(lives, resource_pools=pools)


def counterparts(lives: PersistentResource, declared: PersistentResource) -> tuple[int | None, ...]:
    """For each pool that lives the position of the declared one: by its id, else the one at its place."""
    ids = {pool.id: i for i, pool in enumerate(declared.resource_pools) if pool.id}
    found: list[int | None] = []
    for i, pool in enumerate(lives.resource_pools):
        at_its_place = i if i < len(declared.resource_pools) and not declared.resource_pools[i].id else None
        found.append(ids.get(pool.id, at_its_place))
    return tuple(found)


def _as_declared(lives: ResourcePool, declared: ResourcePool) -> ResourcePool:
    autoscaled = lives.is_autoscaled and declared.is_autoscaled
    disk = lives.disk_spec
    if disk is not None and lives.machine_spec == declared.machine_spec:
        if declared.disk_spec is None:
            disk = None
        elif not declared.disk_spec.boot_disk_type:
            disk = replace(disk, boot_disk_type="")
    return replace(
        lives,
        id=lives.id if declared.id else "",
        replica_count=declared.replica_count if autoscaled else lives.replica_count,
        disk_spec=disk,
    )


def _normal_pool(pool: ResourcePool) -> ResourcePool:
    return replace(
        pool,
        machine_spec=normal_machine(pool.machine_spec),
        disk_spec=normal_disk(pool.disk_spec, pool.machine_spec.machine_type),
    )


def _normal_runtime(runtime: ResourceRuntimeSpec | None) -> ResourceRuntimeSpec | None:
    if runtime is None:
        return None
    account, ray = runtime.service_account_spec, runtime.ray_spec
    if account is not None:
        account = replace(account, service_account=account.service_account or None)
        if account == ServiceAccountSpec(enable_custom_service_account=False):
            account = None
    normal = ResourceRuntimeSpec(
        service_account_spec=account, ray_spec=None if ray is None else _normal_ray(ray)
    )
    return None if normal == ResourceRuntimeSpec() else normal


def _normal_ray(ray: RaySpec) -> RaySpec:
    return replace(
        ray,
        image_uri=ray.image_uri or None,
        head_node_resource_pool_id=ray.head_node_resource_pool_id or None,
        ray_metric_spec=None if ray.ray_metric_spec == RayMetricSpec() else ray.ray_metric_spec,
        ray_logs_spec=None if ray.ray_logs_spec == RayLogsSpec() else ray.ray_logs_spec,
    )
