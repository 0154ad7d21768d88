"""Compares two lists of worker pools, pool by pool; `difference_words` says it in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from vertex_training.findings.problems import is_within
from vertex_training.topology.changes import FieldChange, field_changes
from vertex_training.topology.normal import normal_disk, normal_pools
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec
from vertex_training.topology.roles import SERVERS, Role, role_of

Change = Literal["added", "removed", "resized", "changed", "unchanged"]


@dataclass(frozen=True, kw_only=True)
class PoolChange:
    """What happens to the pool at one position. Pools are told apart by position, since that is their role.

    `resized` means that nothing but the number of replicas changes. `fields` has every value that differs,
    with the API's paths.
    """

    index: int
    role: Role
    change: Change
    old: WorkerPoolSpec
    new: WorkerPoolSpec
    fields: tuple[FieldChange, ...] = ()


def compare(
    old: Sequence[WorkerPoolSpec],
    new: Sequence[WorkerPoolSpec],
    *,
    path: str = "worker_pool_specs",
    unknown: Collection[str] = (),
) -> list[PoolChange]:
    """One entry for every pool that has replicas before or after; none at all when nothing differs.

    The normal forms are compared, so spellings and what the service fills in never show. Pools that stay as
    they are, beside others that change, have `change` "unchanged". A path in `unknown`, whose new value is
    not known yet, counts as a change. Raises ValueError for more than four pools.
    """
    changes = []
    was, becomes = normal_pools(old), normal_pools(new)
    if path in unknown:
        becomes, unknown = was, {f"{path}[{i}]" for i in range(len(was))}
    for index, (before, after) in enumerate(zip_longest(was, becomes, fillvalue=EMPTY_POOL)):
        if _is_gap(f"{path}[{index}].machine_spec.machine_type", unknown):
            before, after = _with_one_disk(before, after)
        fields = tuple(
            field_changes(_beside(before, after), _beside(after, before), f"{path}[{index}]", unknown=unknown)
        )
        if before.is_empty and after.is_empty and not fields:
            continue
        # The role of the third pool follows from its image.
        no_image = index == SERVERS and _is_gap(f"{path}[{index}].container_spec.image_uri", unknown)
        changes.append(
            PoolChange(
                index=index,
                role=role_of(index, before if after.is_empty or no_image else after),
                change=_kind(before, after, fields),
                old=before,
                new=after,
                fields=fields,
            )
        )
    return changes if any(change.change != "unchanged" for change in changes) else []


def _is_gap(path: str, unknown: Collection[str]) -> bool:
    """Whether the value at a path is not known yet."""
    return any(is_within(path, gap) for gap in unknown)


def _with_one_disk(old: WorkerPoolSpec, new: WorkerPoolSpec) -> tuple[WorkerPoolSpec, WorkerPoolSpec]:
    """Two pools, where a disk that follows from a machine which is not known yet is the other's."""
    if old.is_empty or new.is_empty:
        return old, new
    disks = (old.disk_spec or new.disk_spec, new.disk_spec or old.disk_spec)
    return replace(old, disk_spec=disks[0]), replace(new, disk_spec=disks[1])


def _beside(pool: WorkerPoolSpec, other: WorkerPoolSpec) -> WorkerPoolSpec:
    """An empty pool with the disk that the other one has by default, which is not worth a mention."""
    return replace(pool, disk_spec=normal_disk(None, other.machine_type)) if pool.is_empty else pool


def _kind(old: WorkerPoolSpec, new: WorkerPoolSpec, fields: Sequence[FieldChange]) -> Change:
    if not fields:
        return "unchanged"
    if old.is_empty:
        return "added"
    if new.is_empty:
        return "removed"
    return "resized" if [tail(field) for field in fields] == ["replica_count"] else "changed"


def tail(field: FieldChange) -> str:
    """The path of a field within its pool: `machine_spec.machine_type`; "" for the pool itself."""
    return field.path.partition("].")[2]
