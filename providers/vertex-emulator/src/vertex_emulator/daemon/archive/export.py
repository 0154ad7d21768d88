"""Export of a snapshot. Jobs may run: their objects and logs are read as they are at one moment each."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from vertex_emulator.daemon.archive import tables
from vertex_emulator.daemon.archive.documents import FORMAT, VERSION
from vertex_emulator.daemon.archive.tar import ShorterError, Writer
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.jobs.custom.all_jobs import AllJobs
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import now
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.server.http.messages import HttpError
from vertex_emulator.services.container_registry.registry import Registry
from vertex_emulator.services.storage.disk.files import state_of
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import StoredObject, bucket_of, row_of
from vertex_emulator.services.storage.disk.store import PUT_OBJECT
from vertex_emulator.services.storage.errors import StorageError

_TRIES = 20
_PAUSE_SECONDS = 0.01


def export(
    file: BinaryIO,
    *,
    database: Database,
    jobs: AllJobs,
    object_store: ObjectStore,
    registry: Registry,
    version: str,
) -> None:
    """Write the whole state to `file`, which is open for reading and writing.

    `version` is the version of this package. Raises `OSError`, and `HttpError` 409 if a replica writes to an
    object without a pause.
    """
    archive = Writer(file)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "package": f"vertex-training {version}",
        "tables": tables.versions(database),
        "written": now(),
    }
    archive.add("manifest.json", json.dumps(manifest, indent=1).encode())
    staging = jobs.make_staging_folder()
    try:
        path = staging / "state.sqlite3"
        jobs.records()  # the states of jobs that have just ended
        with closing(tables.copy(database, path)) as copy:
            for (job_id,) in copy.execute("SELECT id FROM custom_jobs ORDER BY created"):
                _add_job(archive, job_id, jobs.folder(job_id))
            _add_objects(archive, file, copy, object_store)
            _add_blobs(archive, copy, registry)
            copy.execute("VACUUM")  # no deleted row leaves with the file
        with path.open("rb") as content:
            archive.add_file("state.sqlite3", content, path.stat().st_size)
    finally:
        remove_tree(staging)
    archive.close()


def _add_objects(
    archive: Writer, file: BinaryIO, copy: sqlite3.Connection, object_store: ObjectStore
) -> None:
    copy.row_factory = sqlite3.Row
    buckets = [bucket_of(row) for row in copy.execute("SELECT * FROM storage_buckets")]
    copy.row_factory = None
    number = 0
    for bucket in buckets:
        with object_store.store.locked(bucket.name):
            object_store.reconcile(bucket.name)
            for stored in list(object_store.store.objects(bucket.name, versions=True)):
                number += 1
                added = _add_object(archive, file, stored, object_store, f"{number:032x}")
                if added is not None:
                    copy.execute(PUT_OBJECT, row_of(added))


def _add_object(
    archive: Writer, file: BinaryIO, stored: StoredObject, object_store: ObjectStore, incoming: str
) -> StoredObject | None:
    """Add an object, and return its record in the copy. Read it again while a replica writes.

    Return None if a replica has removed it.
    """
    start = file.tell()
    for _ in range(_TRIES):
        current = stored if stored.aside is not None else object_store.current(stored.bucket, stored.name)
        if current is None:
            return None
        if _is_added(archive, current, object_store, incoming):
            return replace(current, aside=None, incoming=incoming, moved_from=None)
        file.seek(start)
        file.truncate()
        machine_clock.sleep(_PAUSE_SECONDS)
    raise HttpError(
        409,
        "",
        f"Nothing was exported: a job writes to gs://{stored.bucket}/{stored.name} without a pause. Export "
        "again when it has finished, or cancel it.",
    )


def _is_added(archive: Writer, stored: StoredObject, object_store: ObjectStore, incoming: str) -> bool:
    """Add an object. Return whether it was unchanged until its last byte was read."""
    try:
        with object_store.open(stored) as content:
            archive.add_file(f"objects/{incoming}", content, stored.size)
            return stored.aside is not None or state_of(content) == stored.state
    except (StorageError, ShorterError):
        return False
    except PermissionError as error:
        raise HttpError(
            409,
            "",
            f"Nothing was exported: the file of gs://{stored.bucket}/{stored.name} cannot be read. Make it "
            "readable, or remove it.",
        ) from error


def _add_blobs(archive: Writer, copy: sqlite3.Connection, registry: Registry) -> None:
    digests = copy.execute("SELECT digest FROM registry_blobs ORDER BY digest").fetchall()
    for number, (digest,) in enumerate(digests):
        path = registry.blob_path(digest)
        if path is None:
            raise HttpError(409, "", "Nothing was exported: an image was removed meanwhile. Export again.")
        with path.open("rb") as content:
            name = f"blobs/{digest.partition(':')[0]}/{number}"
            archive.add_file(name, content, path.stat().st_size)


def _add_job(archive: Writer, job_id: str, folder: JobFolder) -> None:
    with suppress(FileNotFoundError):
        archive.add(f"jobs/{job_id}/state.json", folder.state.read_bytes())
    for path in sorted(folder.logs.glob("*.jsonl")):
        _add_log(archive, f"jobs/{job_id}/logs/{path.name}", path)


def _add_log(archive: Writer, name: str, path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb") as log:  # the job may be deleted meanwhile
        archive.add_file(name, log, os.fstat(log.fileno()).st_size)
