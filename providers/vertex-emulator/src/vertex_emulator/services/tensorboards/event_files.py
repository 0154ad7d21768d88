"""The scalars in event files of TensorBoard, as TensorFlow, PyTorch and tensorboardX write them.

An event file consists of records: the length, its checksum, the data, and the checksum of the data. The data
is a message Event (tensorflow/core/util/event.proto), of which this module knows the fields about scalars.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import google_crc32c
from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

_MAX_RECORD = 256 << 20
_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_PLUGIN = "scalars"
_DOUBLE, _FLOAT, _INT32, _INT64, _BYTES, _STRING, _MESSAGE = 1, 2, 5, 3, 12, 9, 11
_MESSAGES: dict[str, tuple[tuple[str, int, int, bool, str], ...]] = {
    "PluginData": (("plugin_name", 1, _STRING, False, ""),),
    "Metadata": (("plugin_data", 1, _MESSAGE, False, "PluginData"),),
    "Tensor": (
        ("dtype", 1, _INT32, False, ""),
        ("tensor_content", 4, _BYTES, False, ""),
        ("float_val", 5, _FLOAT, True, ""),
        ("double_val", 6, _DOUBLE, True, ""),
        ("int_val", 7, _INT32, True, ""),
        ("int64_val", 10, _INT64, True, ""),
    ),
    "Value": (
        ("tag", 1, _STRING, False, ""),
        ("simple_value", 2, _FLOAT, False, ""),
        ("tensor", 8, _MESSAGE, False, "Tensor"),
        ("metadata", 9, _MESSAGE, False, "Metadata"),
    ),
    "Summary": (("value", 1, _MESSAGE, True, "Value"),),
    "Event": (
        ("wall_time", 1, _DOUBLE, False, ""),
        ("step", 2, _INT64, False, ""),
        ("summary", 5, _MESSAGE, False, "Summary"),
    ),
}
"""The known fields of each message: name, number, type, whether it is repeated, and the name of a message."""

_CONTENT = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}
"""The form of one number in `tensor_content` by TensorFlow's type."""


@dataclass(frozen=True)
class Scalar:
    """A number that a program has written: the tag, the step, the time in seconds since 1970, the value."""

    tag: str
    step: int
    wall_time: float
    value: float


@dataclass(frozen=True)
class Part:
    """The scalars of the complete records of a part of a file, and the position behind them.

    `plugins` has the plugin of each tag up to there: only the first value of a tag names it.
    """

    scalars: tuple[Scalar, ...]
    end: int
    plugins: Mapping[str, str]


def is_event_file(name: str) -> bool:
    """Return whether a file of that name is an event file, by TensorBoard's rule."""
    return "tfevents" in name


def read(path: Path, *, after: Part | None = None) -> Part:
    """Read an event file, or what follows a part of it, up to a record that is incomplete or damaged."""
    scalars: list[Scalar] = []
    plugins = {} if after is None else dict(after.plugins)
    end = 0 if after is None else after.end
    with path.open("rb") as file:
        file.seek(end)
        while (data := _record(file)) is not None:
            scalars += _scalars(data, plugins)
            end = file.tell()
    return Part(tuple(scalars), end, plugins)


def _record(file: BinaryIO) -> bytes | None:
    """Return the next record, or None without a complete one."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    length, checksum = _HEADER.unpack(header)
    if length > _MAX_RECORD or _masked(header[:8]) != checksum:
        return None
    data: bytes = file.read(length)
    footer = file.read(_CHECKSUM.size)
    if len(data) < length or len(footer) < _CHECKSUM.size or _masked(data) != _CHECKSUM.unpack(footer)[0]:
        return None
    return data


def _masked(data: bytes) -> int:
    value: int = google_crc32c.value(data)
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _scalars(data: bytes, plugins: dict[str, str]) -> Iterator[Scalar]:
    """Yield the scalars of an event, and note the plugin of each tag."""
    try:
        event: Any = _event_class().FromString(data)
    except DecodeError:
        return
    for value in event.summary.value:
        plugin = value.metadata.plugin_data.plugin_name
        if plugin:
            plugins[value.tag] = plugin
        if value.HasField("simple_value"):
            yield Scalar(value.tag, event.step, event.wall_time, value.simple_value)
        elif value.HasField("tensor") and plugins.get(value.tag) == _PLUGIN:
            number = _number(value.tensor)
            if number is not None:
                yield Scalar(value.tag, event.step, event.wall_time, number)


def _number(tensor: Any) -> float | None:
    """Return the number of a tensor with a single one."""
    form = _CONTENT.get(tensor.dtype)
    if form is not None and len(tensor.tensor_content) == struct.calcsize(form):
        return float(struct.unpack(form, tensor.tensor_content)[0])
    for name in ("float_val", "double_val", "int_val", "int64_val"):
        values = getattr(tensor, name)
        if len(values) == 1:
            return float(values[0])
    return None


@lru_cache(maxsize=1)
def _event_class() -> Any:
    """Return the class of Event messages, in a pool of its own."""
    file = descriptor_pb2.FileDescriptorProto(name="events.proto", package="events", syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated, of in fields:
            added = message.field.add(name=field, number=number, type=kind, label=3 if repeated else 1)
            if of:
                added.type_name = f".events.{of}"
            elif repeated:
                added.options.packed = True
    pool = DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("events.Event"))
