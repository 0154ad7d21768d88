"""Google's JSON, read and written by the fields of a frozen dataclass.

Names are lowerCamelCase, 64-bit integers are strings, and empty or zero values are omitted, as the services
do on output (protobuf's JSON mapping).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from vertex_training.fields.decode import decode
from vertex_training.fields.schema import camel_case, default_of

T = TypeVar("T")


def to_json(message: object) -> dict[str, Any]:
    """Convert a message to the API's JSON.

    A required field is written even if it is empty, and so is one with explicit presence. If a field's
    metadata has `message`, that function makes the JSON of the field's value.
    """
    plain: dict[str, Any] = {}
    for field in dataclasses.fields(message):  # type: ignore[arg-type]
        value = getattr(message, field.name)
        needed = default_of(field) is dataclasses.MISSING or field.metadata.get("presence")
        if value or (needed and value is not None):
            as_message = field.metadata.get("message", _int64 if field.metadata.get("int64") else _value)
            plain[camel_case(field.name)] = as_message(value)
    return plain


def from_json(cls: type[T], value: Mapping[str, Any], *, path: str = "") -> T:
    """Read a message from the API's JSON, in either spelling of names, numbers and enums.

    Fields that the class does not have are ignored. Raises ValueError, naming every path, if a value cannot
    be read.
    """
    decoded = decode(cls, value, path=path, tolerant=True)
    if decoded.spec is None:
        raise ValueError("; ".join(str(problem) for problem in decoded.problems))
    return decoded.spec


def _int64(value: object) -> str | list[str]:
    return [str(item) for item in value] if isinstance(value, tuple) else str(value)


def _value(value: object) -> Any:
    if dataclasses.is_dataclass(value):
        return to_json(value)
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _value(item) for key, item in value.items()}
    return value
