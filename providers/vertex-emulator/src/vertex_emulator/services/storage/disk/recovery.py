"""Recovery at the start: steps that a killed emulator left undone are completed or rolled back."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.services.storage.disk.files import (
    ObjectFiles,
    aside_name,
    is_aside,
    is_incoming,
    natural_path,
)
from vertex_emulator.services.storage.disk.folders import FOLDER, is_folder
from vertex_emulator.services.storage.disk.records import StoredObject
from vertex_emulator.services.storage.disk.store import Store

log = logging.getLogger(__name__)

UPLOAD_LIFETIME = timedelta(days=7)
"""The age at which an unfinished resumable upload is removed, as in the service."""


def recover(store: Store, files: ObjectFiles) -> None:
    """Move the files of recorded objects, and remove files without a record."""
    files.remove_unrecorded_buckets(lambda name: store.find_bucket(name) is not None)
    _restore_versions(store, files)
    _finish_arrivals(store, files)
    _make_folders(store, files)
    _sweep(store, files)


def _restore_versions(store: Store, files: ObjectFiles) -> None:
    """Restore files of versions that are recorded as aside but are still at their natural path."""
    with os.scandir(files.folder.aside) as entries:
        links = {entry.name: entry.stat(follow_symlinks=False).st_nlink for entry in entries}
    for stored in list(store.objects_aside()):
        if stored.aside is None or links.get(stored.aside) == 1:
            continue
        if stored.aside in links:
            _finish_deletion(store, files, stored)
            continue
        if stored.incoming and files.incoming_path(stored.incoming).exists():
            continue
        components = natural_path(stored.name)
        state = None if components is None else files.state(stored.bucket, components)
        deleted = store.live(stored.bucket, stored.name) is None
        if components is not None and is_folder(components) and not stored.size:
            if deleted and state == FOLDER:
                files.remove(stored.bucket, components)
            files.keep(stored.bucket, components, stored.aside)
        elif components is not None and state == stored.state:
            files.keep(stored.bucket, components, stored.aside)
            if deleted:
                files.remove(stored.bucket, components)
        else:
            log.warning("gs://%s/%s#%d: the content is lost", stored.bucket, stored.name, stored.generation)
            store.remove_object(stored)


def _finish_deletion(store: Store, files: ObjectFiles, stored: StoredObject) -> None:
    """Remove the old name of a deleted object's file, which is also aside."""
    components = natural_path(stored.name)
    if components is None or stored.live or store.live(stored.bucket, stored.name) is not None:
        return
    if files.state(stored.bucket, components) == stored.state:
        files.remove(stored.bucket, components)


def _finish_arrivals(store: Store, files: ObjectFiles) -> None:
    """Move the files of recorded objects out of objects-incoming, and complete renames."""
    for stored in store.incoming_objects():
        path = files.incoming_path(stored.incoming or "")
        if stored.incoming and path.exists():
            arrive(store, files, stored)
    for stored in store.moving():
        components = natural_path(stored.moved_from or "")
        if components is None or store.live(stored.bucket, stored.moved_from or "") is not None:
            continue
        state = files.state(stored.bucket, components)
        empty = state is not None and not state.size and not stored.size
        if state == stored.state or (empty and FOLDER in (state, stored.state)):
            files.remove(stored.bucket, components)
    store.clear_incoming()


def _make_folders(store: Store, files: ObjectFiles) -> None:
    """Make the folders of objects that had none because a file was in the way."""
    for stored in list(store.objects_aside()):
        components = natural_path(stored.name)
        if components is None or not stored.live or not is_folder(components) or stored.aside is None:
            continue
        with suppress(OSError):  # it stays aside
            if (state := files.place(stored.bucket, stored.name, stored.state)) is not None:
                files.put(files.aside_path(stored.aside), stored.bucket, components)
                store.put_object(replace(stored, aside=None, state=state))


def placed(files: ObjectFiles, stored: StoredObject) -> StoredObject:
    """Return an object to record, with the name of its file if it cannot be at the natural path."""
    state = files.place(stored.bucket, stored.name, stored.state) if stored.live else None
    if state is not None:
        return replace(stored, state=state)
    return replace(stored, aside=aside_name(stored.bucket, stored.name, stored.generation))


def arrive(store: Store, files: ObjectFiles, stored: StoredObject) -> None:
    """Move the file of a recorded object out of objects-incoming."""
    path = files.incoming_path(stored.incoming or "")
    components = natural_path(stored.name)
    if stored.aside is None and components is not None and files.make_parents(stored.bucket, components):
        files.put(path, stored.bucket, components)
        return
    aside = stored.aside or aside_name(stored.bucket, stored.name, stored.generation)
    path.rename(files.aside_path(aside))
    if stored.aside is None:
        store.put_object(replace(stored, aside=aside))


def _sweep(store: Store, files: ObjectFiles) -> None:
    wanted = {stored.aside for stored in store.objects_aside()}
    for path in files.folder.aside.iterdir():
        if path.name not in wanted and is_aside(path):
            path.unlink()
    store.remove_uploads_before(rfc3339(store.clock.moment() - UPLOAD_LIFETIME))
    uploads = set(store.unfinished_uploads())
    for path in files.folder.incoming.iterdir():
        if path.name not in uploads and is_incoming(path):
            remove_tree(path)
