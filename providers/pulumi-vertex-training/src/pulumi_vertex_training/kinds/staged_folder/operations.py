"""The calls for a staged folder: send what is missing, compare it with the service, delete it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Conflict, NotFound, PermissionDenied
from pulumi_vertex_training.cloud.objects import NO_KEY, SHA256_KEY, SHARED_KEY, STAGED_KEY, ObjectRecord
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import CANCELLED, print_line
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.kinds.staged.manifest import MANIFEST, FolderFile, some, unpacked
from pulumi_vertex_training.kinds.staged.operations import retained_failure
from pulumi_vertex_training.kinds.staged_folder.files import Listing
from pulumi_vertex_training.kinds.staged_folder.spec import HASH_DIGITS, KEPT, FolderSpec, amount
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_emulator import machine_clock
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import counted

PARALLEL = 16
"""Requests of one folder at a time."""

PROGRESS_SECONDS = 3.0
"""Seconds between two reports of progress on the row."""

SAID_SECONDS = 10.0
"""Seconds between two lines about a deletion, which stay on the terminal."""

_ROOT = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}")

T = TypeVar("T")


def spec_of(props: Mapping[str, Any]) -> FolderSpec:
    """Return the spec of the folder in checked inputs or recorded outputs."""
    return FolderSpec(bucket=props["bucket"], prefix=props["prefix"], sha256=props["sha256"])


@dataclass(kw_only=True)
class Progress:
    """The files that are done, reported every few seconds. Safe for threads.

    `tell` gets a line. `sent` counts uploaded files, `copied` those that the service copied.
    """

    count: int
    tell: Callable[[str], None]
    sent: int = 0
    copied: int = 0
    sent_bytes: int = 0
    done: int = 0
    _reported_at: float = field(default_factory=machine_clock.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *, sent: bool = False, copied: bool = False, size: int = 0) -> None:
        """Count one file that is done."""
        with self._lock:
            self.done += 1
            self.sent += sent
            self.copied += copied
            self.sent_bytes += size if sent else 0
            now = machine_clock.monotonic()
            if now - self._reported_at < PROGRESS_SECONDS or self.done == self.count:
                return
            self._reported_at = now
        self.tell(f"{self.done:,}/{counted(self.count, 'file')}, {amount(self.sent_bytes)} sent")

    def summary(self) -> str:
        """Return the line at the end."""
        parts = [f"{self.sent:,} sent ({amount(self.sent_bytes)})"] if self.sent else []
        parts += [f"{self.copied:,} copied in the bucket"] if self.copied else []
        there = self.done - self.sent - self.copied
        parts += [f"{there:,} there already"] if there else []
        return f"{counted(self.done, 'file')} staged: {', '.join(parts)}"


@dataclass(frozen=True, kw_only=True)
class _Staging:
    """One upload of a folder. `label` is the value of `STAGED_KEY` for its objects."""

    endpoint: Endpoint
    spec: FolderSpec
    label: str
    found: Mapping[str, ObjectRecord]
    sources: Mapping[tuple[int, str, str], ObjectRecord]


def stage(call: Call, content: Listing) -> None:
    """Make every file's object exist below the folder's name; send only content that the bucket lacks.

    Raises PackagingError if a file changes meanwhile, and Failure after Ctrl-C.
    """
    props, key = call.inputs, call.key
    spec, endpoint = spec_of(props), endpoint_of(props)
    uri = str(spec.uri)
    OPERATION.note_made(uri)
    found = {one.name: one for one in objects.list_objects(endpoint, spec.bucket, prefix=f"{spec.prefix}/")}
    staging = _Staging(
        endpoint=endpoint,
        spec=spec,
        label=_label(key, props["on_delete"]),
        found=found,
        sources={
            (one.size, one.crc32c or "", one.metadata[SHA256_KEY]): one
            for one in found.values()
            if SHA256_KEY in one.metadata
        },
    )
    progress = Progress(
        count=len(content.files), tell=lambda line: OPERATION.print_on(call.urn, line, passing=True)
    )
    _for_each(
        content.files,
        lambda file: _ensure(staging, file, content, progress),
        interrupted=lambda: (
            f"{progress.done:,} of {counted(progress.count, 'file')} are staged; `pulumi up` sends the others"
        ),
    )
    OPERATION.print_on(call.urn, progress.summary())
    if key and props["on_delete"] == "delete":
        _delete_orphans(endpoint, spec, found.values(), {key})
    deletion_notes.forget(uri)


def _label(key: str, on_delete: str) -> str:
    return KEPT if on_delete == "keep" else key or NO_KEY


def _ensure(staging: _Staging, file: FolderFile, content: Listing, progress: Progress) -> None:
    """Make one file's object exist. Raises Conflict if somebody else keeps changing it."""
    name = staging.spec.object_name(file.path)
    there = staging.found.get(name)
    for last_try in (False, True):
        if there is not None and _is(there, file):
            if _mark_as_shared(staging, there):
                progress.add()
                return
            there = None  # it has been deleted since
        try:
            _make(staging, file, content, there, progress)
            return
        except Conflict:
            if last_try:
                raise
            there = objects.find(staging.endpoint, staging.spec.bucket, name)


