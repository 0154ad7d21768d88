"""Read the entries of a layer one after the other from a compressed stream, in bounded memory.

Written apart from `tarfile`, which reads a header of any size into memory; only its parser of one block is
used. Understands ustar, GNU long names and pax; not sparse files.
"""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from vertex_emulator.replicas.images.image import ImageError

_BLOCK = 512
_CHUNK = 1 << 18
_MAX_HEADER = 1 << 20
_RATIO = 200
_RATIO_FROM = 100 * (1 << 20)
_SPARSE = (b"S",)
_PAX = frozenset({"linkpath", "mtime", "path", "size"})
_GNU_SPARSE = "GNU.sparse."
"""Keys of extended headers that are kept; a layer may have any number of others."""

_ALGORITHMS = ("sha256", "sha512")
_KINDS: Mapping[bytes, str] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"3": "device",
    b"4": "device",
    b"5": "directory",
    b"6": "device",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry. `kind`: file, directory, symlink, hardlink or device (a FIFO too); `mtime` in seconds."""

    name: str
    kind: str
    mode: int
    size: int
    mtime: float
    target: str


class LayerReader:
    """The uncompressed bytes of a blob. At the end, `check` compares them with the announced digests."""

    def __init__(self, blob: BinaryIO, what: str, *, digest: str, diff_id: str) -> None:
        self._blob = blob
        self._what = what
        self._digest, self._diff_id = digest, diff_id
        self._compressed = _hash(digest, what)
        self._plain = _hash(diff_id, what)
        self._packed = 0
        self._unpacked = 0
        self._ready = bytearray()
        first = self._more(_CHUNK)
        self._source = self._chunks(first)

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        while len(self._ready) < size:
            chunk = next(self._source, None)
            if chunk is None:
                break
            self._ready += chunk
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def check(self, *, size: int) -> None:
        """Read the rest. Raises `ImageError` if the blob is not the one that the manifest names."""
        self._ready.clear()
        for _ in self._source:
            pass
        while self._more(_CHUNK):
            pass
        if self._packed != size or not _is(self._compressed, self._digest):
            raise ImageError(f"{self._what} is damaged: its content does not have that digest and size")
        if not _is(self._plain, self._diff_id):
            raise ImageError(
                f"{self._what} is damaged: its unpacked content does not have the digest {self._diff_id} "
                "that the image names"
            )

    def _more(self, size: int) -> bytes:
        data = self._blob.read(size)
        self._compressed.update(data)
        self._packed += len(data)
        return data

    def _chunks(self, first: bytes) -> Iterator[bytes]:
        if first.startswith(b"\x1f\x8b"):
            chunks = self._gunzipped(first)
        elif first.startswith(b"\x28\xb5\x2f\xfd"):
            chunks = self._unzstd(first)
        else:
            chunks = self._as_they_are(first)
        for chunk in chunks:
            self._plain.update(chunk)
            self._unpacked += len(chunk)
            if self._unpacked > _RATIO_FROM and self._unpacked > _RATIO * self._packed:
                raise ImageError(
                    f"{self._what} unpacks to more than {_RATIO} times its size, which could fill the disk "
                    "and is not expected of an image"
                )
            yield chunk

    def _as_they_are(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            yield chunk
            chunk = self._more(_CHUNK)

    def _gunzipped(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of one or more gzip members."""
        while data:
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                try:
                    plain = member.decompress(data, _CHUNK)
                except zlib.error as error:
                    raise ImageError(f"{self._what} is not a gzip file: {error}") from None
                if plain:
                    yield plain
                data = member.unconsumed_tail or (b"" if member.eof else self._more(_CHUNK))
                if not member.eof and not data and not plain:
                    raise ImageError(f"{self._what} ends too early")
            data = member.unused_data or self._more(_CHUNK)
            if data and not data.strip(b"\0"):  # padding after the last member
                data = b""

    def _unzstd(self, data: bytes) -> Iterator[bytes]:
        make = _zstd()
        if make is None:
            raise ImageError(
                f"{self._what} is compressed with zstd, which this Python cannot unpack. Install it with "
                "`pip install zstandard` for the emulator's Python, or push the image with gzip layers"
            )
        yield from make(data, self._more)


