"""Adoption of files and folders that replicas write, change and delete under /gcs.

A file or a new folder becomes an object at the next access to it. Content that a program overwrote in place
is lost by then: it leaves no noncurrent version and nothing to restore, and holds and retention do not
protect it.

On a full disk nothing can be recorded once half of the reserve is used. Then reads of one object describe the
file as it is, and listings have what is recorded.
"""

from __future__ import annotations

import logging
import mimetypes
import sqlite3
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.services.storage.disk import checksums, folders, preconditions, soft_deletion
from vertex_emulator.services.storage.disk.checksums import Known, Sums
from vertex_emulator.services.storage.disk.files import ObjectFiles, natural_path, state_of
from vertex_emulator.services.storage.disk.folders import FOLDER
from vertex_emulator.services.storage.disk.records import FileState, StoredObject
from vertex_emulator.services.storage.disk.store import Store
from vertex_emulator.services.storage.errors import no_object

log = logging.getLogger(__name__)

_TRIES = 3
_LARGE = 8 << 20
_SMALL = 1 << 16
_TOGETHER = 128
"""The number of small new files in one transaction, during which others wait for the database."""
_MAX_CACHED = 64
_READS_LEAVE = 0.5
"""The part of the reserve that is left for deletions."""
_TYPES = mimetypes.MimeTypes()
"""Python's own table rather than the machine's, so that a name has the same type everywhere."""


