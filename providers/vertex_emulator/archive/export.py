"""Export of the archive.

manifest.json               format, version, numbers of what follows
jobs/ID.json                project, location, and the job as the API has it
jobs/ID/state.json          its replicas
jobs/ID/logs/TASK.jsonl     the log of a task
buckets/N.json              a bucket
objects/N.json, objects/N   an object, or a noncurrent version of one, and its content
blobs/..., manifests/...    images (`images`)
resources/KIND/...          other resources of Vertex AI (`resources`)
repositories/N.json         a repository of Artifact Registry (`repositories`)

Soft-deleted objects are left out.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from google.protobuf import json_format

from vertex_emulator.archive.documents import FORMAT, VERSION
from vertex_emulator.archive.repositories import export_images, export_repositories
from vertex_emulator.archive.resources import export_resources
from vertex_emulator.archive.tar import ShorterError, Writer
from vertex_emulator.artifact_registry.store import Store
from vertex_emulator.container_registry.registry import Registry
from vertex_emulator.custom_jobs.all_jobs import AllJobs
from vertex_emulator.http.messages import HttpError
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import now
from vertex_emulator.rpc import descriptors
from vertex_emulator.storage.disk.files import state_of
from vertex_emulator.storage.disk.object_store import ObjectStore
from vertex_emulator.storage.disk.records import Bucket, StoredObject
from vertex_emulator.storage.errors import StorageError
from vertex_emulator.vertex.records import Record

_TRIES = 20
_PAUSE_SECONDS = 0.01


def export(
    file: BinaryIO,
    *,
    jobs: AllJobs,
    object_store: ObjectStore,
    registry: Registry,
    repositories: Store,
    version: str,
) -> None:
    """Write the whole state to `file`, which is open for reading and writing.

    `version` is the version of this package. Raises `OSError`, and `HttpError` 409 if a replica writes to an
    object without a pause.
    """
    archive = Writer(file)
    records, buckets = jobs.records(), object_store.store.all_buckets()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "writtenBy": f"vertex-training {version}",
        "written": now(),
        "jobs": len(records),
        "buckets": len(buckets),
    }
    _add(archive, "manifest.json", manifest)
    for record in reversed(records):  # the oldest first, which is the order of their numbers after the import
        _add_job(archive, record, jobs.folder(record.id))
    export_resources(archive, jobs.archived)
    number = 0
    for index, bucket in enumerate(buckets):
        _add(archive, f"buckets/{index}.json", _bucket(bucket))
        with object_store.store.locked(bucket.name):
            object_store.reconcile(bucket.name)
            for stored in list(object_store.store.objects(bucket.name, versions=True)):
                number += _add_object(archive, file, stored, object_store, number + 1)
    export_repositories(archive, repositories)
    export_images(archive, registry)
    archive.close()


def _add_object(
    archive: Writer, file: BinaryIO, stored: StoredObject, object_store: ObjectStore, number: int
) -> bool:
    """Add an object, unless a replica removed it: then return False. Read it again while a replica writes."""
    start = file.tell()
    for _ in range(_TRIES):
        current = stored if stored.aside is not None else object_store.current(stored.bucket, stored.name)
        if current is None:
            return False
        if _is_added(archive, current, object_store, number):
            return True
        file.seek(start)
        file.truncate()
        machine_clock.sleep(_PAUSE_SECONDS)
    raise HttpError(
        409,
        "",
        f"Nothing was exported: a job writes to gs://{stored.bucket}/{stored.name} without a pause. Export "
        "again when it has finished, or cancel it.",
    )


def _is_added(archive: Writer, stored: StoredObject, object_store: ObjectStore, number: int) -> bool:
    """Add an object. Return whether it was unchanged until its last byte was read."""
    try:
        with object_store.open(stored) as content:
            _add(archive, f"objects/{number}.json", _object(stored))
            archive.add_file(f"objects/{number}", content, stored.size)
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


def _add(archive: Writer, name: str, value: Any) -> None:
    archive.add(name, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode())


def _add_job(archive: Writer, record: Record, folder: JobFolder) -> None:
    job = json_format.MessageToDict(record.message, descriptor_pool=descriptors.pool())
    _add(
        archive,
        f"jobs/{record.id}.json",
        {"project": record.project, "location": record.location, "job": job},
    )
    with suppress(FileNotFoundError):
        archive.add(f"jobs/{record.id}/state.json", folder.state.read_bytes())
    for path in sorted(folder.logs.glob("*.jsonl")):
        _add_log(archive, f"jobs/{record.id}/logs/{path.name}", path)


def _add_log(archive: Writer, name: str, path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb") as log:  # the job may be deleted meanwhile
        archive.add_file(name, log, os.fstat(log.fileno()).st_size)


def _bucket(bucket: Bucket) -> dict[str, Any]:
    kept = ("name", "project", "generation", "metageneration", "created", "updated", "chose_soft_delete")
    return {
        **{name: getattr(bucket, name) for name in kept},
        "settings": dict(bucket.settings),
        "policy": bucket.policy,
    }


def _object(stored: StoredObject) -> dict[str, Any]:
    kept = ("bucket", "name", "generation", "metageneration", "live", "crc32c", "md5", "components")
    times = ("created", "updated", "deleted", "class_updated", "retained_from", "retained_until")
    return {
        **{name: getattr(stored, name) for name in (*kept, *times)},
        "settings": dict(stored.settings),
    }
