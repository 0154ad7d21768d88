"""What a change of a persistent resource does: sizes, display name and labels in place, all else anew.

The API says of UpdatePersistentResource only that a mask is needed; its comments mark the machine and the id
of a pool as immutable, and Google's own clients resize with the mask `resource_pools.replica_count`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from types import MappingProxyType

from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, normalise
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable, effect_of

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


def changes(old: PersistentResource, new: PersistentResource) -> dict[str, Effect]:
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
