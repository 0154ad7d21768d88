"""What becomes of an object that is deleted or replaced: noncurrent, soft-deleted, or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.storage.disk.files import aside_name
from vertex_emulator.storage.disk.records import Bucket, StoredObject

_LAST = "9999-12-31T23:59:59.999Z"


def left_of(stored: StoredObject, owner: Bucket, moment: str, *, keep_version: bool) -> StoredObject | None:
    """The record that is left, whose content is aside; None: the object is gone."""
    if stored.live and keep_version:
        return replace(stored, live=False, deleted=moment, aside=_aside(stored))
    if not owner.soft_delete_seconds:
        return None
    return replace(
        stored,
        live=False,
        aside=_aside(stored),
        soft_deleted=moment,
        hard_delete=later(moment, owner.soft_delete_seconds),
    )


def later(moment: str, seconds: int) -> str:
    """So many seconds after a time of the API."""
    try:
        return rfc3339(datetime.fromisoformat(moment.replace("Z", "+00:00")) + timedelta(seconds=seconds))
    except OverflowError:
        return _LAST


def defaults(owner: Bucket) -> dict[str, Any]:
    """The settings that a bucket gives its new objects."""
    given: dict[str, Any] = {"storageClass": default_class(owner)}
    if key := owner.settings.get("encryption", {}).get("defaultKmsKeyName"):
        given["kmsKeyName"] = key_version(key)
    if owner.settings.get("defaultEventBasedHold"):
        given["eventBasedHold"] = True
    return given


def default_class(owner: Bucket) -> str:
    """Autoclass begins with STANDARD."""
    if owner.settings.get("autoclass", {}).get("enabled"):
        return "STANDARD"
    return str(owner.settings["storageClass"])


def key_version(key: str) -> str:
    """As the service shows the version of a key that an object was encrypted with."""
    return f"{key}/cryptoKeyVersions/1"


def _aside(stored: StoredObject) -> str:
    return stored.aside or aside_name(stored.bucket, stored.name, stored.generation)