def _make(
    staging: _Staging, file: FolderFile, content: Listing, there: ObjectRecord | None, progress: Progress
) -> None:
    """Copy an object with the same content, or upload the file."""
    name = staging.spec.object_name(file.path)
    metadata = {STAGED_KEY: staging.label, SHA256_KEY: file.sha256}
    generation = there.generation if there else 0
    source = staging.sources.get((file.size, file.crc32c, file.sha256))
    if source is not None and source.name != name:
        with suppress(NotFound, PermissionDenied):
            objects.copy(staging.endpoint, source, name, metadata=metadata, if_generation_match=generation)
            progress.add(copied=True)
            return
    try:
        made = objects.upload(
            staging.endpoint,
            staging.spec.bucket,
            name,
            content.local[file.path],
            sha256=file.sha256,
            metadata={STAGED_KEY: staging.label},
            if_generation_match=generation,
        )
    except OSError as error:
        raise _changed(file) from error
    if not _is(made, file):
        with suppress(NotFound, PermissionDenied, Conflict):
            objects.delete(staging.endpoint, made.bucket, made.name, generation=made.generation)
        raise _changed(file)
    progress.add(sent=True, size=file.size)


def _changed(file: FolderFile) -> PackagingError:
    message = f"{file.path} changed during the deployment. When nothing writes to it, run `pulumi up` again."
    return PackagingError([Problem(path="source", message=message)])


def _is(record: ObjectRecord, file: FolderFile) -> bool:
    return (record.size, record.crc32c) == (file.size, file.crc32c)


def _mark_as_shared(staging: _Staging, record: ObjectRecord) -> bool:
    """Mark an object of another resource, perhaps of another stack. Return False if it has been deleted.

    No deployment deletes a marked object, because the other resource may still use it.
    """
    is_ours = record.metadata.get(STAGED_KEY) == staging.label != NO_KEY
    if is_ours or SHARED_KEY in record.metadata:
        return True
    try:
        objects.add_metadata(staging.endpoint, record.bucket, record.name, {SHARED_KEY: "1"})
    except NotFound:
        return False
    except PermissionDenied:
        pass
    return True


def faults(endpoint: Endpoint, props: Mapping[str, Any]) -> list[str]:
    """Return the paths of recorded files whose objects are missing or have other content; one listing."""
    spec = spec_of(props)
    listed = objects.list_objects(endpoint, spec.bucket, prefix=f"{spec.name}/")
    found = {one.name: one for one in listed}
    recorded = unpacked(props.get(MANIFEST)).values()
    return [
        file.path
        for file in recorded
        if (there := found.get(spec.object_name(file.path))) is None or not _is(there, file)
    ]


def exists_unchanged(props: Mapping[str, Any]) -> bool:
    """Return whether the folder exists as recorded. Print which files are missing or changed."""
    try:
        found = faults(endpoint_of(props), props)
    except NotFound:
        return False
    if found:
        count = counted(int(props["count"]), "file")
        print_line(f"{props['uri']}: {len(found):,} of {count} missing or changed: {some(found)}")
    return not found


def relabel(props: Mapping[str, Any], key: str) -> None:
    """Set the label of the folder's objects for another `on_delete`."""
    spec, endpoint = spec_of(props), endpoint_of(props)
    label = _label(key, props["on_delete"])

    def set_label(record: ObjectRecord) -> None:
        with suppress(NotFound):
            objects.add_metadata(endpoint, record.bucket, record.name, {STAGED_KEY: label})

    listed = objects.list_objects(endpoint, spec.bucket, prefix=f"{spec.name}/")
    others = [one for one in listed if one.metadata.get(STAGED_KEY, label) != label]
    _for_each(others, set_label, interrupted=lambda: "`pulumi up` continues")


