"""Turn the values of a program into those that Pulumi can send to a provider.

Pulumi fails with a traceback at a value of any other type. A path, a duration or a number of NumPy is
unmistakable and is converted. Any other value becomes a text that the check of the resource reports together
with all other errors (`plugin.text_of_outputs`).
"""

from __future__ import annotations

import datetime
import enum
import numbers
import os
from collections.abc import Awaitable, Mapping
from typing import Any

import pulumi
from pulumi import _types

from pulumi_vertex_training.plugin.text_of_outputs import unusable

_OUTPUTS = ("uri", "url", "ref", "repo_digest", "email", "name", "id")
"""Outputs that a resource may be meant by, the most specific first."""


def sendable(value: Any) -> Any:
    """Return a value with everything converted that Pulumi cannot send."""
    if value is None or isinstance(value, (str, bool, int, float, pulumi.Output, enum.Enum)):
        return value
    if isinstance(value, Mapping):
        return {key: sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable(item) for item in value]
    if _types.is_input_type(type(value)):
        return {key: sendable(item) for key, item in _types.input_type_to_dict(value).items()}
    if isinstance(value, pulumi.Resource):
        return unusable(_resource(value))
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return path if isinstance(path, str) else os.fsdecode(path)
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.9f}".rstrip("0").rstrip(".") + "s"
    if isinstance(value, numbers.Number):
        return _number(value)
    if isinstance(value, (Awaitable, pulumi.Asset, pulumi.Archive)):
        return value
    if isinstance(value, (set, frozenset)):
        return unusable("is a set, which has no order; write a list, in [brackets]")
    if callable(value):
        return unusable(f"is a function ({getattr(value, '__name__', type(value).__name__)}); call it")
    return unusable(
        f"is a value of type {type(value).__name__}; give a string, a number, a list or a dictionary"
    )


def _resource(resource: pulumi.Resource) -> str:
    name = getattr(resource, "_name", "resource")
    given = next(
        (each for each in _OUTPUTS if each in resource.__dict__ or hasattr(type(resource), each)), "id"
    )
    kind = type(resource).__name__
    return f"is the resource {name!r} ({kind}), not a value; give one of its outputs, such as .{given}"


def _number(value: numbers.Number) -> Any:
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return unusable(f"is a number of type {type(value).__name__}; give an int or a float")
