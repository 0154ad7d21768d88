"""Values without a schema (google.protobuf.Value) as text, which keeps a spec frozen and comparable."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from vertex_training.fields.values import UNKNOWN, Unknown


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


def _plain(value: Any) -> Any:
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
