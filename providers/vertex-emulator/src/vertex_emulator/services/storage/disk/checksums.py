"""Checksums in Cloud Storage's format: base64 of MD5, and of CRC32C with the most significant byte first.

A CRC is linear: appending n zero bytes multiplies its register by a fixed 32 x 32 matrix over the field of
two elements. The matrices for powers of two are squares of each other (as in zlib's crc32_combine).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO, Protocol

import google_crc32c

from vertex_emulator.services.storage.errors import StorageError, invalid

_POLYNOMIAL = 0x82F63B78
_BITS = 32
_MAX_POWER = 64

Matrix = tuple[int, ...]


def combined(first: str, second: str, second_size: int) -> str:
    """Combine the CRC32Cs of two consecutive pieces, all in the API's base64."""
    register = int.from_bytes(base64.b64decode(first), "big")
    power, size = 3, second_size  # 2^3 bits are a byte
    while size:
        if size & 1:
            register = _times(_zeros(power), register)
        size >>= 1
        power += 1
    whole = register ^ int.from_bytes(base64.b64decode(second), "big")
    return base64.b64encode(whole.to_bytes(4, "big")).decode("ascii")


@lru_cache(maxsize=_MAX_POWER + 4)
def _zeros(power: int) -> Matrix:
    """Return the matrix that appends 2^power zero bits."""
    if power == 0:
        return (_POLYNOMIAL, *(1 << bit for bit in range(_BITS - 1)))
    half = _zeros(power - 1)
    return tuple(_times(half, column) for column in half)


def _times(matrix: Matrix, vector: int) -> int:
    result = 0
    for column in matrix:
        if vector & 1:
            result ^= column
        vector >>= 1
    return result


_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The checksums that a client sent; None for each that it did not send."""

    crc32c: str | None = None
    md5: str | None = None


class Sums(Protocol):
    """Size and checksums of content; `md5` is empty if it is unknown."""

    @property
    def size(self) -> int: ...
    @property
    def md5(self) -> str: ...
    @property
    def crc32c(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Known:
    """Known size and checksums of content."""

    size: int
    crc32c: str
    md5: str = ""


_BEHIND = 1 << 18
"""The size from which a block is worth the work of another thread."""
_IDLE: deque[ThreadPoolExecutor | None] = deque([None] * ((os.cpu_count() or 1) - 1))
"""Threads that compute checksums, one fewer than processors. None stands for one that has not begun yet."""


def _in_background(work: Callable[[], None]) -> Future[None] | None:
    """Begin work in another thread. Return None if no thread is free, or none can be started."""
    try:
        thread = _IDLE.pop() or ThreadPoolExecutor(1, "checksums")
    except IndexError:
        return None

    def run() -> None:
        try:
            work()
        finally:
            _IDLE.append(thread)  # before the caller knows of the end, so that it can go on with this thread

    try:
        return thread.submit(run)
    except RuntimeError:  # a program has used up the user's limit of processes and threads
        _IDLE.appendleft(None)
        return None


class Checksums:
    """Size and checksums of a stream of bytes.

    The checksums of a large block are computed while the caller gets the next one. One caller at a time.
    """

    def __init__(self) -> None:
        self._size = 0
        self._behind: Future[None] | None = None
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._crc32c: Any = google_crc32c.Checksum()  # type: ignore[no-untyped-call]

    def update(self, data: bytes) -> None:
        self._settle()
        is_first = self._size == 0
        self._size += len(data)
        if len(data) >= _BEHIND and not is_first:
            self._behind = _in_background(lambda: self._add(data))
        if self._behind is None:
            self._add(data)

    def _add(self, data: bytes) -> None:
        self._md5.update(data)
        self._crc32c.update(data)

    def _settle(self) -> None:
        if self._behind is not None:
            self._behind.result()
            self._behind = None

    @property
    def size(self) -> int:
        return self._size

    @property
    def md5(self) -> str:
        self._settle()
        return base64.b64encode(self._md5.digest()).decode("ascii")

    @property
    def crc32c(self) -> str:
        self._settle()
        return base64.b64encode(self._crc32c.digest()).decode("ascii")


def of_file(file: BinaryIO) -> Checksums:
    """Compute the checksums of an open file from its current position on."""
    sums = Checksums()
    while block := file.read(_BLOCK):
        sums.update(block)
    return sums


def verify(sums: Sums, *expectations: Expected) -> None:
    """Check the data against the checksums that the client sent. Raises `StorageError` 400."""
    for expected in expectations:
        for kind, given, found in (
            ("CRC32C", expected.crc32c, sums.crc32c),
            ("MD5 hash", expected.md5, sums.md5),
        ):
            if given is not None and given != found:
                raise invalid(f'Provided {kind} "{given}" doesn\'t match calculated {kind} "{found}".')


def from_header(headers: Mapping[str, str]) -> Expected:
    """Parse the header `X-Goog-Hash: crc32c=...,md5=...`. Raises `StorageError` 400."""
    values: dict[str, str] = {}
    for item in headers.get("x-goog-hash", "").split(","):
        kind, sign, value = item.strip().partition("=")
        if not kind:
            continue
        if kind not in ("crc32c", "md5") or not sign:
            raise invalid(f"X-Goog-Hash has {item.strip()!r}; it must have crc32c=VALUE or md5=VALUE.")
        values[kind] = value
    return Expected(**{kind: _checked(kind, value) for kind, value in values.items()})


def from_resource(crc32c: object, md5: object) -> Expected:
    """Check the fields crc32c and md5Hash of an object resource. Raises `StorageError` 400."""
    return Expected(
        crc32c=None if crc32c is None else _checked("crc32c", crc32c),
        md5=None if md5 is None else _checked("md5", md5),
    )


def _checked(kind: str, value: object) -> str:
    size = 4 if kind == "crc32c" else 16
    try:
        if isinstance(value, str) and len(base64.b64decode(value, validate=True)) == size:
            return value
    except ValueError as error:
        raise _not_checksum(kind, value, size) from error
    raise _not_checksum(kind, value, size)


def _not_checksum(kind: str, value: object, size: int) -> StorageError:
    return invalid(f"Invalid {kind} value {value!r}: it must be {size} bytes in base64.")
