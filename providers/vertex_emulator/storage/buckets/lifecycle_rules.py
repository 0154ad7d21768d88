"""What the lifecycle rules of a bucket say of an object ("Object Lifecycle Management"). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

_COLDER = ("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")
"""From the dearest to the cheapest to keep; no rule leads back."""
_FOREVER = 200_000
"""Days, more than the calendar has from 1970."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What rules ask of an object, or of an unfinished upload of one. Times have a time zone.

    `newer_versions`: how many versions of the name are newer, the live one included. `noncurrent`: since when
    it is so.
    """

    name: str
    created: datetime
    is_live: bool = True
    storage_class: str = "STANDARD"
    newer_versions: int = 0
    noncurrent: datetime | None = None
    custom_time: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Action:
    """What is to be done: Delete, SetStorageClass (to `storage_class`) or AbortIncompleteMultipartUpload."""

    type: str
    storage_class: str | None = None


def due(rule: Mapping[str, Any], facts: Facts, now: datetime) -> bool:
    """Whether all conditions of a rule hold."""
    return all(_holds(name, value, facts, now) for name, value in rule["condition"].items())


def action_on(rules: Iterable[Mapping[str, Any]], facts: Facts, now: datetime) -> Action | None:
    """The one thing to do with an object; Delete first, then the change to the cheapest class."""
    found: list[Action] = []
    for rule in rules:
        kind = rule["action"]["type"]
        if kind == "AbortIncompleteMultipartUpload" or not due(rule, facts, now):
            continue
        if kind == "Delete":
            return Action(type="Delete")
        target = rule["action"]["storageClass"]
        if _is_colder(target, facts.storage_class):
            found.append(Action(type=kind, storage_class=target))
    return max(found, key=lambda each: _COLDER.index(each.storage_class or ""), default=None)


def aborts(rules: Iterable[Mapping[str, Any]], facts: Facts, now: datetime) -> bool:
    """Whether an unfinished XML multipart upload is to be aborted."""
    return any(
        rule["action"]["type"] == "AbortIncompleteMultipartUpload" and due(rule, facts, now) for rule in rules
    )


def _holds(name: str, value: Any, facts: Facts, now: datetime) -> bool:
    match name:
        case "age":
            return _days_after(facts.created, value, now)
        case "createdBefore":
            return facts.created < _midnight(value)
        case "customTimeBefore":
            return facts.custom_time is not None and facts.custom_time < _midnight(value)
        case "daysSinceCustomTime":
            return facts.custom_time is not None and _days_after(facts.custom_time, value, now)
        case "daysSinceNoncurrentTime":
            return facts.noncurrent is not None and _days_after(facts.noncurrent, value, now)
        case "noncurrentTimeBefore":
            return facts.noncurrent is not None and facts.noncurrent < _midnight(value)
        case "isLive":
            return facts.is_live is bool(value)
        case "matchesPrefix":
            return facts.name.startswith(tuple(value))
        case "matchesSuffix":
            return facts.name.endswith(tuple(value))
        case "matchesStorageClass":
            return facts.storage_class in value
        case "numNewerVersions":
            return facts.newer_versions >= int(value)
    raise ValueError(f"{name} is no condition of a lifecycle rule")


def _days_after(moment: datetime, days: int, now: datetime) -> bool:
    return days < _FOREVER and now - moment >= timedelta(days=days)


def _midnight(day: str) -> datetime:
    found = date.fromisoformat(day)
    return datetime(found.year, found.month, found.day, tzinfo=timezone.utc)


def _is_colder(target: str, present: str) -> bool:
    """The old classes count as STANDARD."""
    old = 0 if present not in _COLDER else _COLDER.index(present)
    return target in _COLDER and _COLDER.index(target) > old
