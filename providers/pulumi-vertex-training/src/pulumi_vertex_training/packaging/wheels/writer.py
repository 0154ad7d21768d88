"""Write a wheel whose bytes depend only on its files.

The zip container is written here instead of by the standard library, as `archive` does with tar: sorted
names, dist-info last, fixed times, no compression. Of the mode, only the owner's execute bit counts. Format:
PyPA specification "Binary distribution format"; zip: APPNOTE 6.3.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pulumi_vertex_training.packaging.archive import Entry, unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

TAG: Final = "py3-none-any"
LARGEST: Final = 2**32 - 2**24
"""The most bytes that a zip file can hold without extensions, with a reserve for its directory."""

MOST_FILES: Final = 65_000

_DATE: Final = 1 << 5 | 2
"""1980-01-02 in the format of MS-DOS, as in `archive.MODIFIED`."""

_UTF8: Final = 0x800
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class _Member:
    """A file with the facts that must be known before its first byte is written."""

    entry: Entry
    crc32: int
    sha256: str
    size: int


def is_wheel(file_name: str) -> bool:
    """Return whether a file name names a wheel."""
    return file_name.endswith(".whl")


def dist_info(file_name: str) -> str:
    """Return the folder of a wheel's metadata, by the name of its file."""
    return "-".join(file_name.split("-")[:2]) + ".dist-info"


def wheel(entries: Sequence[Entry], *, file_name: str) -> Iterator[bytes]:
    """Yield the bytes of a `.whl` with these files and their RECORD.

    Raises PackagingError if a file cannot be read, or changes while it is read.
    """
    info = dist_info(file_name)
    members = [
        _measured(entry)
        for entry in sorted(entries, key=lambda one: (one.path.startswith(f"{info}/"), one.path.encode()))
    ]
    record = _record(members, f"{info}/RECORD")
    members.append(_measured(record))
    directory, offset = b"", 0
    for member in members:
        header = _local_header(member)
        directory += _directory_entry(member, offset)
        yield header
        written = checksum = 0
        for chunk in _chunks(member.entry):
            checksum = zlib.crc32(chunk, checksum)
            written += len(chunk)
            yield chunk
        if (checksum, written) != (member.crc32, member.size):
            raise PackagingError([_changed(member.entry)])
        offset += len(header) + written
    yield directory
    count = len(members)
    yield struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), offset, 0)


def _measured(entry: Entry) -> _Member:
    sha256, crc32, size = hashlib.sha256(), 0, 0
    for chunk in _chunks(entry):
        sha256.update(chunk)
        crc32 = zlib.crc32(chunk, crc32)
        size += len(chunk)
    if size != entry.size:
        raise PackagingError([_changed(entry)])
    digest = base64.urlsafe_b64encode(sha256.digest()).rstrip(b"=").decode()
    return _Member(entry=entry, crc32=crc32, sha256=digest, size=size)


def _chunks(entry: Entry) -> Iterator[bytes]:
    if not isinstance(entry.content, Path):
        yield entry.content
        return
    try:
        with entry.content.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise PackagingError([unreadable(entry.path, error)]) from error


def _changed(entry: Entry) -> Problem:
    message = "changed while it was being read. Run again when nothing writes to it."
    return Problem(path=entry.path, message=message)


def _record(members: Sequence[_Member], path: str) -> Entry:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows((one.entry.path, f"sha256={one.sha256}", one.size) for one in members)
    rows.writerow((path, "", ""))
    content = text.getvalue().encode()
    return Entry(path=path, content=content, size=len(content))


def _local_header(member: _Member) -> bytes:
    name, flags = _name(member)
    return struct.pack("<4s2H", b"PK\3\4", 20, flags) + _facts(member, name) + name


def _directory_entry(member: _Member, offset: int) -> bytes:
    name, flags = _name(member)
    mode = 0o100755 if member.entry.executable else 0o100644
    made_by = 3 << 8 | 20  # Unix
    head = struct.pack("<4s3H", b"PK\1\2", made_by, 20, flags)
    return head + _facts(member, name) + struct.pack("<3H2L", 0, 0, 0, mode << 16, offset) + name


def _facts(member: _Member, name: bytes) -> bytes:
    """Return the part that both headers share: stored, time, checksum, sizes, the length of the name."""
    return struct.pack("<3H3L2H", 0, 0, _DATE, member.crc32, member.size, member.size, len(name), 0)


def _name(member: _Member) -> tuple[bytes, int]:
    name = member.entry.path.encode()
    return name, 0 if name.isascii() else _UTF8
