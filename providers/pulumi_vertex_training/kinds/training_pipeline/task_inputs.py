"""The inputs of a training task, in the API a value of no fixed type (`training_task_inputs`).

They are the fields of a message all the same: those of `CustomJobSpec` for a custom task. What goes out has
numbers as numbers and names of enums, as in the documentation's examples; what comes in may have either case
of names, every number as a double, numbers for enums and for arguments, as Google's own library sends them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from vertex_training.fields import wire
from vertex_training.fields.schema import camel_case, snake_case

_TEXTS = frozenset({"args", "command", "value", "package_uris"})
"""Fields whose numbers are texts: arguments and variables of a task."""


def to_inputs(message: object) -> dict[str, Any]:
    """The fields of a message as a task's inputs."""
    plain: dict[str, Any] = _numbers(message, wire.to_json(message))
    return plain


def from_inputs(value: object) -> Any:
    """Inputs with the types of their message: whole doubles as integers, numbers of arguments as texts."""
    return _typed(value, as_text=False)


def _numbers(message: object, plain: Any) -> Any:
    """JSON of a message with its 64-bit integers as numbers: a string would stay one."""
    if isinstance(message, Mapping):
        return {key: _numbers(item, plain[key]) for key, item in message.items()}
    if isinstance(message, tuple):
        return [_numbers(item, part) for item, part in zip(message, plain, strict=True)]
    if not dataclasses.is_dataclass(message) or not isinstance(plain, dict):
        return plain
    done = dict(plain)
    for field in dataclasses.fields(message):
        key, value = camel_case(field.name), getattr(message, field.name)
        if key not in plain or "message" in field.metadata:
            continue
        done[key] = (
            (list(value) if isinstance(value, tuple) else value)
            if field.metadata.get("int64")
            else _numbers(value, plain[key])
        )
    return done


def _typed(value: object, *, as_text: bool) -> object:
    if isinstance(value, Mapping):
        return {
            key: _typed(item, as_text=snake_case(str(key)) in _TEXTS and not isinstance(item, Mapping))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_typed(item, as_text=as_text) for item in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if as_text and isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value
