"""Deleted and replaced objects: they become noncurrent or soft-deleted, or are removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock, rfc3339
from vertex_emulator.kernel.database import Database
from vertex_emulator.services.storage.disk.files import aside_name
from vertex_emulator.services.storage.disk.records import Bucket, StoredObject, bucket_of, object_of
from vertex_emulator.services.storage.fields import access_lists, bucket_options

_LAST = "9999-12-31T23:59:59.999Z"


def remaining_record(
    stored: StoredObject, owner: Bucket, moment: str, *, keep_version: bool
) -> StoredObject | None:
    """Return the record that remains of a deleted object, with its content aside, or None."""
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
    """Add seconds to a time of the API."""
    try:
        return rfc3339(times.parse(moment) + timedelta(seconds=seconds))
    except OverflowError:
        return _LAST


def defaults(owner: Bucket) -> dict[str, Any]:
    """Return the settings that a bucket gives its new objects."""
    given: dict[str, Any] = {"storageClass": default_class(owner)}
    if key := owner.settings.get("encryption", {}).get("defaultKmsKeyName"):
        given["kmsKeyName"] = key_version(key)
    if owner.settings.get("defaultEventBasedHold"):
        given["eventBasedHold"] = True
    return given


def with_access_list(owner: Bucket, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a new object with its access control list, if it is not the default one.

    `predefinedAcl` in the settings is the name of the list that the request asks for.
    """
    changed = dict(settings)
    name = changed.pop("predefinedAcl", None)
    if owner.is_uniform:
        changed.pop("acl", None)
        return changed
    if name is not None:
        changed["acl"] = access_lists.of_object(name, owner.project)
    elif "acl" not in changed and (given := owner.settings.get("defaultObjectAcl")) is not None:
        changed["acl"] = access_lists.changed(
            given, {"entity": access_lists.owner_of(owner.project), "role": "OWNER"}
        )
    if "acl" in changed:
        access_lists.check_allowed(changed["acl"], owner.settings)
    return changed


def default_class(owner: Bucket) -> str:
    """Return the storage class of a bucket's new objects. Autoclass begins with STANDARD."""
    if owner.settings.get("autoclass", {}).get("enabled"):
        return "STANDARD"
    return str(owner.settings["storageClass"])


def key_version(key: str) -> str:
    """Return the name of the key version of an encrypted object, in the service's format."""
    return f"{key}/cryptoKeyVersions/1"


def encryption(path: str, key: str | None) -> dict[str, str]:
    """Return the settings of an object encrypted with the key of Cloud KMS in `path`, if there is one."""
    return {} if not key else {"kmsKeyName": key_version(bucket_options.key_name(path, key))}


def _aside(stored: StoredObject) -> str:
    return stored.aside or aside_name(stored.bucket, stored.name, stored.generation)


class SoftDeletions:
    """The records of soft-deleted objects and buckets."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def objects(self, *, most: int) -> list[StoredObject]:
        """Return expired soft-deleted objects, the oldest first."""
        rows = self._database.rows(
            "SELECT * FROM storage_objects WHERE soft_deleted IS NOT NULL AND hard_delete <= ? "
            "ORDER BY hard_delete LIMIT ?",
            (self._clock.now(), most),
        )
        return [object_of(row) for row in rows]

    def contents(self, bucket: str) -> list[str]:
        """Return the names in objects-aside of a bucket's soft-deleted objects."""
        rows = self._database.rows(
            "SELECT aside FROM storage_objects WHERE bucket = ? AND soft_deleted IS NOT NULL", (bucket,)
        )
        return [row["aside"] for row in rows if row["aside"]]

    def buckets(self) -> list[Bucket]:
        """Return expired soft-deleted buckets without objects."""
        rows = self._database.rows(
            "SELECT * FROM storage_buckets WHERE soft_deleted IS NOT NULL AND hard_delete <= ? AND NOT "
            "EXISTS (SELECT 1 FROM storage_objects WHERE bucket = storage_buckets.name)",
            (self._clock.now(),),
        )
        return [bucket_of(row) for row in rows]

    def next(self) -> str | None:
        """Return the time at which the next soft-deleted object or bucket expires, or None."""
        row = self._database.row(
            "SELECT min(at) AS at FROM (SELECT min(hard_delete) AS at FROM storage_objects "
            "WHERE soft_deleted IS NOT NULL UNION ALL "
            "SELECT min(hard_delete) FROM storage_buckets WHERE soft_deleted IS NOT NULL)"
        )
        return row["at"] if row else None

    def kept_by_default(self) -> list[StoredObject]:
        """Return soft-deleted objects of buckets whose owners did not choose soft deletion, latest first."""
        rows = self._database.rows(
            "SELECT o.* FROM storage_objects AS o JOIN storage_buckets AS b ON b.name = o.bucket WHERE "
            "o.soft_deleted IS NOT NULL AND NOT b.chose_soft_delete "
            "ORDER BY o.soft_deleted DESC, o.generation DESC"
        )
        return [object_of(row) for row in rows]

    def bytes_kept_by_default(self) -> int:
        """Return the total size of these objects in bytes."""
        row = self._database.row(
            "SELECT coalesce(sum(o.size), 0) AS size FROM storage_objects AS o JOIN storage_buckets AS b ON "
            "b.name = o.bucket WHERE o.soft_deleted IS NOT NULL AND NOT b.chose_soft_delete"
        )
        return int(row["size"]) if row else 0
