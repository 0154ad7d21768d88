"""The object store, which changes records and files together so that they agree.

The order of steps makes sure that a kill at any moment leaves each object complete, old or new. Storing
commits the record first, which names the file in objects-incoming, and then moves the file; the next start
completes this (`recovery`). Deleting without keeping a version removes the file first: a record without a
file is removed at the next access, as if a replica had deleted the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from vertex_emulator.kernel.disk import lost
from vertex_emulator.kernel.disk.trees import is_empty, remove_tree
from vertex_emulator.services.storage.disk import soft_deletion
from vertex_emulator.services.storage.disk.adoption import Adoption
from vertex_emulator.services.storage.disk.checksums import Known, Sums
from vertex_emulator.services.storage.disk.files import (
    ObjectFiles,
    aside_name,
    is_aside,
    natural_path,
    state_of,
)
from vertex_emulator.services.storage.disk.folders import FOLDER, is_folder
from vertex_emulator.services.storage.disk.preconditions import (
    Preconditions,
    check_deletable,
    check_retention_allowed,
    retained_until,
)
from vertex_emulator.services.storage.disk.records import Bucket, FileState, StoredObject
from vertex_emulator.services.storage.disk.store import Store
from vertex_emulator.services.storage.errors import no_object

Finish = Callable[["int | None"], object]
"""Records the generation that an upload became, or None if storing failed after all.