def _zstd() -> Callable[[bytes, Callable[[int], bytes]], Iterator[bytes]] | None:
    """Return a zstd decompressor, or None.

    It is Python's own from 3.14 on, else the package zstandard's.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            import zstandard  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return None

        def by_package(first: bytes, more: Callable[[int], bytes]) -> Iterator[bytes]:
            reader = zstandard.ZstdDecompressor().stream_reader(_Stream(first, more), read_across_frames=True)
            while chunk := reader.read(_CHUNK):
                yield chunk

        return by_package

    def by_library(first: bytes, more: Callable[[int], bytes]) -> Iterator[bytes]:
        with zstd.ZstdFile(_Stream(first, more)) as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    return by_library


def _hash(digest: str, what: str) -> hashlib._Hash:
    algorithm = digest.partition(":")[0]
    if algorithm not in _ALGORITHMS:
        raise ImageError(
            f"{what} has the digest {digest[:80]!r}, which is not one of {', '.join(_ALGORITHMS)}"
        )
    return hashlib.new(algorithm)


def _is(found: hashlib._Hash, digest: str) -> bool:
    return f"{found.name}:{found.hexdigest()}" == digest


class _Stream:
    """A readable file made of data that was read already and the rest."""

    def __init__(self, first: bytes, more: Callable[[int], bytes]) -> None:
        self._first = first
        self._more = more

    def read(self, size: int = -1) -> bytes:
        wanted = _CHUNK if size < 0 else size
        if self._first:
            data, self._first = self._first[:wanted], self._first[wanted:]
            return data
        return self._more(wanted)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def entries(reader: LayerReader, what: str) -> Iterator[tuple[Entry, Iterator[bytes]]]:
    """Yield every entry with its content, which is skipped if it is not read before the next entry."""
    extended: dict[str, str] = {}
    for_all: dict[str, str] = {}
    while True:
        block = reader.read(_BLOCK)
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            return
        except tarfile.HeaderError:
            raise ImageError(f"{what} is not a tar archive, or is damaged") from None
        kind = info.type
        if kind in _SPARSE or _GNU_SPARSE in extended:
            raise ImageError(f"{what} has a sparse file, {info.name!r}, which the emulator cannot unpack")
        size = _number(extended.get("size"), info.size, what)
        if kind in (b"x", b"X", b"g", b"L", b"K"):
            if not 0 <= info.size <= _MAX_HEADER:
                raise ImageError(f"{what} has a header of {info.size} bytes; at most {_MAX_HEADER} are read")
            data = reader.read(_padded(info.size))[: info.size]
            if kind == b"g":
                for_all.update(_pax(data, what))
            elif kind in (b"x", b"X"):
                extended.update(_pax(data, what))
            else:
                extended["path" if kind == b"L" else "linkpath"] = _text(data.rstrip(b"\0"))
            continue
        fields = {**for_all, **extended}
        extended = {}
        entry = Entry(
            name=fields.get("path", info.name),
            kind=_KINDS.get(kind, "file"),
            mode=info.mode,
            size=size if _KINDS.get(kind, "file") == "file" else 0,
            mtime=_time(fields.get("mtime"), info.mtime),
            target=fields.get("linkpath", info.linkname),
        )
        if entry.size < 0:
            raise ImageError(f"{what} has an entry of {entry.size} bytes")
        content = _content(reader, entry.size, what)
        yield entry, content
        for _ in content:
            pass


def _content(reader: LayerReader, size: int, what: str) -> Iterator[bytes]:
    left = size
    while left:
        chunk = reader.read(min(left, _CHUNK))
        if not chunk:
            raise ImageError(f"{what} ends too early")
        left -= len(chunk)
        yield chunk
    reader.read(_padded(size) - size)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _pax(data: bytes, what: str) -> dict[str, str]:
    """Return the relevant records of an extended header: `LENGTH KEY=VALUE` and a line feed."""
    records: dict[str, str] = {}
    at, end = 0, len(data.rstrip(b"\0"))
    while at < end:
        length, space, _ = data[at : at + 20].partition(b" ")
        if not space or not length.isdigit() or not len(length) + 1 < int(length) <= len(data) - at:
            raise ImageError(f"{what} has an extended header that cannot be read")
        record = data[at + len(length) + 1 : at + int(length) - 1]
        at += int(length)
        key, _, value = record.partition(b"=")
        if (name := _text(key)) in _PAX or name.startswith(_GNU_SPARSE):
            records[name if name in _PAX else _GNU_SPARSE] = _text(value)
    return records


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _number(text: str | None, other: int, what: str) -> int:
    if text is None:
        return other
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ImageError(f"{what} has an entry of {text[:20]!r} bytes")
    return int(text)


def _time(text: str | None, other: float) -> float:
    """Return a modification time that every file system accepts."""
    try:
        seconds = float(other if text is None else text)
    except ValueError:
        seconds = 0.0
    return min(max(seconds, 0.0), 4e9) if seconds == seconds else 0.0
