"""Comparison of two jobs, or resources that contain jobs, and its description in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from vertex_training.fields.effects import Effect, FieldTable, effect_of, strongest
from vertex_training.findings.problems import is_within
from vertex_training.job.job_spec import JobSpec, map_parts, parts
from vertex_training.topology.changes import FieldChange, field_changes
from vertex_training.topology.difference import PoolChange, compare, in_words

Spec = TypeVar("Spec")

SERVICE_TIMEOUT = "604800s"
"""The timeout of a job that gives none, 7 days."""


@dataclass(frozen=True, kw_only=True)
class JobDifference:
    """The difference of two jobs, or resources that contain jobs, and its effect on the existing one.

    `fields` are the values that differ outside the worker pools; the pools' are in `pools`. `reasons`
    has the reason of every field with the strongest effect, each once. `names` maps paths that only have a
    position, such as the parameters of a study, to the names of what is there.
    """

    effect: Effect
    reasons: tuple[str, ...] = ()
    pools: tuple[PoolChange, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    noun: str = "the job"
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of every value that differs, pools first."""
        return tuple(change.path for change in (*self.pool_fields, *self.fields))

    @property
    def pool_fields(self) -> tuple[FieldChange, ...]:
        """The values that differ in the worker pools."""
        return tuple(change for pool in self.pools for change in pool.fields)

    @property
    def changes(self) -> tuple[str, ...]:
        """The differences and the unchanged pools, as parts of a sentence; empty if nothing differs."""
        parts = (in_words(self.pools), *_fields_in_words(self.fields, self.names))
        return tuple(part for part in parts if part)

    @property
    def words(self) -> str:
        """One sentence: the differences, unchanged pools, the effect on the job; "" if nothing differs."""
        parts = self.changes
        if self.effect is Effect.REPLACE:
            parts = (*parts, f"{self.noun} is replaced, because {self.reasons[0]}")
        elif self.effect is Effect.NONE and parts:
            parts = (*parts, f"{self.noun} stays, because {self.reasons[0]}")
        return "; ".join(parts)


def compare_specs(
    old: Spec,
    new: Spec,
    *,
    table: FieldTable,
    unknown: Collection[str] = (),
    noun: str = "the job",
    names: Mapping[str, str] | None = None,
) -> JobDifference:
    """Compare two normal forms of one kind; a path in `unknown` counts as different.

    `table` has the effects of the kind's fields, `noun` is what the description calls the resource, and
    `names` maps paths that only have a position to names. Raises ValueError if one spec has more than four
    worker pools.
    """
    old_parts = dict(parts(old))
    pools: list[PoolChange] = []
    pool_lists: list[str] = []

    def with_old_pools(path: str, part: JobSpec) -> JobSpec:
        if path not in old_parts:
            return part
        pools_path = f"{path}.{_POOLS}" if path else _POOLS
        before, after = old_parts[path].worker_pool_specs, part.worker_pool_specs
        pool_lists.append(pools_path)
        if not any(is_within(pools_path, gap) and gap != pools_path for gap in unknown):
            pools.extend(compare(before, after, path=pools_path, unknown=unknown))
        return replace(part, worker_pool_specs=before)

    same_pools = map_parts(new, with_old_pools)
    others = [path for path in unknown if not any(is_within(path, pools_path) for pools_path in pool_lists)]
    changes = tuple(
        change for change in field_changes(old, same_pools, unknown=others) if not means_the_same(change)
    )
    paths = [change.path for pool in pools for change in pool.fields] + [change.path for change in changes]
    entries = [effect_of(path, table) for path in paths]
    effect = strongest(entries).effect
    return JobDifference(
        effect=effect,
        reasons=tuple(dict.fromkeys(entry.reason for entry in entries if entry.effect is effect)),
        pools=tuple(pools),
        fields=changes,
        noun=noun,
        names=names or {},
    )


_POOLS = "worker_pool_specs"


def as_document(difference: JobDifference) -> dict[str, Any]:
    """Convert the difference to plain values for JSON: effect, reasons, pools, other fields, words.

    Pools without a difference are in `unchanged`.
    """
    pools = [pool for pool in difference.pools if pool.change != "unchanged"]
    return {
        "effect": str(difference.effect),
        "reasons": list(difference.reasons),
        "pools": [
            {
                "index": pool.index,
                "role": str(pool.role),
                "change": pool.change,
                "fields": [_field_document(change) for change in pool.fields],
            }
            for pool in pools
        ],
        "unchanged": [
            {"index": pool.index, "role": str(pool.role)} for pool in difference.pools if pool not in pools
        ],
        "fields": [_field_document(change) for change in difference.fields],
        "words": difference.words,
    }


def _field_document(change: FieldChange) -> dict[str, Any]:
    return {"path": change.path, "old": _document(change.old), "new": _document(change.new)}


def _document(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


_TIMEOUT = "scheduling.timeout"
_RESOURCE = re.compile(r"projects/([^/]+)/(.+)", re.DOTALL)


def means_the_same(change: FieldChange) -> bool:
    """Return whether the service treats both values as equal.

    Such are its default timeout and no timeout, and a resource name with the project's id and with its
    number, which is how the service answers.
    """
    if change.path == _TIMEOUT or change.path.endswith(f".{_TIMEOUT}"):
        return {change.old, change.new} == {None, SERVICE_TIMEOUT}
    if not isinstance(change.old, str) or not isinstance(change.new, str):
        return False
    old, new = _RESOURCE.fullmatch(change.old), _RESOURCE.fullmatch(change.new)
    return (
        old is not None
        and new is not None
        and old.group(2) == new.group(2)
        and old.group(1).isdigit() != new.group(1).isdigit()
    )


def _fields_in_words(changes: Sequence[FieldChange], names: Mapping[str, str]) -> Iterator[str]:
    for change in changes:
        label = change.path.removeprefix("labels.")
        subject = f"label {label}" if label != change.path else change.path.rpartition(".")[2]
        subject = re.sub(r"\[\d+\]$", "", subject).replace("_", " ") if label == change.path else subject
        name = name_of(change.path, names)
        what = f"{subject} of {name}" if name else subject
        yield f"{what}: {_value(change.old)} -> {_value(change.new)}"


def name_of(path: str, names: Mapping[str, str]) -> str:
    """Return the name of the nearest named part that a path lies in, or ""."""
    nearest = max((known for known in names if is_within(path, known)), key=len, default=None)
    return names[nearest] if nearest is not None else ""


def _value(value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
