"""JSON: values of people's programs as objects in camel case, and objects inside other documents."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Set
from typing import Any

from vertex_training.fields.schema import camel_case


def json_of(value: object, names: str = "") -> Any:
    """Return a value as JSON has it; with `names`, an object with these attributes alone.

    `names` are separated by spaces. A dataclass has the attributes that are its fields; keys of mappings stay
    as they are. Paths become text, and None stays null.
    """
    if names:
        return {camel_case(name): json_of(getattr(value, name)) for name in names.split()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return json_of(value, " ".join(field.name for field in dataclasses.fields(value)))
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: json_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, Set)):
        return [json_of(item) for item in value]
    return str(value) if hasattr(value, "__fspath__") else value


def nested(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the object at the end of a path of keys, or an empty one where a key is missing."""
    value: object = document
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
