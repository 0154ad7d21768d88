"""What becomes of an object that is deleted or replaced: noncurrent, soft-deleted, or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock, rfc3339
from vertex_emulator.kernel.database import Database
from vertex_emulator.storage.disk.files import aside_name
from vertex_emulator.storage.disk.records import Bucket, StoredObject, bucket_of, object_of

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
        return rfc3339(times.parse(moment) + timedelta(seconds=seconds))
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


class Removals:
    """Reads the records of soft-deleted objects and buckets."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def objects(self, *, most: int) -> list[StoredObject]:
        """Soft-deleted objects whose time is over, the oldest first."""
        rows = self._database.rows(
            "SELECT * FROM storage_objects WHERE soft_deleted IS NOT NULL AND hard_delete <= ? "
            "ORDER BY hard_delete LIMIT ?",
            (self._clock.now(), most),
        )
        return [object_of(row) for row in rows]

    def contents(self, bucket: str) -> list[str]:
        """The names in objects-aside of a bucket's soft-deleted objects."""
        rows = self._database.rows(
            "SELECT aside FROM storage_objects WHERE bucket = ? AND soft_deleted IS NOT NULL", (bucket,)
        )
        return [row["aside"] for row in rows if row["aside"]]

    def buckets(self) -> list[Bucket]:
        """Soft-deleted buckets whose time is over, of whose objects none is left."""
        rows = self._database.rows(
            "SELECT * FROM storage_buckets WHERE soft_deleted IS NOT NULL AND hard_delete <= ? AND NOT "
            "EXISTS (SELECT 1 FROM storage_objects WHERE bucket = storage_buckets.name)",
            (self._clock.now(),),
        )
        return [bucket_of(row) for row in rows]

    def next(self) -> str | None:
        """When the next soft-deleted object's or bucket's time is over."""
        row = self._database.row(
            "SELECT min(at) AS at FROM (SELECT min(hard_delete) AS at FROM storage_objects "
            "WHERE soft_deleted IS NOT NULL UNION ALL "
            "SELECT min(hard_delete) FROM storage_buckets WHERE soft_deleted IS NOT NULL)"
        )
        return row["at"] if row else None

    def kept_unasked(self) -> list[StoredObject]:
        """Soft-deleted objects of buckets whose owners have not chosen that, the latest first."""
        rows = self._database.rows(
            "SELECT o.* FROM storage_objects AS o JOIN storage_buckets AS b ON b.name = o.bucket WHERE "
            "o.soft_deleted IS NOT NULL AND NOT b.chose_soft_delete "
            "ORDER BY o.soft_deleted DESC, o.generation DESC"
        )
        return [object_of(row) for row in rows]

    def bytes_kept_unasked(self) -> int:
        """The size of all of them."""
        row = self._database.row(
            "SELECT coalesce(sum(o.size), 0) AS size FROM storage_objects AS o JOIN storage_buckets AS b ON "
            "b.name = o.bucket WHERE o.soft_deleted IS NOT NULL AND NOT b.chose_soft_delete"
        )
        return int(row["size"]) if row else 0
