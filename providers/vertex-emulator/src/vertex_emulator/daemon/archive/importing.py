"""Import of a snapshot into an empty emulator: all of its content is added, or nothing.

First, all content is unpacked and checked in a staging folder. Then all rows are added in one transaction,
and the files are moved. If the emulator is killed meanwhile, the next start moves the rest, as after an
upload.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vertex_emulator.daemon.archive import documents, tables
from vertex_emulator.daemon.archive.tables import Copy
from vertex_emulator.daemon.archive.tar import ArchiveError, Member, members
from vertex_emulator.job_folder import folder
from vertex_emulator.jobs.custom.all_jobs import AllJobs
from vertex_emulator.kernel import times
from vertex_emulator.kernel.changes import EVERYTHING
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.server.http.messages import ByteSource, HttpError
from vertex_emulator.services.container_registry import names as image_names
from vertex_emulator.services.container_registry.blobs import flush
from vertex_emulator.services.container_registry.errors import RegistryError
from vertex_emulator.services.container_registry.registry import Registry
from vertex_emulator.services.storage import access
from vertex_emulator.services.storage.disk import recovery
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import (
    Bucket,
    FileState,
    StoredObject,
    bucket_of,
    object_of,
)
from vertex_emulator.services.storage.fields import bucket as bucket_fields
from vertex_emulator.services.storage.fields import object as object_fields
from vertex_emulator.services.storage.names import check_bucket_name, check_object_name
from vertex_emulator.services.storage.uploads.incoming import Incoming

MAX_MEMBERS = 1_000_000

_SHOWN = 3
_MAX_GENERATION = 1 << 62
_RESOURCE_TABLES = {
    "hyperparameter_tuning_jobs": "hyperparameterTuningJobs",
    "training_pipelines": "trainingPipelines",
    "models": "models",
    "datasets": "datasets",
    "persistent_resources": "persistentResources",
    "log_entries": "logEntries",
    "secrets": "secrets",
}
"""The tables whose rows an import reports, with the names in its answer."""
_NAMES = re.compile(
    r"manifest\.json|state\.sqlite3|jobs/(?P<job>[0-9]{1,19})/(?:state\.json|"
    r"logs/(?P<task>[a-z0-9][a-z0-9-]{0,79})\.jsonl)|objects/(?P<object>[0-9a-f]{32})|"
    r"blobs/(?P<algorithm>sha256|sha512)/[0-9]{1,9}"
)


@dataclass(frozen=True, kw_only=True)
class _Content:
    """An unpacked object: its file in objects-incoming, and its checksums."""

    file: str
    state: FileState
    crc32c: str
    md5: str


@dataclass(kw_only=True)
class _Unpacked:
    """The content of a snapshot, apart from the database and the files of jobs, which are in `staging`."""

    staging: Path
    jobs: set[str] = field(default_factory=set)
    objects: dict[str, _Content] = field(default_factory=dict)
    blobs: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.staging / "state.sqlite3"


def import_state(
    source: ByteSource,
    *,
    database: Database,
    jobs: AllJobs,
    object_store: ObjectStore,
    registry: Registry,
    clock: Clock,
) -> dict[str, Any]:
    """Add the content of a snapshot, and return the counts. Only one import may run at a time.

    Raises `HttpError` 400 for an invalid snapshot, and 409 if the emulator is not empty.
    """
    found = _Unpacked(staging=jobs.make_staging_folder())
    files = object_store.files
    try:
        _check_empty(database)
        _unpack(source, found, tables.versions(database), object_store, registry)
        with closing(Copy(found.database, database)) as copy:
            buckets = _buckets(copy)
            objects = _objects(copy, found, {bucket.name for bucket in buckets})
            _check_images(copy, found)
            for row in copy.rows("custom_jobs"):
                (found.staging / row["id"] / "logs").mkdir(parents=True, exist_ok=True)
                found.jobs.discard(row["id"])
            for job_id in found.jobs:
                raise ArchiveError(f"it has files of the job {job_id}, which is not in its database.")
            files.step("add archive")
            return _add(copy, found, buckets, objects, database, jobs, object_store, registry, clock)
    except (ArchiveError, sqlite3.IntegrityError) as error:
        raise HttpError(400, "", f"The archive was not imported: {error}") from error
    finally:
        for content in found.objects.values():  # files that were not moved to their objects
            files.incoming_path(content.file).unlink(missing_ok=True)
        for identifier, _ in found.blobs.values():
            registry.files.remove_upload(identifier)
        files.step("clean up import")
        remove_tree(found.staging)


def _check_empty(database: Database) -> None:
    if occupied := tables.occupied(database):
        more = f" and {len(occupied) - _SHOWN} more" if len(occupied) > _SHOWN else ""
        raise HttpError(
            409,
            "",
            f"The archive was not imported: the emulator is not empty, it has {', '.join(occupied[:_SHOWN])}"
            f"{more}. Import it into another data folder, or reset this emulator first.",
        )


def _unpack(
    source: ByteSource,
    found: _Unpacked,
    versions: Mapping[str, int],
    object_store: ObjectStore,
    registry: Registry,
) -> None:
    """Write all members to the disk. Raises `ArchiveError`."""
    count, seen = 0, set()
    for count, member in enumerate(members(source), start=1):
        if count > MAX_MEMBERS:
            raise ArchiveError(f"it has more than {MAX_MEMBERS} members.")
        match = _NAMES.fullmatch(member.name)
        if match is None:
            raise ArchiveError(f"{member.name!r} is not the name of a member.")
        if member.name in seen:
            raise ArchiveError(f"{member.name} occurs twice.")
        seen.add(member.name)
        if (count == 1) != (member.name == "manifest.json"):
            raise ArchiveError("manifest.json must be the first member.")
        if match["job"]:
            _unpack_job(member, match["job"], match["task"], found)
        elif match["object"]:
            object_store.files.step("unpack object")
            _unpack_object(member, match["object"], found, object_store)
        elif match["algorithm"]:
            _unpack_blob(member, match["algorithm"], found, registry)
        elif member.name == "manifest.json":
            documents.check_manifest(documents.read(member), versions)
        else:
            with found.database.open("xb") as file:
                shutil.copyfileobj(member, file)
    if not count or not found.database.exists():
        raise ArchiveError("it ends too early.")


def _unpack_job(member: Member, job_id: str, task: str | None, found: _Unpacked) -> None:
    found.jobs.add(job_id)
    (found.staging / job_id / "logs").mkdir(parents=True, exist_ok=True)
    if task is None:
        value = documents.replicas(documents.read(member), member.name)
        folder.write_json(found.staging / job_id / "state.json", value)
        return
    with (found.staging / job_id / "logs" / f"{task}.jsonl").open("xb") as file:
        for line in documents.lines(member):
            file.write(documents.log_line(line, member.name))


def _unpack_object(member: Member, name: str, found: _Unpacked, object_store: ObjectStore) -> None:
    with Incoming(object_store.files.new_incoming()) as incoming:
        while data := member.read():
            incoming.write(data)
        state = incoming.finish()
        found.objects[name] = _Content(
            file=incoming.path.name, state=state, crc32c=incoming.sums.crc32c, md5=incoming.sums.md5
        )
        incoming.taken = True


def _unpack_blob(member: Member, algorithm: str, found: _Unpacked, registry: Registry) -> None:
    identifier, digest = registry.files.new_upload(), hashlib.new(algorithm)
    path = registry.files.upload_path(identifier)
    try:
        with path.open("wb") as file:
            while data := member.read():
                digest.update(data)
                file.write(data)
            flush(file)
    finally:
        found.blobs[f"{algorithm}:{digest.hexdigest()}"] = (identifier, member.size)


def _buckets(copy: Copy) -> list[Bucket]:
    """Return the buckets. Their settings are checked like those in a request."""

    def checked(row: Any) -> Bucket:
        bucket = bucket_of(row)
        check_bucket_name(bucket.name)
        if bucket.soft_deleted is not None:
            raise ValueError("it is soft-deleted")
        _check_numbers(bucket.generation, bucket.metageneration)
        times.parse(bucket.created)
        policy = bucket.policy
        if policy is not None:
            policy = access.checked({"version": 3, "bindings": policy}, uniform=True, enforced=False)
        settings = bucket_fields.imported(_object(bucket.settings), moment=bucket.created)
        return replace(bucket, settings=settings, policy=policy)

    return [_checked("bucket", row, checked) for row in copy.rows(tables.BUCKETS)]


def _objects(copy: Copy, found: _Unpacked, buckets: Collection[str]) -> list[StoredObject]:
    """Return the objects, with the names of their files. Every content belongs to one object."""
    left = dict(found.objects)

    def checked(row: Any) -> StoredObject:
        stored = object_of(row)
        check_object_name(stored.name)
        _check_numbers(stored.generation, stored.metageneration)
        if stored.bucket not in buckets:
            raise ValueError(f"its bucket {stored.bucket!r} is missing")
        content = left.pop(stored.incoming or "", None)
        if content is None:
            raise ValueError("its content is missing")
        if (content.crc32c, content.md5 if stored.md5 else "") != (stored.crc32c, stored.md5):
            raise ValueError("it is damaged: its checksums differ")
        if stored.soft_deleted is not None or stored.aside is not None or stored.moved_from is not None:
            raise ValueError("its state cannot be imported")
        settings = object_fields.imported(_object(stored.settings), bucket=stored.bucket)
        return replace(stored, incoming=content.file, state=content.state, settings=settings)

    objects = [_checked("object", row, checked) for row in copy.rows(tables.OBJECTS)]
    for name in left:
        raise ArchiveError(f"objects/{name} belongs to no object.")
    return objects


def _object(settings: object) -> Mapping[str, Any]:
    if not isinstance(settings, dict):
        raise ValueError("its settings are not an object")
    return settings


def _checked(noun: str, row: Any, check: Callable[[Any], Any]) -> Any:
    try:
        return check(row)
    except HttpError as error:
        raise ArchiveError(f"{noun} {row['name']!r}: {error.message}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ArchiveError(f"{noun} {row['name']!r}: {error}.") from error


def _check_numbers(*numbers: int) -> None:
    if not all(0 < each < _MAX_GENERATION for each in numbers):
        raise ValueError("generation and metageneration must be whole numbers from 1")


def _check_images(copy: Copy, found: _Unpacked) -> None:
    """Check that the archive has exactly the blobs of its database, and the digests of manifests."""
    for row in copy.rows("registry_manifests"):
        digest, content = row["digest"], row["content"]
        try:
            image_names.check_repository(row["repository"])
            image_names.check_digest(digest)
            actual = image_names.digest_of(content, algorithm=image_names.algorithm_of(digest))
        except RegistryError as error:
            raise ArchiveError(f"an image: {error}.") from error
        if actual != digest or not image_names.is_canonical(row["repository"]):
            raise ArchiveError(f"a manifest does not match its name {row['repository'][:80]}@{digest}.")
    recorded = {row["digest"]: row["size"] for row in copy.rows("registry_blobs")}
    unpacked = {digest: size for digest, (_, size) in found.blobs.items()}
    for digest in recorded.keys() ^ unpacked.keys():
        raise ArchiveError(f"the blob {digest[:80]!r} is missing, damaged or of no image.")
    if recorded != unpacked:
        raise ArchiveError("a blob has another size than its database says.")


def _add(
    copy: Copy,
    found: _Unpacked,
    buckets: list[Bucket],
    objects: list[StoredObject],
    database: Database,
    jobs: AllJobs,
    object_store: ObjectStore,
    registry: Registry,
    clock: Clock,
) -> dict[str, Any]:
    store, files = object_store.store, object_store.files
    names = [bucket.name for bucket in buckets]
    with ExitStack() as stack:
        stack.enter_context(registry.lock_files())
        for name in names:
            stack.enter_context(store.locked(name))
        stack.callback(files.remove_unrecorded_buckets, lambda name: store.find_bucket(name) is not None)
        files.note_new_buckets(names)
        for name in names:
            files.make_bucket(name)
        placed = [recovery.placed(files, stored) for stored in objects]
        with database.transaction() as connection:
            _check_empty(database)  # again, as something may have been created meanwhile
            counts = copy.add_to(connection, tables.copied(database, without=tables.CHECKED))
            for bucket in buckets:
                store.put_bucket(bucket)
            for stored in placed:
                files.step("record imported object")
                store.put_object(stored)
            for digest, (identifier, _) in found.blobs.items():
                registry.files.adopt(registry.files.upload_path(identifier), digest)
            ended = jobs.end_imported(at=times.now(clock))
            database.note(EVERYTHING)
            files.step("add imported jobs")
            jobs.move_folders([row["id"] for row in copy.rows("custom_jobs")], found.staging)
            files.step("commit import")
        files.step("move imported files")
        generations = [bucket.generation for bucket in buckets] + [each.generation for each in objects]
        store.advance_generation(max(generations, default=0))
        for stored in placed:
            recovery.arrive(store, files, stored)
    return {
        "jobs": counts["custom_jobs"],
        "endedJobs": ended,
        "buckets": len(buckets),
        "objects": len(objects),
        "images": sum(not row["stand_in"] for row in copy.rows("registry_manifests")),
        "repositories": counts["artifact_repositories"],
        "resources": {name: counts[table] for table, name in _RESOURCE_TABLES.items() if counts[table]},
    }
