"""Fields of plain mappings before they are decoded, in snake case or in camel case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.fields.schema import camel_case


def key_of(value: Mapping[Any, Any], name: str) -> str:
    """Return the spelling in which a mapping has a field, snake case if it has none."""
    return next((key for key in (name, camel_case(name)) if value.get(key) is not None), name)


def get(value: object, name: str) -> Any:
    """Return a field of a mapping; None if it is not given, or if the value is not a mapping."""
    return value.get(key_of(value, name)) if isinstance(value, Mapping) else None


def with_fields(value: Mapping[Any, Any], **fields: object) -> dict[Any, Any]:
    """Return a copy with some fields set, each in the spelling that the mapping has it in."""
    return {**value, **{key_of(value, name): field for name, field in fields.items()}}
