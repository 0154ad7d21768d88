"""The difference between two specs of a bucket as text, and the changes that a locked policy forbids."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pulumi_vertex_training.kinds.staging_bucket.spec import (
    EFFECTS,
    SOFT_DELETE_DEFAULT,
    BucketSpec,
    comparable,
)
from pulumi_vertex_training.kinds.staging_bucket.wire import sets_lock
from vertex_training.fields.effects import Effect, effect_of
from vertex_training.findings.words import all_of
from vertex_training.topology.changes import FieldChange, field_changes

LOCK_WARNING = (
    "the retention policy is locked permanently: you can lengthen it, but never shorten or remove it, "
    "and you can only delete the bucket when every object in it is older than the retention period"
)
_DEFAULTS = {"soft_delete_policy.retention_duration_seconds": f"{SOFT_DELETE_DEFAULT} (the default)"}
_LISTS = {"lifecycle_rules": "lifecycle rule", "cors": "CORS rule"}


@dataclass(frozen=True, kw_only=True)
class BucketDifference:
    """The changes between two specs of a bucket."""

    changes: tuple[str, ...]
    """A short text for each change."""

    fields: tuple[str, ...]
    """The top-level fields that change."""

    replaces: tuple[str, ...]
    """The top-level fields whose change replaces the bucket."""

    summary: str
    """All of it as one sentence without a full stop; empty if nothing changes."""


def compare_buckets(
    old: BucketSpec, new: BucketSpec, *, unknown: Collection[str] = (), moved: Mapping[str, str] | None = None
) -> BucketDifference:
    """Compare the recorded spec of a bucket with the declared one.

    `unknown` are the paths of values that are not known yet. `moved` describes changes outside the spec that
    replace the bucket too, such as another project, by name.
    """
    before, after = comparable(old), comparable(new)
    fields = list(field_changes(before, after, unknown=unknown))
    moved = moved or {}
    replaces, reasons = [*moved], ["a bucket cannot move" for _ in moved]
    for change in fields:
        entry = effect_of(change.path, EFFECTS)
        if entry.effect is Effect.REPLACE:
            replaces.append(_top(change.path))
            reasons.append(entry.reason)
    changes = [*(f"{name}: {words}" for name, words in moved.items()), *_in_words(fields, before, after)]
    parts = list(changes)
    if replaces:
        parts.append(f"the bucket is replaced, because {all_of(list(dict.fromkeys(reasons)))}")
        parts.append(_loss(old))
    elif changes:
        parts.append("changed in place")
    if changes and sets_lock(None if replaces else old, new):
        parts.append(LOCK_WARNING)
    return BucketDifference(
        changes=tuple(changes),
        fields=tuple(dict.fromkeys([*moved, *(_top(change.path) for change in fields)])),
        replaces=tuple(dict.fromkeys(replaces)),
        summary="; ".join(parts),
    )


def lock_refusal(old: BucketSpec, new: BucketSpec) -> str:
    """Return why a locked retention policy forbids the change, or an empty string."""
    was, becomes = old.retention_policy, new.retention_policy
    if was is None or not was.is_locked:
        return ""
    keep = f"retention_policy={{'retention_period': {was.retention_period}, 'is_locked': True}}"
    if becomes is None:
        return f"its retention policy is locked and can never be removed. Declare {keep}, or a longer period"
    if not becomes.is_locked:
        return f"the lock of its retention policy can never be removed. Declare {keep}, or a longer period"
    if becomes.retention_period < was.retention_period:
        return (
            f"its retention policy is locked and can never be shortened: {was.retention_period} -> "
            f"{becomes.retention_period} seconds. Declare {keep}, or a longer period"
        )
    return ""


def _loss(old: BucketSpec) -> str:
    if old.force_destroy:
        return "all objects in the old bucket are deleted with it, because force_destroy is set"
    return (
        "the old bucket is deleted only if it is empty, or with all its objects if force_destroy=True "
        "was deployed before"
    )


def _in_words(fields: list[FieldChange], before: BucketSpec, after: BucketSpec) -> Iterator[str]:
    listed = set()
    for change in fields:
        top = _top(change.path)
        if top not in _LISTS:
            unset = _DEFAULTS.get(change.path, "not set")
            yield f"{change.path}: {_shown(change.old, unset)} -> {_shown(change.new, unset)}"
        elif top not in listed:
            listed.add(top)
            was, becomes = len(getattr(before, top)), len(getattr(after, top))
            yield (
                f"{top}: {_count(was, _LISTS[top])} -> {_count(becomes, _LISTS[top])}"
                if (was != becomes)
                else f"{top}: changed"
            )


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _shown(value: object, unset: str) -> str:
    if value is None:
        return unset
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
