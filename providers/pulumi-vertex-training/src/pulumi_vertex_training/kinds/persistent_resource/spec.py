"""The spec of a persistent resource: its normal form, its JSON, and the effect of each change.

Sizes, display name and labels change in place; every other change replaces the resource. The API says of
UpdatePersistentResource only that a mask is needed. Its comments mark the machine and the id of a pool as
immutable, and Google's own clients resize with the mask `resource_pools.replica_count`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from vertex_training.catalog import api
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable, effect_of
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.wire import from_json, to_json
from vertex_training.job.job_spec import EncryptionSpec, PscInterfaceConfig
from vertex_training.topology.normal import normal_disk, normal_machine
from vertex_training.topology.rules.resource_pools import ResourcePool


@dataclass(frozen=True, kw_only=True)
class ServiceAccountSpec:
    """Service account settings.

    With `enable_custom_service_account`, jobs need a service account. `service_account` is the one of a Ray
    cluster, and of jobs that name none.
    """

    enable_custom_service_account: bool
    """Let jobs run as a service account of their own. Each job must then name one."""
    service_account: str | None = None
    """Address of the service account of a Ray cluster, and of jobs that name none."""


@dataclass(frozen=True, kw_only=True)
class RayMetricSpec:
    """Collection of Ray's metrics."""

    disabled: bool = False
    """Do not collect Ray's metrics."""


@dataclass(frozen=True, kw_only=True)
class RayLogsSpec:
    """Export of Ray's logs to Cloud Logging."""

    disabled: bool = False
    """Do not export Ray's logs to Cloud Logging."""


@dataclass(frozen=True, kw_only=True)
class RaySpec:
    """Settings of a Ray cluster: one image for all pools, or an image for each pool by its id."""

    image_uri: str | None = None
    """Image of all pools. Give this or `resource_pool_images`."""
    resource_pool_images: Mapping[str, str] = field(default_factory=dict)
    """Image of each pool by the pool's id."""
    head_node_resource_pool_id: str | None = None
    """Id of the pool with the head node. Default: the first pool."""
    ray_metric_spec: RayMetricSpec | None = None
    """Collection of Ray's metrics."""
    ray_logs_spec: RayLogsSpec | None = None
    """Export of Ray's logs."""


@dataclass(frozen=True, kw_only=True)
class ResourceRuntimeSpec:
    """Service account and Ray cluster of the machines."""

    service_account_spec: ServiceAccountSpec | None = field(default=None, metadata={"absent_if_empty": True})
    """Service accounts of the jobs."""
    ray_spec: RaySpec | None = None
    """Ray cluster on the machines."""


@dataclass(frozen=True, kw_only=True)
class PersistentResource:
    """The API's `PersistentResource`. Its id is not a field of this message."""

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["PersistentResource"] | {"name"}

    resource_pools: tuple[ResourcePool, ...]
    """Pools of equal machines."""
    display_name: str = ""
    """Name for people, up to 128 characters."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the persistent resource."""
    network: str | None = None
    """Full name of a peered VPC network, projects/PROJECT_NUMBER/global/networks/NETWORK. Jobs on the
    resource must have the same network.
    """
    reserved_ip_ranges: tuple[str, ...] = ()
    """Names of reserved IP ranges of the network that the machines may use. Default: any range."""
    psc_interface_config: PscInterfaceConfig | None = None
    """Private Service Connect interface, through which the machines reach a network."""
    encryption_spec: EncryptionSpec | None = field(default=None, metadata={"absent_if_empty": True})
    """Customer-managed key that encrypts the machines. Jobs on the resource must have the same key."""
    resource_runtime_spec: ResourceRuntimeSpec | None = None
    """Service accounts of the jobs, and the settings of a Ray cluster."""


_IN_PLACE = FieldEffect(
    effect=Effect.UPDATE, reason="display name and labels of a persistent resource can change in place"
)
_RESIZED = FieldEffect(effect=Effect.UPDATE, reason="a resource pool can be resized in place")
_MACHINES = FieldEffect(effect=Effect.REPLACE, reason="a resource pool keeps its machines")
_LIMITS = FieldEffect(effect=Effect.REPLACE, reason="a resource pool keeps the limits of its autoscaling")
_NETWORK = FieldEffect(effect=Effect.REPLACE, reason="a persistent resource keeps its network")
_KEY = FieldEffect(effect=Effect.REPLACE, reason="a persistent resource keeps its encryption key")
_RUNTIME = FieldEffect(effect=Effect.REPLACE, reason="a persistent resource keeps its runtime")
_SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")

