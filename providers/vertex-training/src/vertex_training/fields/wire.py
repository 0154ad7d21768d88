"""Google's JSON, read and written by the fields of a frozen dataclass, and values without a schema.

Names are lowerCamelCase, 64-bit integers are strings, and empty or zero values are omitted, as the services
do on output (protobuf's JSON mapping).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from vertex_training.fields.decode import decode
from vertex_training.fields.schema import camel_case, default_of
from vertex_training.fields.values import UNKNOWN, Unknown

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


def as_text(value: object) -> object:
    """Convert a value to canonical JSON; `UNKNOWN` if it contains an unknown value.

    Such a text is returned unchanged. Whole numbers lose their ".0": the API keeps every number as a double.
    A value that JSON cannot represent is returned unchanged, so that the decoder rejects it.

    >>> as_text({"b": 1.0, "a": [True]})
    '{"a":[true],"b":1}'
    """
    if _holds_unknown(value):
        return UNKNOWN
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    try:
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        return value


def from_text(text: str) -> Any:
    """Return the value of a text that `as_text` wrote; return any other text unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _holds_unknown(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_unknown, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_holds_unknown, value))
    return isinstance(value, Unknown)
