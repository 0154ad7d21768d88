"""The housekeeping of buckets: lifecycle rules, and the expiry of soft-deleted objects.

It runs when the next soft-deleted object expires by the emulator's clock. If there are lifecycle rules, it
also runs once an hour of that clock (the service: within a day), and at once after a change of the clock.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from itertools import groupby
from typing import Any, Protocol

from vertex_emulator.kernel import times
from vertex_emulator.kernel.scheduler import Next
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import Bucket, StoredObject
from vertex_emulator.services.storage.errors import StorageError

_COLDER = ("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")
"""The storage classes by decreasing price. A rule changes a class only in this direction."""
_FOREVER = 200_000
"""A number of days longer than the calendar from 1970."""


@dataclass(frozen=True, kw_only=True)
class ObjectProperties:
    """The properties of an object, or of an unfinished upload, that conditions test. Times have a time zone.

    `newer_versions` is the number of newer versions, the live one included. `noncurrent` is the time since
    which the object is noncurrent, or None.
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
    """An action: Delete, SetStorageClass (to `storage_class`) or AbortIncompleteMultipartUpload."""

    type: str
    storage_class: str | None = None


def due(rule: Mapping[str, Any], properties: ObjectProperties, now: datetime) -> bool:
    """Return whether all conditions of a rule hold."""
    return all(_holds(name, value, properties, now) for name, value in rule["condition"].items())


def action_on(
    rules: Iterable[Mapping[str, Any]], properties: ObjectProperties, now: datetime
) -> Action | None:
    """Return the action for an object, or None. Delete comes first, then the change to the cheapest class."""
    actions: list[Action] = []
    for rule in rules:
        kind = rule["action"]["type"]
        if kind == "AbortIncompleteMultipartUpload" or not due(rule, properties, now):
            continue
        if kind == "Delete":
            return Action(type="Delete")
        target = rule["action"]["storageClass"]
        if _is_colder(target, properties.storage_class):
            actions.append(Action(type=kind, storage_class=target))
    return max(actions, key=lambda each: _COLDER.index(each.storage_class or ""), default=None)


def aborts(rules: Iterable[Mapping[str, Any]], properties: ObjectProperties, now: datetime) -> bool:
    """Return whether the rules abort an unfinished XML multipart upload."""
    return any(
        rule["action"]["type"] == "AbortIncompleteMultipartUpload" and due(rule, properties, now)
        for rule in rules
    )


def _holds(name: str, value: Any, properties: ObjectProperties, now: datetime) -> bool:
    match name:
        case "age":
            return _days_after(properties.created, value, now)
        case "createdBefore":
            return properties.created < _midnight(value)
        case "customTimeBefore":
            return properties.custom_time is not None and properties.custom_time < _midnight(value)
        case "daysSinceCustomTime":
            return properties.custom_time is not None and _days_after(properties.custom_time, value, now)
        case "daysSinceNoncurrentTime":
            return properties.noncurrent is not None and _days_after(properties.noncurrent, value, now)
        case "noncurrentTimeBefore":
            return properties.noncurrent is not None and properties.noncurrent < _midnight(value)
        case "isLive":
            return properties.is_live is bool(value)
        case "matchesPrefix":
            return properties.name.startswith(tuple(value))
        case "matchesSuffix":
            return properties.name.endswith(tuple(value))
        case "matchesStorageClass":
            return properties.storage_class in value
        case "numNewerVersions":
            return properties.newer_versions >= int(value)
    raise ValueError(f"{name} is not a condition of a lifecycle rule")


def _days_after(moment: datetime, days: int, now: datetime) -> bool:
    return days < _FOREVER and now - moment >= timedelta(days=days)


def _midnight(day: str) -> datetime:
    midnight = date.fromisoformat(day)
    return datetime(midnight.year, midnight.month, midnight.day, tzinfo=timezone.utc)


def _is_colder(target: str, present: str) -> bool:
    """Return whether a class is cheaper than the present one. The legacy classes count as STANDARD."""
    old = 0 if present not in _COLDER else _COLDER.index(present)
    return target in _COLDER and _COLDER.index(target) > old


log = logging.getLogger(__name__)

KEPT_BY_DEFAULT = 2 << 30
"""The most bytes of soft-deleted objects kept in all buckets whose owners have not chosen soft deletion."""

_MIN_FREE_BYTES = 512 << 20
"""With fewer bytes free on the disk, objects are kept only in buckets whose owners chose soft deletion."""
_LIFECYCLE_HOURS = 1
_BATCH = 500
PAUSE_SECONDS = 1.0
"""The least number of real seconds between two runs."""


class UnfinishedUploads(Protocol):
    """The XML multipart uploads that are not finished."""

    def unfinished(self, bucket: str) -> Sequence[tuple[str, str, str]]:
        """Return the id, object name and start time of each upload in a bucket."""

    def abort(self, identifier: str) -> None:
        """Remove an upload with its parts."""

    def remove_orphans(self) -> None:
        """Remove the uploads of deleted buckets."""


