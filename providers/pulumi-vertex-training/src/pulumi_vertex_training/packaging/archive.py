"""Write a `.tar.gz` whose bytes depend only on its files.

The tar headers and the gzip container are written here instead of by the standard library, so the same files
give the same bytes with every version of Python and zlib. Owner, group, times and umask have no effect, and
of the mode only the owner's execute bit does. Deflate blocks are stored, not compressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

FORMAT: Final = 1
"""Increase it when the same input gives other bytes than before.

Every staged package then gets another hash, and jobs that use one are replaced.
"""

MODIFIED: Final = 315_619_200
"""1980-01-02 UTC: zip files, and so wheels built from the archive, cannot have earlier times."""

LARGEST_FILE: Final = 8 * 2**30 - 1
"""The most bytes that a tar header can hold without extensions."""

_CHUNK = 1 << 20
_RECORD = 10_240
_LARGEST_BLOCK = 65_535


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file of the archive; `path` has slashes and is relative to the top folder, `size` is in bytes.

    `content` is the bytes themselves or the file that holds them.
    """

    path: str
    content: bytes | Path
    size: int
    executable: bool = False


def text_entry(path: str, text: str) -> Entry:
    """Return an entry with this text in UTF-8."""
    content = text.encode()
    return Entry(path=path, content=content, size=len(content))


def read(entry: Entry) -> bytes:
    """Return the whole content. Raises OSError."""
    return entry.content if isinstance(entry.content, bytes) else entry.content.read_bytes()


def archive_size(entries: Iterable[Entry]) -> int:
    """Return roughly how many bytes the entries take in the archive, including headers and padding."""
    return sum(512 + entry.size + -entry.size % 512 for entry in entries)


def archive(entries: Iterable[Entry], *, top: str) -> Iterator[bytes]:
    """Yield the bytes of a `.tar.gz` that holds the entries below the folder `top`, sorted by path.

    Raises PackagingError if a file cannot be read or its size has changed.
    """
    return stored_gzip(_tar(entries, top))


def _tar(entries: Iterable[Entry], top: str) -> Iterator[bytes]:
    written = 0
    for entry in sorted(entries, key=lambda entry: entry.path.encode()):
        header = _headers(f"{top}/{entry.path}".encode(), entry.size, 0o755 if entry.executable else 0o644)
        yield header
        if isinstance(entry.content, bytes):
            yield entry.content
        else:
            yield from _file(entry, entry.content)
        padding = -entry.size % 512
        yield bytes(padding)
        written += len(header) + entry.size + padding
    yield bytes(1024 + -(written + 1024) % _RECORD)


def _file(entry: Entry, source: Path) -> Iterator[bytes]:
    remaining = entry.size
    try:
        with source.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                remaining -= len(chunk)
                if remaining < 0:
                    break
                yield chunk
    except OSError as error:
        raise PackagingError([unreadable(entry.path, error)]) from error
    if remaining:
        message = "changed while it was being read. Run again when nothing writes to it."
        raise PackagingError([Problem(path=entry.path, message=message)])


def unreadable(path: str, error: OSError) -> Problem:
    """Return the finding for a file or folder that cannot be read."""
    reason = error.strerror or str(error)
    return Problem(path=path, message=f"cannot be read: {reason}. Make it readable or leave it out.")


def _headers(name: bytes, size: int, mode: int) -> bytes:
    if len(name) <= 100 and name.isascii():
        return tar_header(name, size, mode, b"0")
    # pax has the name in UTF-8, of any length; the short name is for readers without pax support
    record = pax_record(b"path", name)
    extended = tar_header(b"././@PaxHeader", len(record), 0o644, b"x") + record + bytes(-len(record) % 512)
    short = name.decode().encode("ascii", "replace")[-100:]
    return extended + tar_header(short, size, mode, b"0")


def pax_record(key: bytes, value: bytes) -> bytes:
    """Return `<length> <key>=<value>` and a newline; the length includes its own digits."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest)
    while length != len(rest) + len(str(length)):
        length = len(rest) + len(str(length))
    return str(length).encode() + rest


def tar_header(
    name: bytes,
    size: int,
    mode: int,
    kind: bytes,
    *,
    uid: int = 0,
    gid: int = 0,
    modified: int = MODIFIED,
    link: bytes = b"",
) -> bytes:
    """Return one ustar header block (POSIX.1-1988); name and link have at most 100 bytes."""
    block = struct.pack(
        "100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x",
        name,
        b"%07o\0" % mode,
        b"%07o\0" % uid,
        b"%07o\0" % gid,
        b"%011o\0" % size,
        b"%011o\0" % modified,
        b" " * 8,
        kind,
        link,
        b"ustar\0",
        b"00",
        b"",
        b"",
        b"0000000\0",
        b"0000000\0",
        b"",
    )
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def stored_gzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a gzip member (RFC 1952) of stored deflate blocks (RFC 1951, 3.2.4), without name and time."""
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    full = struct.pack("<BHH", 0, _LARGEST_BLOCK, 0)
    pending = bytearray()
    checksum = length = 0
    for chunk in chunks:
        checksum = zlib.crc32(chunk, checksum)
        length += len(chunk)
        # at least one byte is held back: the last block is marked, and is known only at the end
        if len(pending) + len(chunk) <= _LARGEST_BLOCK:
            pending += chunk
            continue
        rest = memoryview(chunk)
        parts: list[bytes | bytearray | memoryview] = [full, pending, rest[: _LARGEST_BLOCK - len(pending)]]
        rest = rest[_LARGEST_BLOCK - len(pending) :]
        while len(rest) > _LARGEST_BLOCK:
            parts += [full, rest[:_LARGEST_BLOCK]]
            rest = rest[_LARGEST_BLOCK:]
        yield b"".join(parts)
        pending = bytearray(rest)
    yield struct.pack("<BHH", 1, len(pending), len(pending) ^ 0xFFFF) + bytes(pending)
    yield struct.pack("<LL", checksum, length & 0xFFFFFFFF)
