"""The files of the registry: blobs by their digest, and uploads on their way.

A blob gets its name in one step once all of it has been written and flushed to the disk: what has the name is
whole, also after a power failure, which may only take a name away again. Paths are made from checked digests
and from names that we draw, never from anything else that a client sends.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from vertex_emulator.container_registry.names import ALGORITHMS, algorithm_of, check_digest
from vertex_emulator.kernel.trees import remove_tree

BLOCK = 1 << 17
"""Bytes that are read at once: enough to be quick, so little that the sender does not have to wait."""

_UPLOAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class BlobFiles:
    """The folder `root` of a registry: blobs/ALGORITHM/XX/DIGEST and uploads/ID."""

    def __init__(self, root: Path) -> None:
        self._blobs = root / "blobs"
        self._uploads = root / "uploads"
        root.mkdir(mode=0o700, exist_ok=True)
        self._make_folders()

    def path(self, digest: str) -> Path:
        """Where the blob is, if it is there. Raises `RegistryError` 400 for what is no digest."""
        algorithm, _, encoded = check_digest(digest).partition(":")
        return self._blobs / algorithm / encoded[:2] / encoded

    def upload_path(self, identifier: str) -> Path:
        """The file of an upload; of an identifier that is none of ours, one that is never there."""
        return self._uploads / (identifier if _UPLOAD.fullmatch(identifier) else "-")

    def new_upload(self) -> str:
        """Make the empty file of a new upload; its identifier is a UUID."""
        drawn = secrets.token_hex(16)
        identifier = "-".join((drawn[:8], drawn[8:12], drawn[12:16], drawn[16:20], drawn[20:]))
        os.close(os.open(self.upload_path(identifier), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return identifier

    def adopt(self, path: Path, digest: str) -> None:
        """Make the file at `path`, whose bytes have that digest and are on the disk, the blob."""
        target = self.path(digest)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        path.replace(target)

    def write(self, digest: str, content: bytes) -> None:
        """Make a blob of what is in memory."""
        path = self.upload_path(self.new_upload())
        with path.open("wb") as file:
            file.write(content)
            flush(file)
        self.adopt(path, digest)

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """Of all blobs that there are."""
        for algorithm in self._blobs.iterdir():
            for folder in algorithm.iterdir():
                for path in folder.iterdir():
                    yield f"{algorithm.name}:{path.name}"

    def uploads(self) -> Iterator[str]:
        """The identifiers of all uploads that there are."""
        for path in self._uploads.iterdir():
            yield path.name

    def remove_upload(self, identifier: str) -> None:
        self.upload_path(identifier).unlink(missing_ok=True)

    def remove_all(self) -> None:
        for folder in (self._blobs, self._uploads):
            remove_tree(folder)
        self._make_folders()

    def _make_folders(self) -> None:
        algorithms = (self._blobs / algorithm for algorithm in ALGORITHMS)
        for folder in (self._blobs, self._uploads, *algorithms):
            folder.mkdir(mode=0o700, exist_ok=True)


def flush(file: BinaryIO) -> None:
    """Have the disk hold what was written."""
    file.flush()
    os.fsync(file.fileno())


def digest_of_file(file: BinaryIO, algorithm: str) -> str:
    """The digest of all of an open file; it is then at its end."""
    file.seek(0)
    found = hashlib.new(algorithm)
    while block := file.read(BLOCK):
        found.update(block)
    return f"{algorithm}:{found.hexdigest()}"


def has_digest(file: BinaryIO, digest: str) -> bool:
    return digest_of_file(file, algorithm_of(digest)) == digest
