"""A persistent resource: machines that stay, on which jobs start at once. Spec and normal form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable, effect_of
from vertex_training.fields.labels import is_own
from vertex_training.fields.wire import from_json, to_json
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
    """The fields of two declarations that differ, each with what it does."""
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


def as_declared(live: PersistentResource, declared: PersistentResource) -> PersistentResource:
    """What the service has, in normal form, without what is not the declaration's to say: ids of pools that
    the service made up, how many machines an autoscaled pool has just now, and disks of machines that the
    tables do not have.
    """
    live, declared = normalise(live), normalise(declared)
    pools = tuple(
        _as_declared(pool, declared.resource_pools[counterpart]) if counterpart is not None else pool
        for pool, counterpart in zip(live.resource_pools, counterparts(live, declared), strict=True)
    )
    return replace(live, resource_pools=pools)


def counterparts(live: PersistentResource, declared: PersistentResource) -> tuple[int | None, ...]:
    """For each pool that live the position of the declared one: by its id, else the one at its place."""
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
"""What the keys of the labels begin with that Google's services add."""


@dataclass(frozen=True, kw_only=True)
class Patch:
    """An update: what is sent, and which fields of it count (`update_mask`, in snake case)."""

    body: Mapping[str, Any] = field(default_factory=dict)
    mask: tuple[str, ...] = ()


def to_wire(
    resource: PersistentResource, *, ownership_labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The resource in the API's JSON; `ownership_labels` are labels of ours beside those declared."""
    body = to_json(normalise(resource))
    labels = {**resource.labels, **(ownership_labels or {})}
    return {**body, "labels": labels} if labels else body


def from_wire(wire: Mapping[str, Any]) -> PersistentResource:
    """The spec, in normal form, of a resource in the API's JSON, without labels that nobody declared.

    Raises ValueError for what is no persistent resource.
    """
    labels = {
        key: value
        for key, value in (wire.get("labels") or {}).items()
        if not is_own(key) and not key.startswith(_SYSTEM_LABELS)
    }
    return normalise(from_json(PersistentResource, {**wire, "labels": labels}))


def patch(
    old: PersistentResource,
    new: PersistentResource,
    *,
    live: Mapping[str, Any] | None = None,
    ownership_labels: Mapping[str, str] | None = None,
) -> Patch:
    """The update that makes `new` of `old`; with an empty mask for none.

    A new size is sent with all pools as they live (`live`, in the API's JSON, else `old`): the pools of the
    service have ids, which a declaration need not have. Raises ValueError when something differs that cannot
    change: that is another resource.
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
    """The pools that live with the sizes that were changed; those of the autoscaler stay."""
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
