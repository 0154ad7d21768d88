"""Writes the archive.

manifest.json               format, version, numbers of what follows
jobs/ID.json                project, location, and the job as the API has it
jobs/ID/state.json          its replicas
jobs/ID/logs/TASK.jsonl     the log of a task
buckets/N.json              a bucket
objects/N.json, objects/N   an object, or a noncurrent version of one, and its content
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from google.protobuf import json_format

from vertex_training.emulator import descriptors
from vertex_training.emulator.clock import now
from vertex_training.emulator.jobs.folder import JobFolder
from vertex_training.emulator.jobs.store import Record
from vertex_training.emulator.state.archive import Writer
from vertex_training.emulator.state.documents import FORMAT, VERSION
from vertex_training.emulator.state.parts import JobParts
from vertex_training.emulator.storage.catalog import Catalog
from vertex_training.emulator.storage.records import Bucket, StoredObject


def export(file: BinaryIO, *, jobs: JobParts, catalog: Catalog, version: str) -> None:
    """Write all jobs and buckets to `file`. `version` is this package's. Raises `OSError`."""
    archive = Writer(file)
    records, buckets = jobs.records(), catalog.store.all_buckets()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "writtenBy": f"vertex-training {version}",
        "written": now(),
        "jobs": len(records),
        "buckets": len(buckets),
    }
    _add(archive, "manifest.json", manifest)
    for record in reversed(records):  # the oldest first, as they are to be numbered
        _add_job(archive, record, jobs.folder(record.id))
    number = 0
    for index, bucket in enumerate(buckets):
        _add(archive, f"buckets/{index}.json", _bucket(bucket))
        with catalog.store.locked(bucket.name):
            catalog.reconcile(bucket.name)
            for stored in list(catalog.store.objects(bucket.name, versions=True)):
                number += 1
                _add(archive, f"objects/{number}.json", _object(stored))
                with catalog.open(stored) as content:
                    archive.add_file(f"objects/{number}", content, stored.size)
    archive.close()


def _add(archive: Writer, name: str, value: Any) -> None:
    archive.add(name, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode())


def _add_job(archive: Writer, record: Record, folder: JobFolder) -> None:
    job = json_format.MessageToDict(record.job, descriptor_pool=descriptors.pool())
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
    with path.open("rb") as log:
        archive.add_file(name, log, path.stat().st_size)


def _bucket(bucket: Bucket) -> dict[str, Any]:
    return {**vars(bucket), "settings": dict(bucket.settings)}


def _object(stored: StoredObject) -> dict[str, Any]:
    kept = ("bucket", "name", "generation", "metageneration", "live", "crc32c", "md5")
    times = ("created", "updated", "deleted")
    return {
        **{name: getattr(stored, name) for name in (*kept, *times)},
        "settings": dict(stored.settings),
    }
