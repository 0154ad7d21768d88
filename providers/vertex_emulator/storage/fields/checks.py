"""Checks of the fields of a resource that a client sends, shared by buckets and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.storage.errors import invalid, unsupported

STORAGE_CLASSES = frozenset({"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE"})
OLD_STORAGE_CLASSES = frozenset({"MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"})

Check = Callable[[str, Any], Any]
"""Takes a field's path and JSON value, gives the value as it is kept; raises `StorageError` 400."""


def document(value: Any) -> dict[str, Any]:
    """A request's body, which has to be a JSON object."""
    if not isinstance(value, dict):
        raise invalid(f"The body has to be a JSON object, not {_kind(value)}.")
    return value


def record(path: str, value: Any, checks: Mapping[str, Check]) -> dict[str, Any]:
    """A nested object of known fields; null leaves a field out."""
    if not isinstance(value, dict):
        raise invalid(f"{path} has to be an object, not {_kind(value)}.")
    for name in value:
        if name not in checks:
            raise unsupported(f"the field {path}.{name}", f"Fields of {path}: {', '.join(sorted(checks))}.")
    return {name: checks[name](f"{path}.{name}", item) for name, item in value.items() if item is not None}


def text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise invalid(f"{path} has to be a string, not {_kind(value)}.")
    return value


def boolean(path: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"{path} has to be true or false, not {_kind(value)}.")
    return value


def whole(path: str, value: Any) -> int:
    """A number, or as the API writes 64-bit numbers, a string of digits; at least 0."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
        raise invalid(f"{path} has to be a whole number of at least 0, not {value!r}.")
    return int(value)


def texts(path: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise invalid(f"{path} has to be a list of strings with at least one entry.")
    return list(value)


def one_of(*choices: str) -> Check:
    def check(path: str, value: Any) -> str:
        if value not in choices:
            raise invalid(f"{path} has to be one of {', '.join(choices)}, not {value!r}.")
        return str(value)

    return check


def storage_class(path: str, value: Any) -> str:
    if not isinstance(value, str) or value not in STORAGE_CLASSES | OLD_STORAGE_CLASSES:
        raise invalid(f"{path} has to be one of {', '.join(sorted(STORAGE_CLASSES))}, not {value!r}.")
    return str(value)


def moment(path: str, value: Any) -> str:
    """A time in RFC 3339, kept in UTC with milliseconds."""
    try:
        parsed = datetime.fromisoformat(text(path, value).replace("Z", "+00:00").replace("z", "+00:00"))
        return rfc3339(parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc))
    except (ValueError, OverflowError) as error:
        raise invalid(f"{path} has to be a time such as 2026-01-31T12:00:00Z, not {value!r}.") from error


def date(path: str, value: Any) -> str:
    try:
        return datetime.strptime(text(path, value), "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise invalid(f"{path} has to be a date such as 2026-01-31, not {value!r}.") from error


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