EFFECTS: FieldTable = MappingProxyType(
    {
        "resource_pools[].machine_spec.machine_type": _MACHINES,
        "resource_pools[].machine_spec.accelerator_type": _MACHINES,
        "resource_pools[].machine_spec.accelerator_count": _MACHINES,
        "resource_pools[].machine_spec.gpu_partition_size": _MACHINES,
        "resource_pools[].machine_spec.tpu_topology": _MACHINES,
        "resource_pools[].machine_spec.reservation_affinity.reservation_affinity_type": _MACHINES,
        "resource_pools[].machine_spec.reservation_affinity.key": _MACHINES,
        "resource_pools[].machine_spec.reservation_affinity.values": _MACHINES,
        "resource_pools[].id": FieldEffect(effect=Effect.REPLACE, reason="a resource pool keeps its id"),
        "resource_pools[].replica_count": _RESIZED,
        "resource_pools[].disk_spec.boot_disk_type": _MACHINES,
        "resource_pools[].disk_spec.boot_disk_size_gb": _MACHINES,
        "resource_pools[].autoscaling_spec.min_replica_count": _LIMITS,
        "resource_pools[].autoscaling_spec.max_replica_count": _LIMITS,
        "resource_pools[].used_replica_count": _SERVICE,
        "display_name": _IN_PLACE,
        "labels": _IN_PLACE,
        "network": _NETWORK,
        "reserved_ip_ranges": _NETWORK,
        "psc_interface_config.network_attachment": _NETWORK,
        "psc_interface_config.dns_peering_configs[].domain": _NETWORK,
        "psc_interface_config.dns_peering_configs[].target_project": _NETWORK,
        "psc_interface_config.dns_peering_configs[].target_network": _NETWORK,
        "encryption_spec.kms_key_name": _KEY,
        "resource_runtime_spec.service_account_spec.enable_custom_service_account": _RUNTIME,
        "resource_runtime_spec.service_account_spec.service_account": _RUNTIME,
        "resource_runtime_spec.ray_spec.image_uri": _RUNTIME,
        "resource_runtime_spec.ray_spec.resource_pool_images": _RUNTIME,
        "resource_runtime_spec.ray_spec.head_node_resource_pool_id": _RUNTIME,
        "resource_runtime_spec.ray_spec.ray_metric_spec.disabled": _RUNTIME,
        "resource_runtime_spec.ray_spec.ray_logs_spec.disabled": _RUNTIME,
        **dict.fromkeys(sorted(PersistentResource.SERVER_OWNED), _SERVICE),
    }
)


def effects_of_changes(old: PersistentResource, new: PersistentResource) -> dict[str, Effect]:
    """Return the effect of each field that differs between two specs."""
    before, after = normalise(old), normalise(new)
    differing = (
        field.name
        for field in fields(PersistentResource)
        if getattr(before, field.name) != getattr(after, field.name)
    )
    return {name: _effect(name, before, after) for name in differing}


def _effect(name: str, old: PersistentResource, new: PersistentResource) -> Effect:
    if name == "resource_pools":
        return Effect.UPDATE if _unsized(old) == _unsized(new) else Effect.REPLACE
    return effect_of(name, EFFECTS).effect


def _unsized(resource: PersistentResource) -> tuple[object, ...]:
    return tuple(replace(pool, replica_count=0) for pool in resource.resource_pools)


Resource = TypeVar("Resource", bound=PersistentResource)


def read(value: object, *, path: str = "persistent_resource") -> Decoded[PersistentResource]:
    """Decode the output of the service or of `gcloud ai persistent-resources describe`.

    Unknown fields are ignored.
    """
    return decode(PersistentResource, value, path=path, tolerant=True)


def full_name(project: str, location: str, resource_id: str) -> str:
    """Return the resource's name in the API."""
    return f"projects/{project}/locations/{location}/persistentResources/{resource_id}"


def normalise(resource: Resource) -> Resource:
    """Return the normal form: explicit disks, and None for empty messages and values."""
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


def as_declared(live: PersistentResource, declared: PersistentResource) -> PersistentResource:
    """Return the live spec in normal form, without the values that the service chose.

    These are generated pool ids, the current size of autoscaled pools, and undeclared disks of machine types
    that are not in the tables.
    """
    live, declared = normalise(live), normalise(declared)
    pools = tuple(
        _as_declared(pool, declared.resource_pools[counterpart]) if counterpart is not None else pool
        for pool, counterpart in zip(live.resource_pools, counterparts(live, declared), strict=True)
    )
    return replace(live, resource_pools=pools)


