"""Plain values of programs and files: unknown values, numbers in any spelling, and their descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping

INT64 = range(-(2**63), 2**63)


class Unknown:
    """A value that is not known yet; use the instance `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return hash(Unknown)


UNKNOWN = Unknown()
NOT_KNOWN = "(not known yet)"
"""How messages show an unknown value."""


def whole_number(value: object) -> int | None:
    """Convert an integer, a whole float or a decimal string to an int; None for any other value."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value, re.ASCII):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in INT64:
        return None
    return int(value)


def is_too_large(value: object) -> bool:
    """Return whether a value is a whole number outside the range of the API's integers."""
    if isinstance(value, str):
        return re.fullmatch(r"-?\d{19,100}", value, re.ASCII) is not None and int(value) not in INT64
    if isinstance(value, float):
        return value.is_integer() and int(value) not in INT64
    return isinstance(value, int) and value not in INT64


def kind(value: object) -> str:
    """Name the type of a value, without showing the value."""
    if isinstance(value, bool):
        return "a boolean"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "a list"
    return f"a value of type {type(value).__name__}"


def describe(value: object) -> str:
    """Describe a value: a scalar itself, a long one cut; of a list or mapping, only its type.

    Lists and mappings may hold secrets.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the string {value[:60]!r}" + ("..." if len(value) > 60 else "")
    if isinstance(value, (int, float)) and abs(value) < 10**20:
        whole = whole_number(value)  # Pulumi sends every number as a float
        return f"the number {value if whole is None else whole}"
    return kind(value)