It is called in the transaction that records the object.
"""


@dataclass(frozen=True, kw_only=True)
class Content:
    """The complete content of an object to store, in a file in objects-incoming."""

    path: Path
    state: FileState
    sums: Sums


class ObjectStore(Adoption):
    """The objects of all buckets."""

    def __init__(self, store: Store, files: ObjectFiles) -> None:
        super().__init__(store, files)
        self.on_soft_delete: Callable[[], object] = lambda: None
        """Called when there is work for the housekeeper, such as a soft-deleted object."""

    def open(self, stored: StoredObject) -> BinaryIO:
        """Open the content for reading. Later changes of the object do not affect it."""
        self.files.step("open object")
        if stored.aside is not None:
            file = self.files.open_aside(stored.aside)
        else:
            file = self.files.open(stored.bucket, _components(stored))
        if file is None:
            raise no_object(stored.bucket, stored.name)
        return file

    def put(
        self,
        bucket: str,
        name: str,
        content: Content,
        *,
        settings: Mapping[str, Any],
        preconditions: Preconditions,
        finish: Finish | None = None,
        components: int | None = None,
    ) -> StoredObject:
        """Store an object.

        `finish` records the end of its upload. `components` is the number of objects that it is composed of.
        Raises `StorageError` 403, 404, 412.
        """
        self.hash_large_file(bucket, name)
        with self.store.locked(bucket):
            owner = self.store.bucket(bucket)
            old = self.current(bucket, name)
            preconditions.check(old)
            new = self._new(owner, name, content, settings=settings, components=components)
            self._exchange(new, content.path, old=old, owner=owner, finish=finish)
            return new

    def move(
        self, stored: StoredObject, name: str, *, settings: Mapping[str, Any], preconditions: Preconditions
    ) -> StoredObject:
        """Rename an object; nothing remains under the old name. Needs the lock.

        Raises `StorageError` 403, 412.
        """
        owner = self.store.bucket(stored.bucket)
        old = self.current(stored.bucket, name)
        preconditions.check(old)
        check_deletable(stored, now=self.store.clock.now())
        path = self.files.new_incoming()
        if stored.aside is None:
            self.files.link_out(stored.bucket, _components(stored), path)
        else:
            os.link(self.files.aside_path(stored.aside), path, follow_symlinks=False)
        state = stored.state
        if state == FOLDER:
            with path.open("rb") as file:
                state = state_of(file)
        content = Content(
            path=path, state=state, sums=Known(size=stored.size, crc32c=stored.crc32c, md5=stored.md5)
        )
        try:
            new = self._new(owner, name, content, settings=settings, components=stored.components)
            new = replace(new, moved_from=stored.name)
            self._exchange(new, path, old=old, owner=owner, moved=stored)
        finally:
            path.unlink(missing_ok=True)
        self.files.step("remove moved file")
        self._leave_path(stored)
        if stored.aside is not None:
            self.files.remove_aside(stored.aside)
        new = replace(new, moved_from=None)
        self.store.put_object(new)
        return new

    def _new(
        self,
        owner: Bucket,
        name: str,
        content: Content,
        *,
        settings: Mapping[str, Any],
        components: int | None,
    ) -> StoredObject:
        check_retention_allowed(settings, owner)
        generation = self.store.next_generation()
        state = self.files.place(owner.name, name, content.state)
        moment = self.store.clock.now()
        return StoredObject(
            bucket=owner.name,
            name=name,
            generation=generation,
            crc32c=content.sums.crc32c,
            md5=content.sums.md5,
            created=moment,
            updated=moment,
            settings=soft_deletion.with_access_list(owner, {**soft_deletion.defaults(owner), **settings}),
            aside=aside_name(owner.name, name, generation) if state is None else None,
            incoming=content.path.name,
            state=content.state if state is None else state,
            components=components,
            retained_until=retained_until(owner, moment),
        )

    def _exchange(
        self,
        new: StoredObject,
        path: Path,
        *,
        old: StoredObject | None,
        owner: Bucket,
        finish: Finish | None = None,
        moved: StoredObject | None = None,
    ) -> None:
        """Record `new`, whose content is at `path`, instead of `old`, and remove the record of `moved`."""
        kept = None
        if old is not None:
            if not owner.keeps_versions:
                check_deletable(old, now=new.created)
            kept = soft_deletion.remaining_record(old, owner, new.created, keep_version=owner.keeps_versions)
        self.files.step("record object")
        with self.store.transaction():
            for before in (old, moved):
                if before is not None:
                    self.store.remove_object(before)
            if kept is not None:
                self.store.put_object(kept)
            self.store.put_object(new)
            if finish is not None:
                finish(new.generation)
        self.files.step("move file in")
        try:
            self._move_in(new, path, old=old, kept=kept)
        except OSError:
            self._take_back(new, old=old, kept=kept, finish=finish, moved=moved)
            raise
        if kept is not None and kept.soft_deleted is not None:
            self.on_soft_delete()

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
        finish: Finish | None,
        moved: StoredObject | None,
    ) -> None:
        with self.store.transaction():
            if finish is not None:
                finish(None)
            self.store.remove_object(new)
            if kept is not None:
                self.store.remove_object(kept)
            for before in (old, moved):
                if before is not None:
                    self.store.put_object(before)
        if kept is not None and kept.aside is not None and old is not None and old.aside is None:
            with suppress(OSError):
                self.files.remove_aside(kept.aside)

    def update(self, stored: StoredObject, settings: Mapping[str, Any]) -> StoredObject:
        """Record other settings and the next metageneration, and return the object. Needs the lock."""
        moment = self.store.clock.now()
        changed = replace(
            stored,
            settings=settings,
            metageneration=stored.metageneration + 1,
            updated=moment,
        )
        if settings.get("storageClass") != stored.settings.get("storageClass"):
            changed = replace(changed, class_updated=moment)
        if stored.settings.get("eventBasedHold") and not settings.get("eventBasedHold"):
            until = retained_until(self.store.bucket(stored.bucket), moment)
            changed = replace(changed, retained_from=moment, retained_until=until)
        self.store.put_object(changed)
        return changed

    def remove(self, stored: StoredObject, *, keep_version: bool) -> None:
        """Delete an object, or with `keep_version` make it noncurrent. Needs the lock.

        With a soft delete policy, a deleted object can be restored. Raises `StorageError` 403.
        """
        owner = self.store.bucket(stored.bucket)
        moment = self.store.clock.now()
        if not keep_version:
            check_deletable(stored, now=moment)
        kept = soft_deletion.remaining_record(stored, owner, moment, keep_version=keep_version)
        if kept is None:
            self.remove_for_good(stored)
            return
        self.store.put_object(kept)
        folder = stored.name.endswith("/")
        try:
            if folder:  # before its content is kept: the next start must not take it for a new folder
                self._leave_path(stored)
            if stored.aside is None and kept.aside is not None:
                self.files.keep(stored.bucket, _components(stored), kept.aside)
        except OSError:
            self.store.put_object(stored)
            raise
        if not folder:
            self._leave_path(stored)
        if kept.soft_deleted is not None:
            self.on_soft_delete()

    def remove_for_good(self, stored: StoredObject) -> None:
        """Remove record and content permanently. Needs the lock."""
        self._leave_path(stored)
        self.store.remove_object(stored)
        if stored.aside is not None:
            self.files.remove_aside(stored.aside)

    def _leave_path(self, stored: StoredObject) -> None:
        """Remove the object's file, or its folder, which it may also have if its content is aside."""
        components = natural_path(stored.name)
        if components is None or not stored.live:
            return
        if stored.aside is None or is_folder(components):
            self.files.remove(stored.bucket, components)

    def remove_bucket(self, bucket: Bucket) -> None:
        """Remove a bucket, whose only objects are soft-deleted. Needs the lock."""
        left = list(self.store.soft_deletions.contents(bucket.record))
        uploads = self.store.unfinished_uploads(bucket.record)
        self.files.step("remove bucket record")
        self.store.remove_bucket(bucket.record)
        self.remove_incoming(uploads)
        if bucket.soft_deleted is None:
            self.files.remove_bucket(bucket.name)
        for aside in left:
            self.files.remove_aside(aside)

    def remove_incoming(self, uploads: Sequence[str]) -> None:
        """Remove the files of resumable uploads that have no record any longer."""
        for identifier in uploads:
            self.files.incoming_path(identifier).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove all buckets and objects, and all other files in their folders.

        A folder that is no bucket's is put aside if it has files: a person may have made it.
        """
        self.files.step("remove everything")
        with ExitStack() as stack:
            recorded = {bucket.name for bucket in self.store.all_buckets()}
            for name in recorded:
                stack.enter_context(self.store.locked(name))
            folders = list(self.files.folder.buckets.iterdir())
            own = [path for path in folders if path.name in recorded or is_empty(path)]
            lost.put_aside(self.files.folder, (path for path in folders if path not in own))
            left = [self.files.move_away(path) for path in own]
            uploads = self.store.unfinished_uploads()
            self.files.step("remove all records")
            self.store.remove_all()  # after the folders: a kill must not leave files for new buckets
            self.files.step("remove all files")
            self.remove_incoming(uploads)
            for path in (*left, *filter(is_aside, self.files.folder.aside.iterdir())):
                remove_tree(path)
        self.on_soft_delete()  # the housekeeper removes the multipart uploads to these buckets


def _components(stored: StoredObject) -> tuple[str, ...]:
    components = natural_path(stored.name)
    if components is None:
        raise ValueError(f"{stored.name!r} has no natural path")
    return components
