"""The fields of resources that only the service sets (google.api.field_behavior OUTPUT_ONLY)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage

UNMARKED = ("name", "etag")
"""Fields of a resource that only the service sets, but that some of Google's definitions do not mark."""

_is_output_only = lru_cache(maxsize=4096)(descriptors.is_output_only)


def without_server_owned(given: DynamicMessage) -> DynamicMessage:
    """Return a copy of a resource without the fields that only the service sets."""
    made = type(given)()
    made.CopyFrom(given)
    for name in UNMARKED:
        if name in made.DESCRIPTOR.fields_by_name:
            made.ClearField(name)
    _clear_output_only(made)
    return made


def _clear_output_only(message: DynamicMessage) -> None:
    for field, value in message.ListFields():
        if _is_output_only(field):
            message.ClearField(field.name)
        elif kind := field.message_type:
            for each in _messages(field, kind, value):
                _clear_output_only(each)


def _messages(field: FieldDescriptor, kind: Descriptor, value: Any) -> Iterable[DynamicMessage]:
    """Return the messages in a field, except for times, JSON values and the like."""
    if kind.GetOptions().map_entry:
        return value.values() if kind.fields_by_name["value"].message_type else ()
    if kind.full_name.startswith("google.protobuf."):
        return ()
    return value if field.is_repeated else [value]