class Adoption:
    """Compares records with files. Checksums of large files are computed without the bucket's lock."""

    def __init__(self, store: Store, files: ObjectFiles) -> None:
        self.store = store
        self.files = files
        self._sums: OrderedDict[tuple[str, str, FileState], Known] = OrderedDict()
        self._sums_lock = threading.Lock()
        self._unrecorded: OrderedDict[tuple[str, str], StoredObject] = OrderedDict()

    def current(self, bucket: str, name: str) -> StoredObject | None:
        """Return the live object, updated from its file, which replicas may have changed. Needs the lock."""
        row = self.store.live(bucket, name)
        components = natural_path(name)
        if components is None:
            return row
        state = self.files.state(bucket, components)
        with self._recording(bucket):
            return self._reconciled(bucket, name, row, state)
        return self._described(bucket, name, row)

    @contextmanager
    def _recording(self, bucket: str) -> Iterator[None]:
        """Record in the block what replicas changed. It is left early if the disk is too full for that."""
        try:
            with self.store.reserve.spend(keep=_READS_LEAVE):
                yield
        except (OSError, sqlite3.Error) as error:
            if not is_out_of_space(error):
                raise
            log.warning("The disk is full: not every file in gs://%s is recorded", bucket)

    def _described(self, bucket: str, name: str, row: StoredObject | None) -> StoredObject | None:
        """Return the object of a file without recording it."""
        try:
            described = self._of_file(bucket, name)
        except FileNotFoundError:
            return row if row is not None and row.aside is not None else None
        if described is not None:
            self._unrecorded[bucket, name] = described
            while len(self._unrecorded) > _MAX_CACHED:
                self._unrecorded.popitem(last=False)
        return described

    def get(self, bucket: str, name: str, generation: int | None = None) -> StoredObject:
        """Return the live object, or its version `generation`. Needs the lock. Raises `StorageError` 404."""
        stored = self.current(bucket, name)
        if generation is not None and (stored is None or stored.generation != generation):
            stored = self.store.generation(bucket, name, generation)
        if stored is None:
            self.store.bucket(bucket)  # raises another 404 without the bucket
            raise no_object(bucket, name)
        return stored

    def hash_large_file(self, bucket: str, name: str) -> None:
        """Compute the checksums of a large file that a replica wrote, without the lock that others need."""
        components = natural_path(name)
        state = None if components is None else self.files.state(bucket, components)
        if components is None or state is None or state.size < _LARGE:
            return
        row = self.store.live(bucket, name)
        if row is not None and row.aside is None and row.state == state:
            return
        with suppress(PermissionError):
            if (file := self.files.open(bucket, components)) is not None:
                with file:
                    self.files.step("read large file")
                    sums = checksums.of_file(file)
                    if state == state_of(file) and sums.size == state.size:
                        known = Known(size=sums.size, crc32c=sums.crc32c, md5=sums.md5)
                        with self._sums_lock:
                            self._sums[bucket, name, state] = known
                            while len(self._sums) > _MAX_CACHED:
                                self._sums.popitem(last=False)

    def _known_sums(self, bucket: str, name: str, state: FileState) -> Sums | None:
        """Return the checksums from `hash_large_file`, or None."""
        with self._sums_lock:
            return self._sums.pop((bucket, name, state), None)

    def adopt_files(self, bucket: str, prefix: str = "") -> None:
        """Reconcile without the lock: others may use the bucket while large files are read."""
        large: list[str] = []
        with self.store.locked(bucket):
            self.reconcile(bucket, prefix, large=large)
        for name in large:
            self.hash_large_file(bucket, name)
            with self.store.locked(bucket):
                if self.store.find_bucket(bucket) is not None:
                    self.current(bucket, name)

    def reconcile(self, bucket: str, prefix: str = "", *, large: list[str] | None = None) -> None:
        """Update the records of all names that begin with `prefix` from their files. Needs the lock.

        With `large`, the names of large files that must be read are added to that list instead.
        """
        recorded = self.store.states(bucket, prefix)
        without_file = dict(recorded)
        small: list[tuple[str, FileState]] = []
        implicit: list[str] = []
        for name, state in self.files.changes(bucket, prefix, without_file, implicit):
            known = recorded.get(name)
            if known is None and state.size <= _SMALL:
                small.append((name, state))
                if len(small) == _TOGETHER:
                    self._all_new(bucket, small)
                    small.clear()
            elif large is not None and state.size >= _LARGE and (known is None or known[:3] != state):
                large.append(name)
            else:
                with self._recording(bucket):
                    row = self.store.live(bucket, name) if known else None
                    self._reconciled(bucket, name, row, state)
        if small:
            self._all_new(bucket, small)
        if removed := [name for name, (*_, is_aside) in without_file.items() if not is_aside]:
            with self._recording(bucket), self.store.transaction():
                for name in removed:
                    self._reconciled(bucket, name, self.store.live(bucket, name), None)
            self._adopt_renamed(bucket, implicit, sorted(recorded))

    def _adopt_renamed(self, bucket: str, implicit: Iterable[str], recorded: Sequence[str]) -> None:
        """Record implicit folders that a replica renamed: below the new name no object was recorded.

        As with gcsfuse, the renamed folder becomes an object, and implicit folders in it do not.
        """

        def has_old_objects(folder: str) -> bool:
            at = bisect_left(recorded, folder)
            return at < len(recorded) and recorded[at].startswith(folder)

        for name in implicit:
            *parents, folder, _ = name.split("/")
            parent = "".join(f"{each}/" for each in parents)
            if has_old_objects(name) or not has_old_objects(parent):
                continue
            if self.files.mark_explicit(bucket, (*parents, folder)):
                with self._recording(bucket):
                    self._reconciled(bucket, name, None, FOLDER)

    def _all_new(self, bucket: str, files: Iterable[tuple[str, FileState]]) -> None:
        with self._recording(bucket), self.store.transaction():
            for name, state in files:
                self._reconciled(bucket, name, None, state)

    def _reconciled(
        self, bucket: str, name: str, row: StoredObject | None, state: FileState | None
    ) -> StoredObject | None:
        if state is None:
            if row is None or row.aside is not None:
                return row
            log.info("gs://%s/%s: removed, because its file or folder was deleted", bucket, name)
            self.store.remove_object(row)
            return None
        if row is not None and (state == FOLDER or (row.aside is None and row.state == state)):
            return row
        return self._adopt(bucket, name, row)

    def _adopt(self, bucket: str, name: str, row: StoredObject | None) -> StoredObject | None:
        """Record a file that a replica wrote as an object with a new generation."""
        try:
            stored = self._of_file(bucket, name)
        except FileNotFoundError:
            return self._reconciled(bucket, name, row, None)
        if stored is None:
            return None
        with self.store.transaction():
            if row is not None:
                self.store.remove_object(row)
            self.store.put_object(stored)
        self._unrecorded.pop((bucket, name), None)
        if row is not None and row.aside is not None:
            self.files.remove_aside(row.aside)
        return stored

    def _of_file(self, bucket: str, name: str) -> StoredObject | None:
        """Return the object that a file is to be, or None if it cannot be read.

        Raises `FileNotFoundError`.
        """
        components = natural_path(name)
        assert components is not None  # noqa: S101
        for _ in range(_TRIES):
            try:
                file = self.files.open(bucket, components)
            except PermissionError:
                log.warning("gs://%s/%s: not an object, because its file cannot be read", bucket, name)
                return None
            if file is None:
                raise FileNotFoundError(name)
            with file:
                state = state_of(file)
                seen = self._unrecorded.get((bucket, name))
                if seen is not None and seen.state == state:
                    return seen
                sums = self._known_sums(bucket, name, state) or checksums.of_file(file)
                if state == state_of(file) and sums.size == state.size:
                    break
        clock = self.store.clock
        moment = clock.now() if state == FOLDER else clock.file_time(state.mtime_ns)
        owner = self.store.bucket(bucket)
        return StoredObject(
            bucket=bucket,
            name=name,
            generation=self.store.next_generation(),
            crc32c=sums.crc32c,
            md5=sums.md5,
            created=moment,
            updated=moment,
            settings=soft_deletion.with_access_list(
                owner,
                {
                    "contentType": _content_type(name),
                    **soft_deletion.defaults(owner),
                },
            ),
            state=state._replace(size=sums.size),
            retained_until=preconditions.retained_until(owner, moment),
        )


def _content_type(name: str) -> str:
    if name.endswith("/"):
        return folders.CONTENT_TYPE
    return _TYPES.guess_type(name, strict=True)[0] or "application/octet-stream"
