"""A persistent resource as the API's JSON writes it, and what an update has to send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.kinds.persistent_resource.effects import changes
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, counterparts, normalise
from vertex_training.fields.effects import Effect
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.wire import from_json, to_json

_SYSTEM_LABELS = ("goog-", "gcp.")
"""What the keys of the labels begin with that Google's services add."""


@dataclass(frozen=True, kw_only=True)
class Patch:
    """An update: what is sent, and which fields of it count (`update_mask`, in snake case)."""

    body: Mapping[str, Any] = field(default_factory=dict)
    mask: tuple[str, ...] = ()


def to_wire(resource: PersistentResource, *, marks: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The resource in the API's JSON; `marks` are labels of ours beside those declared."""
    body = to_json(normalise(resource))
    labels = {**resource.labels, **(marks or {})}
    return {**body, "labels": labels} if labels else body


def from_wire(wire: Mapping[str, Any]) -> PersistentResource:
    """The spec, in normal form, of a resource in the API's JSON, without labels that nobody declared.

    Raises ValueError for what is no persistent resource.
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
    lives: Mapping[str, Any] | None = None,
    marks: Mapping[str, str] | None = None,
) -> Patch:
    """The update that makes `new` of `old`; with an empty mask for none.

    A new size is sent with all pools as they live (`lives`, in the API's JSON, else `old`): the pools of the
    service have ids, which a declaration need not have. Raises ValueError when something differs that cannot
    change: that is another resource.
    """
    found = changes(old, new)
    if kept := [name for name, effect in found.items() if effect is Effect.REPLACE]:
        raise ValueError(f"a persistent resource cannot change its {', '.join(kept)}")
    body: dict[str, Any] = {}
    mask = []
    if "display_name" in found:
        body["displayName"] = new.display_name
        mask.append("display_name")
    if "labels" in found:
        body["labels"] = {**new.labels, **(marks or {})}
        mask.append("labels")
    if "resource_pools" in found:
        body["resourcePools"] = _resized(lives or to_wire(old), normalise(old), normalise(new))
        mask.append("resource_pools.replica_count")
    return Patch(body=body, mask=tuple(mask))


def _resized(
    lives: Mapping[str, Any], old: PersistentResource, new: PersistentResource
) -> list[dict[str, Any]]:
    """The pools that live with the sizes that were changed; those of the autoscaler stay."""
    pools = [
        {key: value for key, value in pool.items() if key != "usedReplicaCount"}
        for pool in lives.get("resourcePools", ())
    ]
    for pool, counterpart in zip(pools, counterparts(from_wire(lives), new), strict=True):
        if counterpart is None:
            continue
        was, wanted = old.resource_pools[counterpart], new.resource_pools[counterpart]
        kept = wanted.is_autoscaled and was.replica_count == wanted.replica_count
        if wanted.replica_count and not kept:
            pool["replicaCount"] = str(wanted.replica_count)
    return pools
