"""The files of the registry: blobs by digest, and unfinished uploads.

A blob is renamed to its final path only after all of it has been written and flushed to the disk. A file at
that path is therefore complete, even after a power failure, which can only undo the renaming. Paths are built
from validated digests and generated identifiers only, never from other text of a client.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from vertex_emulator.services.container_registry.names import ALGORITHMS, ENCODED, algorithm_of, check_digest

BLOCK = 1 << 17
"""Bytes per read: large enough to be fast, small enough to keep the sender from waiting."""

_UPLOAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class BlobFiles:
    """The folder `root` of a registry, with blobs/ALGORITHM/XX/DIGEST and uploads/ID."""

    def __init__(self, root: Path) -> None:
        self._blobs = root / "blobs"
        self._uploads = root / "uploads"
        root.mkdir(mode=0o700, exist_ok=True)
        self._make_folders()

    def path(self, digest: str) -> Path:
        """Return the path of a blob, which may not exist.

        Raises `RegistryError` 400 for an invalid digest.
        """
        algorithm, _, encoded = check_digest(digest).partition(":")
        return self._blobs / algorithm / encoded[:2] / encoded

    def upload_path(self, identifier: str) -> Path:
        """Return the path of an upload's file. For an invalid identifier, return a path that never exists."""
        return self._uploads / (identifier if _UPLOAD.fullmatch(identifier) else "-")

    def new_upload(self) -> str:
        """Create the empty file of a new upload and return its identifier, a UUID."""
        drawn = secrets.token_hex(16)
        identifier = "-".join((drawn[:8], drawn[8:12], drawn[12:16], drawn[16:20], drawn[20:]))
        os.close(os.open(self.upload_path(identifier), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return identifier

    def adopt(self, path: Path, digest: str) -> None:
        """Make the file at `path` the blob. It must have that digest and be flushed to the disk."""
        target = self.path(digest)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        path.replace(target)

    def write(self, digest: str, content: bytes) -> None:
        """Write `content` as a blob."""
        path = self.upload_path(self.new_upload())
        with path.open("wb") as file:
            file.write(content)
            flush(file)
        self.adopt(path, digest)

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """Yield the digests of all blobs. Other files, which a person may have put there, are passed over."""
        for algorithm in ALGORITHMS:
            for path in self._blobs.glob(f"{algorithm}/??/*"):
                if ENCODED[algorithm].fullmatch(path.name) and path.parent.name == path.name[:2]:
                    yield f"{algorithm}:{path.name}"

    def uploads(self) -> Iterator[str]:
        """Yield the identifiers of all uploads."""
        for path in self._uploads.iterdir():
            if _UPLOAD.fullmatch(path.name):
                yield path.name

    def remove_upload(self, identifier: str) -> None:
        self.upload_path(identifier).unlink(missing_ok=True)

    def remove_all(self) -> bool:
        """Remove all blobs and uploads. Return whether there were any."""
        digests, uploads = list(self.digests()), list(self.uploads())
        for digest in digests:
            self.remove(digest)
        for identifier in uploads:
            self.remove_upload(identifier)
        return bool(digests or uploads)

    def remove_folders(self) -> None:
        """Remove the folders, except those with other files. Nothing can be stored any longer."""
        algorithms = [self._blobs / algorithm for algorithm in ALGORITHMS]
        parents = (path for algorithm in algorithms for path in algorithm.glob("[0-9a-f][0-9a-f]"))
        for folder in (*parents, *algorithms, self._blobs, self._uploads):
            with suppress(OSError):
                folder.rmdir()

    def _make_folders(self) -> None:
        algorithms = (self._blobs / algorithm for algorithm in ALGORITHMS)
        for folder in (self._blobs, self._uploads, *algorithms):
            folder.mkdir(mode=0o700, exist_ok=True)


def flush(file: BinaryIO) -> None:
    """Flush a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def digest_of_file(file: BinaryIO, algorithm: str) -> str:
    """Return the digest of an open file, and leave the file at its end."""
    file.seek(0)
    digest = hashlib.new(algorithm)
    while block := file.read(BLOCK):
        digest.update(block)
    return f"{algorithm}:{digest.hexdigest()}"


def has_digest(file: BinaryIO, digest: str) -> bool:
    """Return whether an open file has that digest."""
    return digest_of_file(file, algorithm_of(digest)) == digest
