"""Durations in the API's JSON: seconds with an "s", "3600s" or "3600.5s" (google.protobuf.Duration)."""

from __future__ import annotations

import re
from decimal import Decimal

_SECONDS = re.compile(r"(\d{1,12})(?:\.(\d{1,9}))?s")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_WITH_UNIT = re.compile(r"(\d{1,9})\s*([smhdw])")


def seconds_text(value: object) -> object:
    """Convert a plain number of seconds to a duration: 3600 -> "3600s". Return any other value unchanged.

    >>> seconds_text(3600.0), seconds_text("1h")
    ('3600s', '1h')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if value != value or value in (float("inf"), float("-inf")):
        return value
    text = format(Decimal(str(value)).quantize(Decimal("1e-9")) if value % 1 else Decimal(int(value)), "f")
    return normal(f"{text}s")


def normal(text: str) -> str:
    """Return the shortest spelling of a duration: "3600.000s" -> "3600s". Return any other text unchanged."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        return text
    whole, fraction = match.group(1).lstrip("0") or "0", (match.group(2) or "").rstrip("0")
    return f"{whole}.{fraction}s" if fraction else f"{whole}s"


def in_seconds(text: str) -> str:
    """Convert a duration with one of gcloud's units to seconds: "30d" -> "2592000s".

    Any other text is returned in `normal` form.
    """
    match = _WITH_UNIT.fullmatch(text)
    return normal(f"{int(match.group(1)) * _UNITS[match.group(2)]}s" if match else text)


def problem_with(
    text: str, *, remedy: str = "write it in seconds with an s, for example 3600s"
) -> str | None:
    """Describe what is wrong with a duration, which must be positive, and the remedy; None if it is valid."""
    match = _SECONDS.fullmatch(text)
    if re.fullmatch(r"\d{13,}(\.\d*)?s", text, re.ASCII):
        return f"{text[:20]!r}... is too long; the longest duration is 999999999999s"
    if match is None:
        if other := _WITH_UNIT.fullmatch(text):
            remedy = f"write it in seconds: {int(other.group(1)) * _UNITS[other.group(2)]}s"
        return f"{text!r} is not a duration; {remedy}"
    if normal(text) == "0s":
        return f"{text!r} is 0 seconds; give a positive duration"
    return None
