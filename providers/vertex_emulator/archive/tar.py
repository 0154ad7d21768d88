"""The archive: a tar file of plain files, not compressed, read and written strictly in order.

Whoever made it is not trusted. It is read block by block by these rules alone, and nothing in it names a
path: only plain files are let through, no links, no sparse files, no extended headers, and what is unpacked
is no larger than the archive is. tar(1) reads it too.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import BinaryIO

from vertex_emulator.http.messages import ByteSource

BLOCK = 512
_COPIED = 1 << 20
_MAX_NAME = 100


class ArchiveError(ValueError):
    """The archive is not one of an emulator's state; the message says where."""


class ShorterError(OSError):
    """A file has fewer bytes than it had."""


class Writer:
    """Writes members to `file`, which is left open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, name: str, data: bytes) -> None:
        """A member from memory."""
        self._head(name, len(data))
        self._file.write(data)
        self._pad(len(data))

    def add_file(self, name: str, source: BinaryIO, size: int) -> None:
        """So many bytes of a file, from where it stands. Raises `ShorterError`."""
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
        """Write the end."""
        self._file.write(bytes(2 * BLOCK))
        self._file.flush()

    def _head(self, name: str, size: int) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        self._file.write(info.tobuf(tarfile.GNU_FORMAT, "ascii", "strict"))

    def _pad(self, size: int) -> None:
        self._file.write(bytes(-size % BLOCK))


class Member:
    """One file of an archive, to be read before the next one is."""

    def __init__(self, source: _Exact, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self._source = source
        self._left = size

    def read(self, n: int = _COPIED, /) -> bytes:
        """At most `n` bytes; b"" at the end."""
        data = self._source.read_exactly(min(n, self._left)) if self._left else b""
        self._left -= len(data)
        return data

    def whole(self, *, most: int) -> bytes:
        """All of it. Raises `ArchiveError` when it is longer than `most`."""
        if self.size > most:
            raise ArchiveError(f"{self.name} has {self.size} bytes; the most is {most}.")
        return b"".join(iter(self.read, b""))

    def skip(self) -> None:
        """What was not read, and the padding."""
        while self.read():
            pass
        self._source.read_exactly(-self.size % BLOCK)


def members(source: ByteSource) -> Iterator[Member]:
    """The members in order; what was not read of one is skipped. Raises `ArchiveError`."""
    exact = _Exact(source)
    while True:
        block = exact.read_exactly(BLOCK)
        if block == bytes(BLOCK):
            break
        member = Member(exact, *_header(block))
        yield member
        member.skip()
    while source.read(_COPIED):  # tar programs fill up their last record
        pass


def _header(block: bytes) -> tuple[str, int]:
    try:
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.TarError, ValueError) as error:
        raise ArchiveError("it is not a tar file, or damaged: a header cannot be read.") from error
    if info.type != tarfile.REGTYPE:
        raise ArchiveError(f"{info.name[:_MAX_NAME]!r} is not a plain file.")
    if info.size < 0:
        raise ArchiveError(f"{info.name[:_MAX_NAME]!r} has no possible size.")
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