def delete_folder(props: Mapping[str, Any]) -> None:
    """Delete the folder's own objects and orphans. Keep objects that are shared, retained or another's."""
    spec, endpoint = spec_of(props), endpoint_of(props)
    uri = str(spec.uri)
    if OPERATION.made(uri):
        # Names follow from the content, so the replacement of this resource has the same objects.
        return
    creation_notes.remove_with(uri)
    if props["on_delete"] == "keep":
        print_line(f"{uri} is kept: its on_delete is keep")
        return
    deletion_notes.note(uri)
    try:
        listed = list(objects.list_objects(endpoint, spec.bucket, prefix=f"{spec.prefix}/"))
    except NotFound:
        return  # with the bucket
    own = [one for one in listed if one.name.startswith(f"{spec.name}/") and STAGED_KEY in one.metadata]
    _for_each(
        [one for one in own if _may_be_deleted(one)],
        lambda record: _delete(endpoint, record),
        interrupted=lambda: "the next `pulumi up` or `pulumi destroy` continues",
        tell=lambda done, count: print_line(f"{uri}: {done:,} of {counted(count, 'file')} deleted"),
    )
    if shared := sum(SHARED_KEY in one.metadata for one in own):
        print_line(
            f"{uri}: {counted(shared, 'file')} kept: staged more than once, so another stack may use them"
        )
    keys = {one.metadata[STAGED_KEY] for one in own} - {NO_KEY, KEPT}
    _delete_orphans(endpoint, spec, listed, keys)


def delete_interrupted(endpoint: Endpoint, uri: str, key: str) -> bool:
    """Delete the folder's objects with this key, which no state has; return False if one is shared.

    Raises NotFound if there are no objects with this key.
    """
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    listed = objects.list_objects(endpoint, bucket, prefix=f"{name}/")
    own = [one for one in listed if one.metadata.get(STAGED_KEY) == key]
    if not own or OPERATION.made(uri):
        raise NotFound(f"there is no {uri} with this key", resource=uri, endpoint=endpoint)
    shared = [one for one in own if SHARED_KEY in one.metadata]
    _for_each(
        [one for one in own if one not in shared],
        lambda record: _delete(endpoint, record),
        interrupted=lambda: "the next `pulumi up` or `pulumi destroy` continues",
    )
    return not shared


def _may_be_deleted(record: ObjectRecord) -> bool:
    return SHARED_KEY not in record.metadata and record.metadata.get(STAGED_KEY, KEPT) != KEPT


def _delete_orphans(
    endpoint: Endpoint, spec: FolderSpec, listed: Iterable[ObjectRecord], keys: set[str]
) -> None:
    """Delete what interrupted deployments staged for this resource with other content: no state has it."""

    def uri_of(record: ObjectRecord) -> str:
        root = record.name.removeprefix(f"{spec.prefix}/").partition("/")[0]
        return f"gs://{spec.bucket}/{spec.prefix}/{root}"

    def is_orphan(record: ObjectRecord) -> bool:
        uri = uri_of(record)
        root = uri.rpartition("/")[2]
        known = uri == str(spec.uri) or OPERATION.made(uri) or OPERATION.was_recorded(uri)
        is_ours = record.metadata.get(STAGED_KEY) in keys and SHARED_KEY not in record.metadata
        return is_ours and not known and _ROOT.fullmatch(root) is not None

    orphans = [one for one in listed if is_orphan(one)]
    with suppress(PermissionDenied, Conflict, Failure):
        _for_each(orphans, lambda record: _delete(endpoint, record), interrupted=lambda: "")
        for uri, key in {(uri_of(one), one.metadata[STAGED_KEY]) for one in orphans}:
            creation_notes.forget(uri, key)


def _delete(endpoint: Endpoint, record: ObjectRecord) -> None:
    """Delete an object as it was read, unless somebody has staged the same content since."""
    for last_try in (False, True):
        try:
            with suppress(NotFound):
                objects.delete(
                    endpoint,
                    record.bucket,
                    record.name,
                    generation=record.generation,
                    if_metageneration_match=record.metageneration,
                )
            return
        except Conflict:
            now = objects.find(endpoint, record.bucket, record.name)
            if now is None or not _may_be_deleted(now):
                return
            if last_try:
                raise
            record = now
        except PermissionDenied as error:
            if failure := retained_failure(error):
                raise failure from None
            raise


def _for_each(
    items: Iterable[T],
    work: Callable[[T], None],
    *,
    interrupted: Callable[[], str],
    tell: Callable[[int, int], None] | None = None,
) -> None:
    """Do the work for all items, several at a time. Begin no more after an error or Ctrl-C, and raise it.

    `tell` gets the number of items that are done, and of all, every few seconds.
    """
    stopped, reported_at = threading.Event(), machine_clock.monotonic()

    def guarded(item: T) -> None:
        if stopped.is_set() or CANCELLED.is_set():
            return
        try:
            work(item)
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(max_workers=PARALLEL) as pool:
        futures = [pool.submit(guarded, item) for item in items]
        for done, future in enumerate(futures):
            if tell is not None and machine_clock.monotonic() - reported_at >= SAID_SECONDS:
                reported_at = machine_clock.monotonic()
                tell(done, len(futures))
            future.result()
    if CANCELLED.is_set() and futures:
        raise Failure(f"the deployment was interrupted: {interrupted()}")
