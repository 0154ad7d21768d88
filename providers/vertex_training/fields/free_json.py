"""Values of no fixed shape (google.protobuf.Value) as one text, which keeps a spec frozen and comparable."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from vertex_training.fields.values import UNKNOWN, Unknown


def as_text(value: object) -> object:
    """A value as canonical JSON; such a text comes back as it is, and `UNKNOWN` for what holds an unknown.

    Whole numbers lose their ".0": the API keeps every number as a double. What JSON cannot write comes back
    as it is, for the decoder to refuse.

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
    """The value of a text that `as_text` wrote; any other text is itself."""
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
