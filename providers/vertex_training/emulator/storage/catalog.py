"""Objects as records and files together: the one place that changes both, so that they agree.

Order of steps, so that a kill at any moment leaves each object whole, old or new:
storing commits the record first, naming the file that is still in objects-incoming, and then moves the file;
what was left undone is done at the next start (`recovery`). Deleting without keeping a version removes the
file first: a record without a file is dropped when it is next looked at, as when a replica deletes the file.
"""

from __future__ import annotations

import logging
import mimetypes
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from vertex_training.emulator.storage import checksums
from vertex_training.emulator.storage.checksums import Checksums
from vertex_training.emulator.storage.errors import no_object
from vertex_training.emulator.storage.files import ObjectFiles, aside_name, natural, state_of
from vertex_training.emulator.storage.names import after_prefix
from vertex_training.emulator.storage.preconditions import Preconditions
from vertex_training.emulator.storage.records import FileState, StoredObject
from vertex_training.emulator.storage.store import Store
from vertex_training.emulator.trees import remove_tree

log = logging.getLogger(__name__)

_TRIES = 3
_TYPES = mimetypes.MimeTypes()
"""Python's own table, not the machine's: the same name has the same type everywhere."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """The bytes of an object to store, complete in a file in objects-incoming."""

    path: Path
    state: FileState
    sums: Checksums


class Catalog:
    """The objects of all buckets."""

    def __init__(self, store: Store, files: ObjectFiles) -> None:
        self.store = store
        self.files = files

    def current(self, bucket: str, name: str) -> StoredObject | None:
        """The live object after a look at its file, which replicas may have changed. Needs the lock."""
        row = self.store.live(bucket, name)
        components = natural(name)
        if components is None:
            return row
        return self._reconciled(bucket, name, row, self.files.state(bucket, components))

    def get(self, bucket: str, name: str, generation: int | None = None) -> StoredObject:
        """The live object, or the one of `generation`. Needs the lock. Raises `StorageError` 404."""
        self.store.bucket(bucket)
        found = self.current(bucket, name)
        if generation is not None and (found is None or found.generation != generation):
            found = self.store.generation(bucket, name, generation)
        if found is None:
            raise no_object(bucket, name)
        return found

    def open(self, stored: StoredObject) -> BinaryIO:
        """The content, open for reading: what happens to the object later does not change what is read."""
        if stored.aside is not None:
            file = self.files.open_aside(stored.aside)
        else:
            file = self.files.open(stored.bucket, _components(stored))
        if file is None:
            raise no_object(stored.bucket, stored.name)
        return file

    def reconcile(self, bucket: str, prefix: str = "") -> None:
        """Take in what replicas did to the files of all names that begin with `prefix`. Needs the lock."""
        folder = prefix.rpartition("/")[0]
        components = natural(folder) if folder else ()
        if components is None:
            return
        recorded = {
            stored.name: stored
            for stored in self.store.objects(bucket, start=prefix, end=after_prefix(prefix))
            if stored.aside is None or natural(stored.name) is not None
        }
        for name, state in self.files.walk(bucket, components):
            if name.startswith(prefix):
                self._reconciled(bucket, name, recorded.pop(name, None), state)
        with self.store.transaction():
            for stored in recorded.values():
                self._reconciled(bucket, stored.name, stored, None)

    def _reconciled(
        self, bucket: str, name: str, row: StoredObject | None, state: FileState | None
    ) -> StoredObject | None:
        if state is None:
            if row is None or row.aside is not None:
                return row
            log.info("gs://%s/%s: its file is gone", bucket, name)
            self.store.remove_object(row)
            return None
        if row is not None and row.aside is None and row.state == state:
            return row
        return self._adopt(bucket, name, row)

    def _adopt(self, bucket: str, name: str, row: StoredObject | None) -> StoredObject | None:
        """Make a file that a replica wrote an object of a new generation."""
        components = natural(name)
        assert components is not None  # noqa: S101
        for _ in range(_TRIES):
            try:
                file = self.files.open(bucket, components)
            except PermissionError:
                log.warning("gs://%s/%s: its file cannot be read, so it is no object", bucket, name)
                return None
            if file is None:
                return self._reconciled(bucket, name, row, None)
            with file:
                state = state_of(file)
                sums = checksums.of_file(file)
                if state == state_of(file) and sums.size == state.size:
                    break
        moment = self.store.clock.of_file(state.mtime_ns)
        stored = StoredObject(
            bucket=bucket,
            name=name,
            generation=self.store.next_generation(),
            crc32c=sums.crc32c,
            md5=sums.md5,
            created=moment,
            updated=moment,
            settings={
                "contentType": _TYPES.guess_type(name, strict=True)[0] or "application/octet-stream",
                "storageClass": self.store.bucket(bucket).settings["storageClass"],
            },
            state=replace(state, size=sums.size),
        )
        with self.store.transaction():
            if row is not None:
                self.store.remove_object(row)
            self.store.put_object(stored)
        if row is not None and row.aside is not None:
            self.files.remove_aside(row.aside)
        return stored

    def put(
        self,
        bucket: str,
        name: str,
        content: Content,
        *,
        settings: Mapping[str, Any],
        preconditions: Preconditions,
        upload: str | None = None,
    ) -> StoredObject:
        """Store an object; the resumable upload `upload` is then finished. Raises `StorageError` 404, 412."""
        with self.store.locked(bucket):
            owner = self.store.bucket(bucket)
            old = self.current(bucket, name)
            preconditions.check(old)
            generation = self.store.next_generation()
            components = natural(name)
            fits = components is not None and self.files.make_room(bucket, components)
            moment = self.store.clock.now()
            new = StoredObject(
                bucket=bucket,
                name=name,
                generation=generation,
                crc32c=content.sums.crc32c,
                md5=content.sums.md5,
                created=moment,
                updated=moment,
                settings={"storageClass": owner.settings["storageClass"], **settings},
                aside=None if fits else aside_name(bucket, name, generation),
                incoming=content.path.name,
                state=content.state,
            )
            kept = self._noncurrent(old, moment) if old is not None and owner.keeps_versions else None
            with self.store.transaction():
                if old is not None:
                    self.store.remove_object(old)
                if kept is not None:
                    self.store.put_object(kept)
                self.store.put_object(new)
                if upload is not None:
                    self.store.finish_upload(upload, generation)
            try:
                self._move_in(new, content.path, old=old, kept=kept)
            except OSError:
                self._take_back(new, old=old, kept=kept, upload=upload)
                raise
            return new

    def _move_in(
        self, new: StoredObject, path: Path, *, old: StoredObject | None, kept: StoredObject | None
    ) -> None:
        if kept is not None and kept.aside is not None and old is not None and old.aside is None:
            self.files.keep(old.bucket, _components(old), kept.aside)
        if new.aside is None:
            self.files.put(path, new.bucket, _components(new))
        else:
            path.rename(self.files.aside_path(new.aside))
        if old is None:
            return
        if old.aside is None and new.aside is not None:
            self.files.remove(old.bucket, _components(old))
        elif old.aside is not None and kept is None:
            self.files.remove_aside(old.aside)

    def _take_back(
        self,
        new: StoredObject,
        *,
        old: StoredObject | None,
        kept: StoredObject | None,
        upload: str | None,
    ) -> None:
        with self.store.transaction():
            if upload is not None:
                self.store.finish_upload(upload, None)
            self.store.remove_object(new)
            if kept is not None:
                self.store.remove_object(kept)
            if old is not None:
                self.store.put_object(old)
        if kept is not None and kept.aside is not None and old is not None and old.aside is None:
            with suppress(OSError):
                self.files.remove_aside(kept.aside)

    def update(self, stored: StoredObject, settings: Mapping[str, Any]) -> StoredObject:
        """The object with other settings and the next metageneration. Needs the lock."""
        changed = replace(
            stored,
            settings=settings,
            metageneration=stored.metageneration + 1,
            updated=self.store.clock.now(),
        )
        self.store.put_object(changed)
        return changed

    def remove(self, stored: StoredObject, *, keep_version: bool) -> None:
        """Delete an object, or with `keep_version` make it noncurrent. Needs the lock."""
        if keep_version:
            kept = self._noncurrent(stored, self.store.clock.now())
            self.store.put_object(kept)
            if stored.aside is None and kept.aside is not None:
                try:
                    self.files.keep(stored.bucket, _components(stored), kept.aside)
                except OSError:
                    self.store.put_object(stored)
                    raise
                self.files.remove(stored.bucket, _components(stored))
        elif stored.aside is None:
            self.files.remove(stored.bucket, _components(stored))
            self.store.remove_object(stored)
        else:
            self.store.remove_object(stored)
            self.files.remove_aside(stored.aside)

    def remove_all(self) -> None:
        """Remove all buckets and objects, and what replicas made beside them."""
        with ExitStack() as stack:
            for bucket in self.store.all_buckets():
                stack.enter_context(self.store.locked(bucket.name))
            left = [self.files.put_away(path) for path in list(self.files.folder.buckets.iterdir())]
            self.store.remove_all()  # only now: a kill must not leave files for buckets of the same names
            for path in (*left, *self.files.folder.aside.iterdir()):
                remove_tree(path)

    def _noncurrent(self, stored: StoredObject, moment: str) -> StoredObject:
        return replace(
            stored,
            live=False,
            deleted=moment,
            aside=stored.aside or aside_name(stored.bucket, stored.name, stored.generation),
        )


def _components(stored: StoredObject) -> tuple[str, ...]:
    components = natural(stored.name)
    if components is None:
        raise ValueError(f"{stored.name!r} has no natural path")
    return components
