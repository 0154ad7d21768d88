"""Read the scalars of TensorBoard's event files, without TensorFlow.

A file is a sequence of records (TFRecord): the length, a checksum of the length, the data, a checksum of the
data. The data is a message `Event` of tensorboard/compat/proto/event.proto. TensorBoard and tbparse read
them as well, but need 50 MB of packages and seconds to import. The files are written by the user's program,
so nothing in them is trusted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_LENGTH = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_MASK = 0xA282EAD8
_LARGEST = 16 << 20
"""Limit in bytes of one record: records of pictures are this large."""

Value = int | bytes
_UNITS = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}
"""The format of the content of a tensor, by its type: float, double, int32, int64."""

_LISTS = {5: "<f", 6: "<d"}
"""The fields of a tensor that have floats or doubles."""


class DamagedFileError(Exception):
    """The bytes are not from an event file."""


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """A value of a tag at a step; `time` is in seconds since 1970."""

    tag: str
    step: int
    value: float
    time: float


def scalars(data: bytes) -> tuple[list[Scalar], int]:
    """Return the scalars of whole records, and the number of bytes that these have.

    The rest is a record that is being written. Raises DamagedFileError.
    """
    found: list[Scalar] = []
    end = 0
    for record, end in _records(data):
        try:
            found += _scalars_of(record)
        except (ValueError, IndexError, struct.error) as error:
            raise DamagedFileError(f"The record before byte {end} is no event: {error}") from error
    return found, end


def _records(data: bytes) -> Iterator[tuple[bytes, int]]:
    checksum = _checksum()
    place = 0
    while len(data) - place >= _LENGTH.size:
        length, known = _LENGTH.unpack_from(data, place)
        if checksum(data[place : place + 8]) != known:
            raise DamagedFileError(f"The length at byte {place} does not have its checksum.")
        if length > _LARGEST:
            raise DamagedFileError(f"The record at byte {place} has {length} bytes.")
        begin = place + _LENGTH.size
        end = begin + length + _CHECKSUM.size
        if end > len(data):
            return
        record = data[begin : begin + length]
        if checksum(record) != _CHECKSUM.unpack_from(data, begin + length)[0]:
            raise DamagedFileError(f"The record at byte {place} does not have its checksum.")
        yield record, end
        place = end


def _checksum() -> Callable[[bytes], int]:
    import google_crc32c  # only for those who have such files

    def masked(data: bytes) -> int:
        crc: int = google_crc32c.value(data)
        return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF

    return masked


def _scalars_of(event: bytes) -> Iterator[Scalar]:
    time, step, summaries = 0.0, 0, []
    for number, value in _fields(event):
        if number == 1 and isinstance(value, bytes):
            (time,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >= 1 << 63 else value
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, value in _fields(summary):
            if number == 1 and isinstance(value, bytes):
                tag, scalar = _tag_and_value(value)
                if tag and scalar is not None:
                    yield Scalar(tag=tag, step=step, value=scalar, time=time)


def _tag_and_value(message: bytes) -> tuple[str, float | None]:
    tag, scalar = "", None
    for number, value in _fields(message):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode("utf-8", "replace")
        elif number == 2:
            (scalar,) = struct.unpack("<f", value)
        elif number == 8:
            scalar = _scalar_of_tensor(value)
    return tag, scalar


def _scalar_of_tensor(tensor: bytes) -> float | None:
    """Return the value of a tensor of one number, None for any other."""
    kind, content, listed = 0, b"", None
    for number, value in _fields(tensor):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 4 and isinstance(value, bytes):
            content = value
        elif number in _LISTS and isinstance(value, bytes) and len(value) == struct.calcsize(_LISTS[number]):
            (listed,) = struct.unpack(_LISTS[number], value)
    unit = _UNITS.get(kind)
    if unit is None:
        return None
    if len(content) == struct.calcsize(unit):
        (number_in_content,) = struct.unpack(unit, content)
        return float(number_in_content)
    return listed if not content else None


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message: numbers for varints, bytes for all others."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if kind == 2:
            length, place = _varint(message, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"the wire type {kind} is not known")
        if place + length > len(message):
            raise ValueError("a field is longer than its message")
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value & ((1 << 64) - 1), place
        if shift > 63:
            raise ValueError("a number has more than ten bytes")
