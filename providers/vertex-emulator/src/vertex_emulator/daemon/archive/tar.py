"""The archive's file format: an uncompressed tar file of plain files, read and written in order.

Archives are not trusted. The reader accepts plain files only, without links, sparse files and extended
headers. It never uses a member's name as a path, and the unpacked content is no larger than the archive.
tar(1) can read the archive as well.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import BinaryIO

from vertex_emulator.server.http.messages import ByteSource

BLOCK = 512
_COPIED = 1 << 20
_MAX_NAME = 100


class ArchiveError(ValueError):
    """The file is not a valid archive of an emulator's state; the message names the member."""


class ShorterError(OSError):
    """A file became shorter while it was read."""


class Writer:
    """Writes members to `file`, and leaves it open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, name: str, data: bytes) -> None:
        """Write a member with this content."""
        self._head(name, len(data))
        self._file.write(data)
        self._pad(len(data))

    def add_file(self, name: str, source: BinaryIO, size: int) -> None:
        """Write a member with `size` bytes of a file, from its current position. Raises `ShorterError`."""
        self._head(name, size)
        left = size
        while left:
            data = source.read(min(left, _COPIED))
            if not data:
                raise ShorterError(f"{name} became shorter while it was read")
            self._file.write(data)
            left -= len(data)
        self._pad(size)

    def close(self) -> None:
        """Write the end of the archive."""
        self._file.write(bytes(2 * BLOCK))
        self._file.flush()

    def _head(self, name: str, size: int) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        self._file.write(info.tobuf(tarfile.GNU_FORMAT, "ascii", "strict"))

    def _pad(self, size: int) -> None:
        self._file.write(bytes(-size % BLOCK))


class Member:
    """One file of an archive. It must be read before the next one."""

    def __init__(self, source: _Exact, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self._source = source
        self._left = size

    def read(self, n: int = _COPIED, /) -> bytes:
        """Read at most `n` bytes. Return b"" at the end."""
        data = self._source.read_exactly(min(n, self._left)) if self._left else b""
        self._left -= len(data)
        return data

    def whole(self, *, most: int) -> bytes:
        """Read the whole content. Raises `ArchiveError` if it is longer than `most` bytes."""
        if self.size > most:
            raise ArchiveError(f"{self.name} has {self.size} bytes; the limit is {most}.")
        return b"".join(iter(self.read, b""))

    def skip(self) -> None:
        """Skip the unread rest and the padding."""
        while self.read():
            pass
        self._source.read_exactly(-self.size % BLOCK)


def members(source: ByteSource) -> Iterator[Member]:
    """Yield the members in order, and skip the unread rest of each. Raises `ArchiveError`."""
    exact = _Exact(source)
    while True:
        block = exact.read_exactly(BLOCK)
        if block == bytes(BLOCK):
            break
        member = Member(exact, *_header(block))
        yield member
        member.skip()
    while source.read(_COPIED):  # tar programs pad their last record
        pass


def _header(block: bytes) -> tuple[str, int]:
    try:
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.TarError, ValueError) as error:
        raise ArchiveError("it is not a tar file, or it is damaged: a header cannot be read.") from error
    if info.type != tarfile.REGTYPE:
        raise ArchiveError(f"{info.name[:_MAX_NAME]!r} is not a plain file.")
    if info.size < 0:
        raise ArchiveError(f"{info.name[:_MAX_NAME]!r} has a negative size.")
    return info.name, info.size


class _Exact:
    def __init__(self, source: ByteSource) -> None:
        self._source = source

    def read_exactly(self, size: int) -> bytes:
        parts, left = [], size
        while left:
            data = self._source.read(left)
            if not data:
                raise ArchiveError("it ends in the middle.")
            parts.append(data)
            left -= len(data)
        return b"".join(parts)
