"""Adoption of files that replicas write, change and delete under /gcs.

A file becomes an object at the next access to it. Content that a program overwrote in place is lost by then:
it leaves no noncurrent version and nothing to restore, and holds and retention do not protect it.
"""

from __future__ import annotations

import logging
import mimetypes
import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress

from vertex_emulator.storage.disk import checksums, preconditions, soft_deletion
from vertex_emulator.storage.disk.checksums import Known, Sums
from vertex_emulator.storage.disk.files import ObjectFiles, natural_path, state_of
from vertex_emulator.storage.disk.records import FileState, StoredObject
from vertex_emulator.storage.disk.store import Store
from vertex_emulator.storage.errors import no_object
from vertex_emulator.storage.names import after_prefix

log = logging.getLogger(__name__)

_TRIES = 3
_LARGE = 8 << 20
_SMALL = 1 << 16
_TOGETHER = 128
"""The number of small new files in one transaction, during which others wait for the database."""
_MAX_CACHED = 64
_TYPES = mimetypes.MimeTypes()
"""Python's own table rather than the machine's, so that a name has the same type everywhere."""


class Adoption:
    """Compares records with files. Checksums of large files are computed without the bucket's lock."""

    def __init__(self, store: Store, files: ObjectFiles) -> None:
        self.store = store
        self.files = files
        self._sums: OrderedDict[tuple[str, str, FileState], Known] = OrderedDict()
        self._sums_lock = threading.Lock()

    def current(self, bucket: str, name: str) -> StoredObject | None:
        """Return the live object, updated from its file, which replicas may have changed. Needs the lock."""
        row = self.store.live(bucket, name)
        components = natural_path(name)
        if components is None:
            return row
        return self._reconciled(bucket, name, row, self.files.state(bucket, components))

    def get(self, bucket: str, name: str, generation: int | None = None) -> StoredObject:
        """Return the live object, or that of `generation`. Needs the lock. Raises `StorageError` 404."""
        self.store.bucket(bucket)
        found = self.current(bucket, name)
        if generation is not None and (found is None or found.generation != generation):
            found = self.store.generation(bucket, name, generation)
        if found is None:
            raise no_object(bucket, name)
        return found

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
        folder = prefix.rpartition("/")[0]
        components = natural_path(folder) if folder else ()
        if components is None:
            return
        recorded = self.store.states(bucket, prefix, after_prefix(prefix))
        small: list[tuple[str, FileState]] = []
        for name, state in self.files.walk(bucket, components):
            if name.startswith(prefix):
                known = recorded.pop(name, None)
                if known == (*state, 0):
                    continue
                if known is None and state.size <= _SMALL:
                    small.append((name, state))
                    if len(small) == _TOGETHER:
                        self._all_new(bucket, small)
                        small.clear()
                elif large is not None and state.size >= _LARGE and (known is None or known[:3] != state):
                    large.append(name)
                else:
                    self._reconciled(bucket, name, self.store.live(bucket, name) if known else None, state)
        self._all_new(bucket, small)
        with self.store.transaction():
            for name, (*_, is_aside) in recorded.items():
                if not is_aside:
                    self._reconciled(bucket, name, self.store.live(bucket, name), None)

    def _all_new(self, bucket: str, files: Iterable[tuple[str, FileState]]) -> None:
        with self.store.transaction():
            for name, state in files:
                self._reconciled(bucket, name, None, state)

    def _reconciled(
        self, bucket: str, name: str, row: StoredObject | None, state: FileState | None
    ) -> StoredObject | None:
        if state is None:
            if row is None or row.aside is not None:
                return row
            log.info("gs://%s/%s: removed, because its file was deleted", bucket, name)
            self.store.remove_object(row)
            return None
        if row is not None and row.aside is None and row.state == state:
            return row
        return self._adopt(bucket, name, row)

    def _adopt(self, bucket: str, name: str, row: StoredObject | None) -> StoredObject | None:
        """Record a file that a replica wrote as an object with a new generation."""
        components = natural_path(name)
        assert components is not None  # noqa: S101
        for _ in range(_TRIES):
            try:
                file = self.files.open(bucket, components)
            except PermissionError:
                log.warning("gs://%s/%s: not an object, because its file cannot be read", bucket, name)
                return None
            if file is None:
                return self._reconciled(bucket, name, row, None)
            with file:
                state = state_of(file)
                sums = self._known_sums(bucket, name, state) or checksums.of_file(file)
                if state == state_of(file) and sums.size == state.size:
                    break
        moment = self.store.clock.file_time(state.mtime_ns)
        owner = self.store.bucket(bucket)
        stored = StoredObject(
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
                    "contentType": _TYPES.guess_type(name, strict=True)[0] or "application/octet-stream",
                    **soft_deletion.defaults(owner),
                },
            ),
            state=state._replace(size=sums.size),
            retained_until=preconditions.retained_until(owner, moment),
        )
        with self.store.transaction():
            if row is not None:
                self.store.remove_object(row)
            self.store.put_object(stored)
        if row is not None and row.aside is not None:
            self.files.remove_aside(row.aside)
        return stored
