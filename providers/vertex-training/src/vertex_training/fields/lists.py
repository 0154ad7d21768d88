"""One value in place of a list, as gcloud reads it in the files of its `--config`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from vertex_training.fields.schema import field_types, snake_case, without_none


def with_lists(cls: type, value: object) -> Any:
    """Return the fields of a spec, with a list of one in place of each single value where a list is meant.

    A mapping stands for an item only if it has one of the item's fields. Other values stay as they are.
    """
    if not isinstance(value, Mapping):
        return value
    types_ = field_types(cls)
    return {
        key: _with_lists(types_[name], item)
        if isinstance(key, str) and (name := snake_case(key)) in types_
        else item
        for key, item in value.items()
    }


def _with_lists(hint: object, value: object) -> Any:
    hint = without_none(hint)
    if get_origin(hint) is tuple:
        item = without_none(get_args(hint)[0])
        listed = [value] if _is_one(item, value) else value
        if isinstance(listed, (list, tuple)):
            return [_with_lists(item, each) for each in listed]
        return listed
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return with_lists(hint, value)
    return value


def _is_one(item: object, value: object) -> bool:
    """Return whether a value is an item of a list, and not a list."""
    if dataclasses.is_dataclass(item) and isinstance(item, type):
        names = field_types(item)
        return isinstance(value, Mapping) and any(
            isinstance(key, str) and snake_case(key) in names for key in value
        )
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