class Housekeeper:
    """Carries out the lifecycle rules and expiries that are due."""

    def __init__(
        self,
        object_store: ObjectStore,
        *,
        uploads: UnfinishedUploads | None = None,
        kept_by_default: int = KEPT_BY_DEFAULT,
    ) -> None:
        self._object_store = object_store
        self._store = object_store.store
        self._uploads = uploads
        self._kept_by_default = kept_by_default
        self._lock = threading.Lock()
        self._last_run: datetime | None = None

    def tidy(self) -> None:
        """Carry out everything that is due. An error is logged, and the rest is tried again later."""
        with self._lock:
            try:
                self._last_run = self._store.clock.moment()
                for bucket in self._store.all_buckets():
                    if rules := bucket.settings.get("lifecycle", {}).get("rule"):
                        self._object_store.files.step("apply lifecycle rules")
                        try:
                            self._apply(bucket, rules)
                        except StorageError as error:  # it was deleted meanwhile
                            log.info("gs://%s: lifecycle rules were not carried out: %s", bucket.name, error)
                self._purge()
            except Exception:
                log.exception("Housekeeping of Cloud Storage was not finished")

    def do_what_is_due(self) -> Next:
        """Carry out lifecycle rules once an hour, and remove expired soft-deleted objects."""
        pause = timedelta(hours=_LIFECYCLE_HOURS)
        has_rules = any("lifecycle" in bucket.settings for bucket in self._store.all_buckets())
        now = self._store.clock.moment()
        if has_rules and (self._last_run is None or not timedelta() <= now - self._last_run < pause):
            self.tidy()
        else:
            with self._lock:
                self._purge()
        at = self._store.soft_deletions.next()
        moments = [times.parse(at)] if at is not None else []
        if has_rules and self._last_run is not None:
            moments.append(self._last_run + pause)
        return Next(at=int(min(moments).timestamp() * 1e6)) if moments else Next()

    # --- soft deletion

    def _purge(self) -> None:
        if self._uploads is not None:
            self._uploads.remove_orphans()
        while expired := self._store.soft_deletions.objects(most=_BATCH):
            for stored in expired:
                self._remove(stored)
        for bucket in self._store.soft_deletions.buckets():
            with self._store.locked(bucket.name):
                self._object_store.remove_bucket(bucket)
        self._keep_within_bounds()

    def _keep_within_bounds(self) -> None:
        kept = self._store.soft_deletions.bytes_kept_by_default()
        if not kept:
            return
        free = shutil.disk_usage(self._object_store.files.folder.root).free
        bound = self._kept_by_default if free >= _MIN_FREE_BYTES else 0
        if kept <= bound:
            return
        size = 0
        for stored in self._store.soft_deletions.kept_by_default():
            size += stored.size
            if size > bound:
                log.info(
                    "gs://%s/%s#%d: the deleted object cannot be restored, because it exceeds the space for "
                    "deleted objects",
                    stored.bucket,
                    stored.name,
                    stored.generation,
                )
                self._remove(stored)
                size -= stored.size

    def _remove(self, stored: StoredObject) -> None:
        with self._store.locked(stored.bucket.partition("#")[0]):
            self._object_store.remove_for_good(stored)

    # --- lifecycle

    def _apply(self, bucket: Bucket, rules: Sequence[dict[str, Any]]) -> None:
        self._object_store.adopt_files(bucket.name)
        now = self._store.clock.moment()
        classes_are_ours = bucket.settings.get("autoclass", {}).get("enabled", False)
        for stored, newer in self._versions(bucket.name):
            action = action_on(rules, properties_of(stored, newer), now)
            if action is None or (action.type == "SetStorageClass" and classes_are_ours):
                continue
            self._object_store.files.step("carry out lifecycle action")
            with self._store.locked(bucket.name):
                self._carry_out(action, stored)
        if self._uploads is None:
            return
        for identifier, name, begun in self._uploads.unfinished(bucket.name):
            if aborts(rules, ObjectProperties(name=name, created=times.parse(begun)), now):
                self._uploads.abort(identifier)

    def _versions(self, bucket: str) -> Iterator[tuple[StoredObject, int]]:
        """Yield every live and noncurrent object with the number of newer versions of its name."""
        objects = self._store.objects(bucket, versions=True)
        for _, group in groupby(objects, key=lambda stored: stored.name):
            versions = list(group)
            for index, stored in enumerate(versions):
                yield stored, len(versions) - 1 - index

    def _carry_out(self, action: Action, stored: StoredObject) -> None:
        if stored.live:  # a program may have written to its file since the rules were evaluated
            current = self._object_store.current(stored.bucket, stored.name)
            if current is not None and current.generation != stored.generation:
                return
        else:
            current = self._store.generation(stored.bucket, stored.name, stored.generation)
        if current is None or (current.metageneration, current.live) != (stored.metageneration, stored.live):
            return
        if action.type == "SetStorageClass":
            self._object_store.update(current, {**current.settings, "storageClass": action.storage_class})
            return
        try:
            keep = current.live and self._store.bucket(stored.bucket).keeps_versions
            self._object_store.remove(current, keep_version=keep)
        except StorageError as error:
            log.info("gs://%s/%s: a lifecycle rule did not delete it: %s", stored.bucket, stored.name, error)


def properties_of(stored: StoredObject, newer: int) -> ObjectProperties:
    """Return the properties of an object with `newer` newer versions."""
    custom = stored.settings.get("customTime")
    return ObjectProperties(
        name=stored.name,
        created=times.parse(stored.created),
        is_live=stored.live,
        storage_class=stored.settings.get("storageClass", "STANDARD"),
        newer_versions=newer,
        noncurrent=None if stored.deleted is None else times.parse(stored.deleted),
        custom_time=None if custom is None else times.parse(custom),
    )
