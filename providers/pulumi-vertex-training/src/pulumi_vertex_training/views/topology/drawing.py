"""The drawing of worker pools: what every picture of a topology shows, in whatever format.

A pool is a box with its role, its machines and a mark for each replica. Up to four replicas have their names,
up to 400 are squares in rows of eights, and more are a number. So the box of one replica is narrow and the
box of 200 is wide, and none is mostly empty. The chief, the workers and the servers are one cluster; the
evaluator is apart, because it only reads what the chief saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pulumi_vertex_training.views.pools_view import (
    machine_and_accelerators,
    machines_of,
    pool_in_words,
    role_in_words,
)
from vertex_training.catalog import machines
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import counted
from vertex_training.topology.difference import PoolChange, tail
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import EVALUATORS, MAX_POOLS, replica_name

Fate = Literal["", "added", "removed", "resized", "changed"]
Marks = Literal["names", "squares", "number"]

CLUSTER = "one cluster: each replica reaches every other"
APART = "reads what the chief saves"

GROUP = 8
"""Squares of a row stand in groups of so many, so that they can be counted."""

_MOST_NAMES, _MOST_SQUARES = 4, 400
_ROWS, _MOST_GROUPS = 6, 6
"""A box gets wider as soon as it has more rows, up to so many groups of squares in a row."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A pool with replicas. `words` are its role, number and machines, in a change with the number before."""

    index: int
    role: str
    count: int
    machine: str
    accelerators: str
    words: str
    fate: Fate = ""

    @property
    def is_apart(self) -> bool:
        """True if it is no part of the cluster."""
        return self.index == EVALUATORS

    @property
    def marks(self) -> Marks:
        """How the replicas are drawn."""
        if self.count <= _MOST_NAMES:
            return "names"
        return "squares" if self.count <= _MOST_SQUARES else "number"

    @property
    def columns(self) -> int:
        """The squares in a row."""
        if self.count <= GROUP:
            return self.count
        return GROUP * min(-(-self.count // (GROUP * _ROWS)), _MOST_GROUPS)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the replicas."""
        return tuple(replica_name(self.index, number) for number in range(self.count))

    @property
    def ends(self) -> str:
        """The names of the first and the last replica: "workerpool1-0 to -23"."""
        return f"{replica_name(self.index, 0)} to -{self.count - 1}"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The boxes in the order of their roles. `totals` are the machines of all of them, and what they cost.

    `cluster_totals` leave out an evaluator beside a cluster.
    """

    boxes: tuple[Box, ...]
    totals: str
    cluster_totals: str = ""

    @property
    def cluster(self) -> tuple[Box, ...]:
        """The boxes whose replicas talk to each other."""
        return tuple(box for box in self.boxes if not box.is_apart)

    @property
    def apart(self) -> Box | None:
        """The box of the evaluator beside a cluster."""
        return next((box for box in self.boxes if box.is_apart and self.cluster), None)

    @property
    def roles(self) -> str:
        """The number of replicas of each role: "chief 1, workers 24"."""
        return ", ".join(f"{box.role} {box.count:,}" for box in self.boxes)


def drawing_of(pools: Sequence[WorkerPoolSpec], *, hourly: str = "") -> Drawing:
    """Return the drawing of a job's pools. `hourly` is their cost of an hour, such as "$12.26"."""
    boxes = tuple(_box(index, pool) for index, pool in enumerate(pools[:MAX_POOLS]) if not pool.is_empty)
    cluster = [pool for index, pool in enumerate(pools) if index != EVALUATORS and not pool.is_empty]
    return Drawing(
        boxes=boxes,
        totals=" · ".join(_totals(pools, hourly)),
        cluster_totals=" · ".join(_totals(cluster or pools, hourly)),
    )


def drawing_of_change(changes: Sequence[PoolChange]) -> Drawing:
    """Return the drawing of pools that change; one without boxes if their numbers and machines stay the same.

    `changes` come from `topology.difference.compare`, which returns unchanged pools as well.
    """
    boxes = tuple(_changed_box(change) for change in changes)
    if not any(box.fate for box in boxes):
        return Drawing(boxes=(), totals="")
    if any(_has_unknown_count(change) for change in changes):
        return Drawing(boxes=boxes, totals="")
    inside = [change for change in changes if change.index != EVALUATORS] or changes
    return Drawing(
        boxes=boxes,
        totals=_totals_of_change(changes),
        cluster_totals=_totals_of_change(inside),
    )


def _totals_of_change(changes: Sequence[PoolChange]) -> str:
    sides = ([change.old for change in changes], [change.new for change in changes])
    totals = [" · ".join(_totals(side, "")) for side in sides if any(not pool.is_empty for pool in side)]
    return " -> ".join(dict.fromkeys(totals))


def _box(index: int, pool: WorkerPoolSpec) -> Box:
    machine, accelerators = machine_and_accelerators(pool)
    return Box(
        index=index,
        role=role_in_words(index, pool),
        count=pool.replica_count,
        machine=machine,
        accelerators=accelerators,
        words=pool_in_words(index, pool),
    )


def _changed_box(change: PoolChange) -> Box:
    old, new = change.old, change.new
    box = _box(change.index, old if new.is_empty else new)
    if _has_unknown_count(change):
        return _with(box, f"{box.role} {NOT_KNOWN}", "changed")
    if old.is_empty or new.is_empty:
        return _with(box, box.words, "added" if old.is_empty else "removed")
    words = box.words
    if old.replica_count != new.replica_count:
        words = f"{box.role} {old.replica_count} -> {words.removeprefix(f'{box.role} ')}"
    if machine_and_accelerators(old) != machine_and_accelerators(new):
        return _with(box, words, "changed")
    return _with(box, words, "resized" if old.replica_count != new.replica_count else "")


def _with(box: Box, words: str, fate: Fate) -> Box:
    return replace(box, words=f"{words} ({fate})" if fate else words, fate=fate)


def _has_unknown_count(change: PoolChange) -> bool:
    """Return whether the number of replicas, or the whole pool, is not known yet."""
    return any(tail(field) in ("", "replica_count") and field.new == NOT_KNOWN for field in change.fields)


def _totals(pools: Sequence[WorkerPoolSpec], hourly: str) -> list[str]:
    """Return the known totals, such as ["50 x n1-standard-4", "200 vCPU", "30 GPUs", "$12.26/h"]."""
    present = [pool for pool in pools if not pool.is_empty]
    replicas = sum(pool.replica_count for pool in present)
    counts = [pool.replica_count * machines_of(pool) for pool in present]
    types = {pool.machine_type for pool in present}
    one_type = len(types) == 1 and sum(counts) == replicas
    machine = machine_and_accelerators(present[0])[0] if one_type else ""
    found = [f"{replicas:,} x {machine}" if machine else counted(replicas, "replica")]
    known = [machines.machine(pool.machine_type) for pool in present]
    if replicas and all(known):
        vcpus = sum(count * one.vcpus for count, one in zip(counts, known, strict=True) if one)
        found.append(f"{vcpus:,} vCPU")
    specs = [pool.machine_spec for pool in present]
    gpus = sum(
        count * int(spec.accelerator_count or 0) for count, spec in zip(counts, specs, strict=True) if spec
    )
    if gpus:
        found.append(f"{gpus:,} GPU{'s' if gpus != 1 else ''}")
    return [*found, *([f"{hourly}/h"] if "$" in hourly else [])]
