"""Hashes of one file that is staged as it is."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training.packaging.archive import unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.tree import file_entry
from vertex_training.findings.problems import Problem

_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class FileDigest:
    """`sha256` in hex, `size` in bytes, `crc32c` as Cloud Storage writes it: base64 of four bytes."""

    sha256: str
    size: int
    crc32c: str | None = None


def file_digest(path: Path, *, crc32c: bool = False) -> FileDigest:
    """Hashes a file in one pass; with `crc32c` also the checksum that Cloud Storage keeps of every object.

    Raises PackagingError, its problem at "source", when there is no such file or it cannot be read.
    """
    try:
        status = file_entry(path, "source")
        if isinstance(status, Problem):
            raise PackagingError([status])
        with path.open("rb", buffering=0) as file:
            sha256, checksum = hashlib.sha256(), Crc32c() if crc32c else None
            size = 0
            while chunk := file.read(_CHUNK):
                sha256.update(chunk)
                size += len(chunk)
                if checksum:
                    checksum.update(chunk)
    except FileNotFoundError as error:
        message = f"{path} does not exist. Correct the path."
        raise PackagingError([Problem(path="source", message=message)]) from error
    except OSError as error:
        raise PackagingError([unreadable("source", error)]) from error
    text = checksum.text() if checksum else None
    return FileDigest(sha256=sha256.hexdigest(), size=size, crc32c=text)


class Crc32c:
    """A running CRC-32C (Castagnoli)."""

    def __init__(self) -> None:
        # imported here: hashing for a preview must load no Google package
        import google_crc32c

        untyped: Any = google_crc32c
        self._checksum = untyped.Checksum()

    def update(self, chunk: bytes) -> None:
        """Takes in more bytes."""
        self._checksum.update(chunk)

    def text(self) -> str:
        """The checksum as Cloud Storage writes it: base64 of its four bytes, big-endian."""
        digest: bytes = self._checksum.digest()
        return base64.b64encode(digest).decode()
