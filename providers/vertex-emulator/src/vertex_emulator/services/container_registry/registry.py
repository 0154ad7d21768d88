"""The image store: the interface through which the HTTP API and the rest of the emulator use the registry."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.services.container_registry import names
from vertex_emulator.services.container_registry.blobs import BlobFiles
from vertex_emulator.services.container_registry.errors import RegistryError, digest_invalid
from vertex_emulator.services.container_registry.manifests import Descriptor, Manifest, read_manifest
from vertex_emulator.services.container_registry.store import Store, StoredManifest

log = logging.getLogger(__name__)

GRACE_SECONDS = 3600
"""Time for which the garbage collection keeps a blob that no manifest refers to."""

_TOUCH_SECONDS = 600
_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """An image that the emulator serves in place of one that was never pushed."""

    media_type: str
    manifest: bytes
    blobs: tuple[bytes, ...]


FindStandIn = Callable[[str, str], "StandIn | None"]
"""Function that returns the stand-in for a canonical repository (HOST/PATH) and a tag, if there is one."""


def no_stand_ins(_repository: str, _tag: str) -> StandIn | None:
    """Return no stand-in for any image."""
    return None


class Registry:
    """The images of all hosts. Repositories are always named HOST/PATH. Thread-safe."""

    def __init__(
        self, folder: Path, database: Database, clock: Clock, *, stand_in: FindStandIn = no_stand_ins
    ) -> None:
        self.store = Store(database)
        self.files = BlobFiles(folder)
        self._clock = clock
        self._stand_in = stand_in
        self._files_lock = threading.RLock()
        self._recover()

    # Reading

    def resolve(self, name: str) -> StoredManifest | None:
        """Return the manifest of a canonical image name. Tag and digest are optional.

        Raises `RegistryError` 400 for an invalid name.
        """
        parsed = names.parse_image_name(name)
        return self.manifest(parsed.repository, parsed.reference)

    def manifest(self, repository: str, reference: str) -> StoredManifest | None:
        """Return a manifest by tag or digest, or the stand-in for a tag that was never pushed.

        Raises `RegistryError` 400 for an invalid reference.
        """
        names.check_reference(reference)
        if names.is_digest(reference):
            return self.store.manifest(repository, reference)
        digest = self.store.tagged(repository, reference)
        stored = self.store.manifest(repository, digest) if digest is not None else None
        if stored is None:
            stored = self._find_stand_in(repository, reference)
        return None if stored is None else replace(stored, tag=reference)

    def blob_path(self, digest: str) -> Path | None:
        """Return the path of a blob of any repository. Raises `RegistryError` 400 for an invalid digest."""
        path = self.files.path(digest)
        return path if path.is_file() else None

    def blob_size(self, repository: str, digest: str) -> int | None:
        """Return the size of a blob of the repository in bytes, and delay its garbage collection."""
        size = self.store.blob_size(digest, repository=repository)
        if size is not None:
            now = self._clock.microseconds()
            self.store.touch(repository, digest, at=now, unless_since=now - _TOUCH_SECONDS * 1_000_000)
        return size

    # Writing

    def put_blob(self, repository: str, content: bytes, *, digest: str | None = None) -> str:
        """Store a blob and return its digest.

        Raises `RegistryError` 400 if the content does not match `digest`.
        """
        names.check_repository(repository)
        computed = names.digest_of(content, algorithm=names.algorithm_of(digest) if digest else "sha256")
        if digest is not None and digest != computed:
            raise digest_invalid(f"The content has the digest {computed}, not {digest}.")
        with self._files_lock:
            if self.store.blob_size(computed) is None:
                self.files.write(computed, content)
            self._record(repository, computed, len(content))
        return computed

    def adopt_blob(self, repository: str, path: Path, *, digest: str, size: int) -> None:
        """Make the file at `path` a blob of the repository.

        It must have that digest and be flushed to the disk.
        """
        with self._files_lock:
            if self.store.blob_size(digest) is None:
                self.files.adopt(path, digest)
            else:
                path.unlink(missing_ok=True)
            self._record(repository, digest, size)

    def _record(self, repository: str, digest: str, size: int) -> None:
        with self.store.transaction():
            self.store.add_blob(digest, size)
            self.store.link(repository, digest, at=self._clock.microseconds())

    def mount(self, repository: str, digest: str, *, source: str | None = None) -> bool:
        """Link a blob of `source`, or of any repository, to `repository`.

        Return False if there is no such blob.
        """
        names.check_digest(digest)
        with self.store.transaction():
            there = self.store.blob_size(digest, repository=source) is not None
            if there:
                self.store.link(repository, digest, at=self._clock.microseconds())
            return there

    def put_manifest(
        self,
        repository: str,
        reference: str,
        media_type: str,
        content: bytes,
        *,
        allowed: Callable[[], None] | None = None,
        moving: Callable[[str, str], None] | None = None,
    ) -> StoredManifest:
        """Store a manifest under a tag or its digest.

        `allowed()` raises if the manifest may not be stored, for instance because the repository was deleted
        meanwhile. `moving(tag, digest)` raises if the tag must keep pointing to `digest`. Raises
        `RegistryError` 400 for an invalid manifest, 404 for references to missing content.
        """
        names.check_repository(repository)
        names.check_reference(reference)
        algorithm = names.algorithm_of(reference) if names.is_digest(reference) else "sha256"
        digest = names.digest_of(content, algorithm=algorithm)
        if names.is_digest(reference) and reference != digest:
            raise digest_invalid(f"The manifest has the digest {digest}, not {reference}.")
        read = read_manifest(content, media_type)
        tag = None if names.is_digest(reference) else reference
        self.store.step("put manifest")
        with self.store.transaction():
            if allowed is not None:
                allowed()
            self._check_pushed(repository, read)
            if tag is not None:
                before = self.store.tagged(repository, tag)
                if moving is not None and before not in (None, digest):
                    moving(tag, str(before))
            stored = self._put(repository, digest, media_type, content, read)
            if tag is not None:
                self.store.put_tag(repository, tag, digest, at=stored.pushed)
        return replace(stored, tag=tag)

    def _put(
        self,
        repository: str,
        digest: str,
        media_type: str,
        content: bytes,
        read: Manifest,
        *,
        stand_in: bool = False,
    ) -> StoredManifest:
        stored = StoredManifest(
            repository=repository,
            digest=digest,
            media_type=media_type,
            content=content,
            subject=read.subject,
            artifact_type=read.artifact_type,
            annotations=read.annotations,
            pushed=self._clock.microseconds(),
            stand_in=stand_in,
        )
        self.store.put_manifest(stored, read)
        return stored

    def _check_pushed(self, repository: str, read: Manifest) -> None:
        """Check that all referenced content has been pushed. Raises `RegistryError` 404."""
        missing = [each for each in read.blobs if each.required and not self._fits(repository, each)]
        missing += [each for each in read.manifests if not self.store.has_manifest(repository, each.digest)]
        if missing:
            listed = ", ".join(each.digest for each in missing[:_SHOWN])
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            raise RegistryError(
                404,
                "MANIFEST_BLOB_UNKNOWN",
                f"The manifest refers to content that the repository {repository} does not have: "
                f"{listed}{more}. Push it first.",
                detail=[{"digest": each.digest} for each in missing[:_SHOWN]],
            )

    def _fits(self, repository: str, each: Descriptor) -> bool:
        size = self.store.blob_size(each.digest, repository=repository)
        if size is not None and size != each.size:
            raise RegistryError(
                400,
                "SIZE_INVALID",
                f"The manifest says that {each.digest} has {each.size} bytes; it has {size}.",
                detail={"digest": each.digest},
            )
        return size is not None

    def _find_stand_in(self, repository: str, tag: str) -> StoredManifest | None:
        stand_in = self._stand_in(repository, tag)
        if stand_in is None:
            return None
        digest = names.digest_of(stand_in.manifest)
        stored = self.store.manifest(repository, digest)
        if stored is None:
            for blob in stand_in.blobs:
                self.put_blob(repository, blob)
            read = read_manifest(stand_in.manifest, stand_in.media_type)
            with self.store.transaction():
                self._check_pushed(repository, read)
                stored = self._put(
                    repository, digest, stand_in.media_type, stand_in.manifest, read, stand_in=True
                )
        return stored

    # Removing

    def delete_manifest(self, repository: str, digest: str) -> bool:
        """Delete a manifest with its tags.

        Return whether it existed. Garbage collection deletes its blobs.
        """
        return self.store.remove_manifest(repository, names.check_digest(digest))

    def delete_tag(self, repository: str, tag: str) -> bool:
        return self.store.remove_tag(repository, tag)

    def delete_blob(self, repository: str, digest: str) -> bool:
        """Unlink a blob from the repository.

        Return whether it was linked. Garbage collection deletes the file.
        """
        return self.store.unlink(repository, names.check_digest(digest))

    def delete_repository(self, repository: str) -> None:
        """Delete all contents of a repository."""
        for identifier in self.store.uploads_of(repository):
            self.files.remove_upload(identifier)
        self.store.remove_repository(repository)

    def collect(self) -> int:
        """Delete blobs to which no manifest has referred for an hour. Return the number of deleted files.

        Nothing is deleted from a repository with an active upload.
        """
        before = self._clock.microseconds() - GRACE_SECONDS * 1_000_000
        with self._files_lock, self.store.transaction():
            for repository, digest in self.store.stale_links(before=before):
                self.store.unlink(repository, digest)
        with self._files_lock:
            with self.store.transaction():
                unused = self.store.unlinked_blobs()
                self.store.remove_blobs(unused)
            for digest in unused:
                self.files.remove(digest)
        return len(unused)

    @contextmanager
    def lock_files(self) -> Iterator[None]:
        """Hold the lock under which blob files are created and deleted. Enter it before a transaction."""
        with self._files_lock:
            yield

    def remove_all(self) -> None:
        with self._files_lock:
            self.store.remove_all()
            self.files.remove_all()

    def _recover(self) -> None:
        """Delete unrecorded files and records without files after the emulator was killed."""
        with self._files_lock:
            recorded, present = set(self.store.blobs()), set(self.files.digests())
            for digest in present - recorded:
                self.files.remove(digest)
            if lost := recorded - present:
                log.warning("%d blobs of the registry have lost their files", len(lost))
                self.store.remove_blobs(lost)
            uploads, begun = set(self.files.uploads()), self.store.uploads()
            for identifier in uploads - set(begun):
                self.files.remove_upload(identifier)
            for identifier in set(begun) - uploads:
                self.store.remove_upload(identifier)
