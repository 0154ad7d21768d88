"""Checks of the fields of a resource, shared by buckets and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.services.storage.errors import invalid, unsupported

STORAGE_CLASSES = frozenset({"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE"})
OLD_STORAGE_CLASSES = frozenset({"MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"})

Check = Callable[[str, Any], Any]
"""Checks a field's path and JSON value, and returns the value to store. Raises `StorageError` 400."""


def document(value: object) -> dict[str, Any]:
    """Check that a request's body is a JSON object."""
    if not isinstance(value, dict):
        raise invalid(f"The body must be a JSON object, not {_kind(value)}.")
    return value


def record(path: str, value: object, checks: Mapping[str, Check]) -> dict[str, Any]:
    """Check a nested object of known fields. Fields that are null are left out."""
    if not isinstance(value, dict):
        raise invalid(f"{path} must be an object, not {_kind(value)}.")
    for name in value:
        if name not in checks:
            raise unsupported(f"the field {path}.{name}", f"Fields of {path}: {', '.join(sorted(checks))}.")
    return {name: checks[name](f"{path}.{name}", item) for name, item in value.items() if item is not None}


def text(path: str, value: object) -> str:
    """Check a string."""
    if not isinstance(value, str):
        raise invalid(f"{path} must be a string, not {_kind(value)}.")
    return value


def boolean(path: str, value: object) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise invalid(f"{path} must be true or false, not {_kind(value)}.")
    return value


def whole(path: str, value: object) -> int:
    """Check a whole number of at least 0, or a string of digits, the API's format of 64-bit numbers."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
        raise invalid(f"{path} must be a whole number of at least 0, not {value!r}.")
    return int(value)


def texts(path: str, value: object) -> list[str]:
    """Check a list of strings that is not empty."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise invalid(f"{path} must be a list of strings with at least one entry.")
    return list(value)


def one_of(*choices: str) -> Check:
    """Return a check for one of these strings."""

    def check(path: str, value: object) -> str:
        if value not in choices:
            raise invalid(f"{path} must be one of {', '.join(choices)}, not {value!r}.")
        return str(value)

    return check


def storage_class(path: str, value: object) -> str:
    """Check a storage class in any case, which may be a legacy class. Return it in capitals."""
    name = value.upper() if isinstance(value, str) else ""
    if name not in STORAGE_CLASSES | OLD_STORAGE_CLASSES:
        raise invalid(f"{path} must be one of {', '.join(sorted(STORAGE_CLASSES))}, not {value!r}.")
    return name


def moment(path: str, value: object) -> str:
    """Check a time in RFC 3339. Return it in UTC with milliseconds."""
    return rfc3339(_parsed_moment(path, value))


def precise_moment(path: str, value: object) -> str:
    """Check a time in RFC 3339. Return it in UTC with microseconds, or with milliseconds if they suffice."""
    parsed = _parsed_moment(path, value)
    if parsed.microsecond % 1000 == 0:
        return rfc3339(parsed)
    return parsed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _parsed_moment(path: str, value: object) -> datetime:
    try:
        parsed = datetime.fromisoformat(text(path, value).replace("Z", "+00:00").replace("z", "+00:00"))
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise invalid(f"{path} must be a time such as 2026-01-31T12:00:00Z, not {value!r}.") from error


def date(path: str, value: object) -> str:
    """Check a date."""
    try:
        return datetime.strptime(text(path, value), "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise invalid(f"{path} must be a date such as 2026-01-31, not {value!r}.") from error


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