def counterparts(live: PersistentResource, declared: PersistentResource) -> tuple[int | None, ...]:
    """Return, for each live pool, the index of the declared pool: matched by id, else by position."""
    ids = {pool.id: i for i, pool in enumerate(declared.resource_pools) if pool.id}
    found: list[int | None] = []
    for i, pool in enumerate(live.resource_pools):
        at_its_place = i if i < len(declared.resource_pools) and not declared.resource_pools[i].id else None
        found.append(ids.get(pool.id, at_its_place))
    return tuple(found)


def _as_declared(live: ResourcePool, declared: ResourcePool) -> ResourcePool:
    autoscaled = live.is_autoscaled and declared.is_autoscaled
    disk = live.disk_spec
    if disk is not None and live.machine_spec == declared.machine_spec:
        if declared.disk_spec is None:
            disk = None
        elif not declared.disk_spec.boot_disk_type:
            disk = replace(disk, boot_disk_type="")
    return replace(
        live,
        id=live.id if declared.id else "",
        replica_count=declared.replica_count if autoscaled else live.replica_count,
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


_SYSTEM_LABELS = ("goog-", "gcp.")
"""Prefixes of the labels that Google's services add."""


@dataclass(frozen=True, kw_only=True)
class Patch:
    """The body and the `update_mask`, in snake case, of an update."""

    body: Mapping[str, Any] = field(default_factory=dict)
    mask: tuple[str, ...] = ()


def to_wire(
    resource: PersistentResource, *, ownership_labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the resource in the API's JSON; `ownership_labels` are added to the declared labels."""
    body = to_json(normalise(resource))
    labels = {**resource.labels, **(ownership_labels or {})}
    return {**body, "labels": labels} if labels else body


def from_wire(wire: Mapping[str, Any]) -> PersistentResource:
    """Return the spec, in normal form, of a resource in the API's JSON, without undeclared labels.

    Raises ValueError if `wire` is not a persistent resource.
    """
    labels = {
        key: value
        for key, value in (wire.get("labels") or {}).items()
        if not is_provider_label(key) and not key.startswith(_SYSTEM_LABELS)
    }
    return normalise(from_json(PersistentResource, {**wire, "labels": labels}))


def patch(
    old: PersistentResource,
    new: PersistentResource,
    *,
    live: Mapping[str, Any] | None = None,
    ownership_labels: Mapping[str, str] | None = None,
) -> Patch:
    """Return the update from `old` to `new`. Its mask is empty if nothing changes.

    A new size is sent with all live pools (`live`, in the API's JSON; `old` by default), because live pools
    have ids that a declaration may leave out. Raises ValueError if a field differs that cannot change in
    place.
    """
    found = effects_of_changes(old, new)
    if kept := [name for name, effect in found.items() if effect is Effect.REPLACE]:
        raise ValueError(f"a persistent resource cannot change its {', '.join(kept)}")
    body: dict[str, Any] = {}
    mask = []
    if "display_name" in found:
        body["displayName"] = new.display_name
        mask.append("display_name")
    if "labels" in found:
        body["labels"] = {**new.labels, **(ownership_labels or {})}
        mask.append("labels")
    if "resource_pools" in found:
        body["resourcePools"] = _resized(live or to_wire(old), normalise(old), normalise(new))
        mask.append("resource_pools.replica_count")
    return Patch(body=body, mask=tuple(mask))


def _resized(
    live: Mapping[str, Any], old: PersistentResource, new: PersistentResource
) -> list[dict[str, Any]]:
    """Return the live pools with their new declared sizes. Sizes set by the autoscaler are kept."""
    pools = [
        {key: value for key, value in pool.items() if key != "usedReplicaCount"}
        for pool in live.get("resourcePools", ())
    ]
    for pool, counterpart in zip(pools, counterparts(from_wire(live), new), strict=True):
        if counterpart is None:
            continue
        was, wanted = old.resource_pools[counterpart], new.resource_pools[counterpart]
        kept = wanted.is_autoscaled and was.replica_count == wanted.replica_count
        if wanted.replica_count and not kept:
            pool["replicaCount"] = str(wanted.replica_count)
    return pools
