"""A package that is ready to be staged, and the hashes of a file."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from pulumi_vertex_training.packaging.archive import Entry, archive, unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.files import file_entry
from pulumi_vertex_training.packaging.wheels.writer import is_wheel, wheel
from vertex_training.findings.problems import Problem

_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class FileDigest:
    """The hashes of a file: `sha256` in hex, `crc32c` as in Cloud Storage (base64); `size` in bytes."""

    sha256: str
    size: int
    crc32c: str | None = None


def file_digest(path: Path, *, crc32c: bool = False) -> FileDigest:
    """Hash a file in one pass; with `crc32c`, also compute the checksum that Cloud Storage keeps of objects.

    Raises PackagingError, its problem at "source", if the file does not exist or cannot be read.
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
        # Imported late: hashing for a preview must not load a Google package.
        import google_crc32c

        untyped: Any = google_crc32c
        self._checksum = untyped.Checksum()

    def update(self, chunk: bytes) -> None:
        """Add more bytes."""
        self._checksum.update(chunk)

    def text(self) -> str:
        """Return the checksum as in Cloud Storage: base64 of its four bytes, big-endian."""
        digest: bytes = self._checksum.digest()
        return base64.b64encode(digest).decode()


@dataclass(frozen=True, kw_only=True)
class Package:
    """A `.tar.gz` or `.whl` that pip can install, identified by its hash; its bytes are created on demand.

    `sha256` (hex) and `size` (bytes) are the file's. `python_module` is the module that a job most
    likely runs, or None if unknown. `python_modules` are all that `python -m` can run, as far as the files
    tell; empty for a file that is used unchanged. `requirements` are those that pip installs too, as far as
    they are declared. `left_out` counts excluded files and folders. `problems` are warnings.

    `content` is the source of the bytes: files of an archive, or one file.
    """

    kind: Literal["script", "folder", "project", "built"]
    file_name: str
    sha256: str
    size: int
    python_module: str | None = None
    python_modules: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    left_out: int = 0
    problems: tuple[Problem, ...] = ()
    content: tuple[Entry, ...] | Path = field(repr=False, compare=False)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes, read again. Raises PackagingError at the end if their hash has changed."""
        sha256 = hashlib.sha256()
        for chunk in content_chunks(self.content, self.file_name):
            sha256.update(chunk)
            yield chunk
        if sha256.hexdigest() != self.sha256:
            message = "its source changed since it was hashed. Run again when nothing writes to it."
            raise PackagingError([Problem(path=self.file_name, message=message)])

    def write(self, stream: IO[bytes]) -> None:
        """Write the bytes to a stream. Raises PackagingError as `chunks` does, after writing them."""
        for chunk in self.chunks():
            stream.write(chunk)

    def save(self, folder: Path) -> Path:
        """Write the file to a folder, completely or not at all; return its path.

        Raises PackagingError as `chunks` does, and OSError if the folder cannot be written.
        """
        target = folder / self.file_name
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                self.write(stream)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return target

    def crc32c(self) -> str:
        """Return the checksum that Cloud Storage will report: base64 of CRC-32C. Reads all bytes."""
        checksum = Crc32c()
        for chunk in self.chunks():
            checksum.update(chunk)
        return checksum.text()


def content_chunks(content: Sequence[Entry] | Path, file_name: str) -> Iterator[bytes]:
    """Yield the bytes of a package. Raises PackagingError if a file cannot be read."""
    if not isinstance(content, Path):
        if is_wheel(file_name):
            yield from wheel(content, file_name=file_name)
            return
        yield from archive(content, top=file_name.removesuffix(".tar.gz"))
        return
    try:
        with content.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise PackagingError([unreadable(file_name, error)]) from error


def measure(content: Sequence[Entry] | Path, file_name: str) -> tuple[str, int]:
    """Return the hash (hex) and the size of a package's bytes, in one pass."""
    sha256 = hashlib.sha256()
    size = 0
    for chunk in content_chunks(content, file_name):
        sha256.update(chunk)
        size += len(chunk)
    return sha256.hexdigest(), size


def object_name(prefix: str, package: Package) -> str:
    """Return the name of a package in a bucket.

    It contains the hash, so that an unchanged package is not sent again. The file name is kept, because pip
    reads name and version from it. `prefix` may be empty.
    """
    parts = (prefix.strip("/"), package.sha256[:16], package.file_name)
    return "/".join(part for part in parts if part)
