"""Import of an archive: all of its content is added, or nothing.

First, all content is unpacked and checked in a staging folder. Then buckets, objects and jobs are recorded in
one transaction, and their files are moved. If the emulator is killed meanwhile, the next start moves the
rest, as after an upload.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vertex_emulator.archive import documents
from vertex_emulator.archive.repositories import IMAGE_NAMES, ArchivedImages, ArchivedRepositories
from vertex_emulator.archive.resources import RESOURCE_NAMES, ArchivedResources
from vertex_emulator.archive.tar import ArchiveError, Member, members
from vertex_emulator.artifact_registry.store import Store
from vertex_emulator.container_registry.registry import Registry
from vertex_emulator.custom_jobs import all_jobs
from vertex_emulator.custom_jobs.all_jobs import AllJobs
from vertex_emulator.http.messages import ByteSource, HttpError
from vertex_emulator.job_folder import folder
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.trees import remove_tree
from vertex_emulator.storage.disk import recovery
from vertex_emulator.storage.disk.object_store import ObjectStore
from vertex_emulator.storage.disk.records import Bucket, StoredObject
from vertex_emulator.storage.uploads.incoming import Incoming

MAX_MEMBERS = 1_000_000

_SHOWN = 3
_NAMES = re.compile(
    r"manifest\.json|jobs/(?P<job>[0-9]{1,19})\.json|jobs/(?P<of>[0-9]{1,19})/"
    r"(?:state\.json|logs/(?P<task>[a-z0-9][a-z0-9-]{0,79})\.jsonl)|"
    r"buckets/[0-9]{1,9}\.json|objects/(?P<number>[0-9]{1,9})(?P<fields>\.json)?|"
    rf"{IMAGE_NAMES}|{RESOURCE_NAMES}|(?P<repository>repositories/[0-9]{{1,9}}\.json)"
)


@dataclass(kw_only=True)
class _Contents:
    """The checked content of an archive. The files of objects are in objects-incoming."""

    images: ArchivedImages
    repositories: ArchivedRepositories
    resources: ArchivedResources
    jobs: dict[str, tuple[Place, Any]] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    objects: list[StoredObject] = field(default_factory=list)
    ended: int = 0


def import_state(
    source: ByteSource,
    *,
    jobs: AllJobs,
    object_store: ObjectStore,
    registry: Registry,
    repositories: Store,
    clock: Clock,
) -> dict[str, Any]:
    """Add the content of an archive, and return the counts. Only one import may run at a time.

    Raises `HttpError` 400 for an invalid archive, and 409 if the emulator has a part of it already.
    """
    staging = jobs.make_staging_folder()
    found = _Contents(
        images=ArchivedImages(registry),
        repositories=ArchivedRepositories(repositories, clock),
        resources=ArchivedResources(jobs.archived, staging),
    )
    try:
        _Unpacking(found, staging, object_store).read(source)
        now = times.now(clock)
        found.ended = sum(all_jobs.end_interrupted(job, at=now) for _, job in found.jobs.values())
        object_store.files.step("add archive")
        _add(found, staging, jobs, object_store)
    except ArchiveError as error:
        raise HttpError(400, "", f"The archive was not imported: {error}") from error
    finally:
        for stored in found.objects:  # files that were not moved to their objects
            object_store.files.incoming_path(stored.incoming or "-").unlink(missing_ok=True)
        found.images.discard()
        object_store.files.step("clean up import")
        remove_tree(staging)
    return {
        "jobs": len(found.jobs),
        "endedJobs": found.ended + found.resources.ended,
        "buckets": len(found.buckets),
        "objects": len(found.objects),
        "images": found.images.count,
        "repositories": found.repositories.count,
        "resources": found.resources.counts,
    }


class _Unpacking:
    """Reads the members of one archive in order, into `found`."""

    def __init__(self, found: _Contents, staging: Path, object_store: ObjectStore) -> None:
        self._found = found
        self._staging = staging
        self._files = object_store.files
        self._versions: set[tuple[str, str, int]] = set()
        self._live: set[tuple[str, str]] = set()
        self._next: tuple[str, dict[str, Any]] | None = None
        """The member that must follow, with the fields of the object or image whose content it is."""

    def read(self, source: ByteSource) -> None:
        """Read all members. Raises `ArchiveError`."""
        count = 0
        for count, member in enumerate(members(source), start=1):
            if count > MAX_MEMBERS:
                raise ArchiveError(f"it has more than {MAX_MEMBERS} members.")
            match = _NAMES.fullmatch(member.name)
            if match is None:
                raise ArchiveError(f"{member.name!r} is not the name of a member.")
            if (count == 1) != (member.name == "manifest.json"):
                raise ArchiveError("manifest.json must be the first member and occur only once.")
            if self._next is not None and member.name != self._next[0]:
                raise ArchiveError(f"{self._next[0]} is missing.")
            self._take(member, match)
        if self._next is not None or not count:
            raise ArchiveError("it ends too early.")
        self._found.images.check()
        self._found.resources.check()

    def _take(self, member: Member, match: re.Match[str]) -> None:
        if match["job"]:
            self._job(member, match["job"])
        elif match["task"]:
            self._log(member, match["of"], match["task"])
        elif match["of"]:
            value = documents.replicas(documents.read(member), member.name)
            self._new_file(match["of"], "state.json", member.name)
            folder.write_json(self._staging / match["of"] / "state.json", value)
        elif match["kind"]:
            self._found.resources.take(member, match["kind"], is_lines=match["lines"] is not None)
        elif match["repository"]:
            self._found.repositories.take(documents.read(member), member.name)
        elif match["described"]:
            self._next = (match["image"], documents.read(member))
        elif match["image"]:
            self._found.images.take(member, self._fields(member))
        elif match["fields"]:
            self._next = (f"objects/{match['number']}", documents.read(member))
        elif match["number"]:
            self._object(member)
        elif member.name == "manifest.json":
            documents.check_manifest(documents.read(member))
        else:
            bucket = documents.bucket(documents.read(member), member.name)
            if bucket.name in self._found.buckets:
                raise ArchiveError(f"{member.name}: the bucket {bucket.name} occurs twice.")
            self._found.buckets[bucket.name] = bucket

    def _job(self, member: Member, job_id: str) -> None:
        if job_id in self._found.jobs:
            raise ArchiveError(f"{member.name} occurs twice.")
        self._found.jobs[job_id] = documents.job(documents.read(member), job_id, member.name)
        (self._staging / job_id / "logs").mkdir(parents=True)

    def _new_file(self, job_id: str, name: str, path: str) -> Path:
        if job_id not in self._found.jobs:
            raise ArchiveError(f"{path} comes before its job.")
        file = self._staging / job_id / name
        try:
            file.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            raise ArchiveError(f"{path} occurs twice.") from None
        return file

    def _log(self, member: Member, job_id: str, task: str) -> None:
        with self._new_file(job_id, f"logs/{task}.jsonl", member.name).open("wb") as file:
            for line in documents.lines(member):
                file.write(documents.log_line(line, member.name))

    def _fields(self, member: Member) -> dict[str, Any]:
        if self._next is None:
            raise ArchiveError(f"{member.name} comes without its fields.")
        (_, fields), self._next = self._next, None
        return fields

    def _object(self, member: Member) -> None:
        self._files.step("unpack object")
        path = f"{member.name}.json"
        fields = documents.stored(self._fields(member), path)
        if fields["bucket"] not in self._found.buckets:
            raise ArchiveError(f"{path}: the bucket {fields['bucket']!r} does not come before its object.")
        version = (fields["bucket"], fields["name"], fields["generation"])
        if version in self._versions or (fields["live"] and version[:2] in self._live):
            raise ArchiveError(f"{path}: the object occurs twice.")
        self._versions.add(version)
        if fields["live"]:
            self._live.add(version[:2])
        with Incoming(self._files.new_incoming()) as incoming:
            while data := member.read():
                incoming.write(data)
            state = incoming.finish()
            md5 = incoming.sums.md5 if fields["md5"] else ""  # a composed object has none
            if (incoming.sums.crc32c, md5) != (fields["crc32c"], fields["md5"]):
                raise ArchiveError(f"{member.name} is damaged: its checksums differ.")
            stored = StoredObject(**fields, incoming=incoming.path.name, state=state)
            self._found.objects.append(stored)
            incoming.taken = True


def _add(found: _Contents, staging: Path, jobs: AllJobs, object_store: ObjectStore) -> None:
    store = object_store.store
    with ExitStack() as stack:
        found.images.enter(stack)
        for name in found.buckets:
            stack.enter_context(store.locked(name))
        _check_conflicts(found, jobs, object_store)
        stack.callback(
            object_store.files.remove_unrecorded_buckets, lambda name: store.find_bucket(name) is not None
        )
        object_store.files.note_new_buckets(found.buckets)
        for name in found.buckets:
            object_store.files.make_bucket(name)
        placed = [recovery.placed(object_store.files, stored) for stored in found.objects]
        with store.transaction():
            for bucket in found.buckets.values():
                store.put_bucket(bucket)
            for stored in placed:
                object_store.files.step("record imported object")
                store.put_object(stored)
            found.repositories.add()
            found.images.add()
            found.resources.add()
            object_store.files.step("add imported jobs")
            jobs.add_ended([(place, key, job) for key, (place, job) in found.jobs.items()], staging)
            object_store.files.step("commit import")
        object_store.files.step("move imported files")
        store.advance_generation(_highest(found))
        for stored in placed:
            recovery.arrive(store, object_store.files, stored)


def _check_conflicts(found: _Contents, jobs: AllJobs, object_store: ObjectStore) -> None:
    conflicts = [
        f"bucket {name}" for name in found.buckets if object_store.store.find_bucket(name) is not None
    ]
    conflicts += [f"job {job_id}" for job_id in jobs.existing(found.jobs)]
    conflicts += found.repositories.conflicts()
    conflicts += found.images.conflicts()
    conflicts += found.resources.conflicts()
    if conflicts:
        more = f" and {len(conflicts) - _SHOWN} more" if len(conflicts) > _SHOWN else ""
        raise HttpError(
            409,
            "",
            f"The archive was not imported: the emulator has {', '.join(conflicts[:_SHOWN])}{more} already. "
            "Import it into another data folder, or reset this emulator first.",
        )


def _highest(found: _Contents) -> int:
    generations: Mapping[str, int] = {name: each.generation for name, each in found.buckets.items()}
    return max((*generations.values(), *(each.generation for each in found.objects)), default=0)
