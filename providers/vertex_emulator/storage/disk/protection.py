"""What keeps an object from being deleted or replaced: holds, and the retention of bucket and object.

Wordings as the service's ("Object holds", "Bucket Lock", "Object Retention Lock").
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.storage.disk.records import Bucket, StoredObject
from vertex_emulator.storage.errors import StorageError, invalid

_HOLDS = (("temporaryHold", "Temporary"), ("eventBasedHold", "Event-Based"))


def check(stored: StoredObject, *, now: str) -> None:
    """Raises `StorageError` 403 when the object must not be deleted or replaced at that time."""
    name = f"{stored.bucket}/{stored.name}"
    for field, kind in _HOLDS:
        if stored.settings.get(field):
            raise StorageError(
                403,
                "objectUnderActiveHold",
                f"Object '{name}' is under active {kind} hold and cannot be deleted, overwritten or archived "
                "until hold is removed.",
            )
    if stored.retained_until is not None and stored.retained_until > now:
        raise StorageError(
            403,
            "retentionPolicyNotMet",
            f"Object '{name}' is subject to bucket's retention policy and cannot be deleted, overwritten or "
            f"archived until {stored.retained_until}",
        )
    until = stored.settings.get("retention", {}).get("retainUntilTime")
    if until is not None and until > now:
        raise StorageError(
            403,
            "retentionPolicyNotMet",
            f"Object '{name}' is subject to bucket's retention policy or object retention and cannot be "
            f"deleted, overwritten or archived until {until}",
        )


def expiration(stored: StoredObject) -> str | None:
    """`retentionExpirationTime`: the later of both retentions; None while an event is awaited."""
    if stored.settings.get("eventBasedHold") and stored.retained_until is not None:
        return None
    until = (stored.retained_until, stored.settings.get("retention", {}).get("retainUntilTime"))
    return max((each for each in until if each is not None), default=None)


def retained_until(owner: Bucket, since: str) -> str | None:
    """Until when the bucket's policy keeps what it counts from that time on."""
    if owner.retention_seconds is None:
        return None
    start = datetime.fromisoformat(since.replace("Z", "+00:00"))
    try:
        return rfc3339(start + timedelta(seconds=owner.retention_seconds))
    except OverflowError:
        return "9999-12-31T23:59:59.999Z"


def check_new(settings: Mapping[str, Any], owner: Bucket) -> None:
    """Raises `StorageError` 400 for a retention of an object whose bucket has none."""
    if "retention" in settings and "objectRetention" not in owner.settings:
        raise invalid(
            f"Object retention is not enabled for the bucket {owner.name}: it can only be enabled when a "
            "bucket is created, with enableObjectRetention=true."
        )


def check_change(old: Mapping[str, Any], new: Mapping[str, Any], *, override: bool, now: str) -> None:
    """Whether an object's retention may become another. Raises `StorageError` 400, 403.

    `override` is the request's `overrideUnlockedRetention`.
    """
    before, after = old.get("retention"), new.get("retention")
    if before == after:
        return
    if after is not None and after["retainUntilTime"] <= now:
        raise invalid("retention.retainUntilTime has to be in the future.")
    if before is None or before["retainUntilTime"] <= now:
        return
    is_less = after is None or after["retainUntilTime"] < before["retainUntilTime"]
    if before["mode"] == "Locked":
        if after is None or is_less or after["mode"] != "Locked":
            raise StorageError(
                403,
                "forbidden",
                f"The object's retention is locked until {before['retainUntilTime']}: it cannot be removed, "
                "unlocked or reduced.",
            )
    elif (is_less or (after is not None and after["mode"] == "Locked")) and not override:
        raise StorageError(
            403,
            "forbidden",
            "The object's retention cannot be reduced, removed or locked without "
            "overrideUnlockedRetention=true.",
        )
