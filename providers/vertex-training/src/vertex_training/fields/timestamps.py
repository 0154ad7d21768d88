"""Timestamps in the API's JSON: RFC 3339, in UTC on output (google.protobuf.Timestamp)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))", re.ASCII
)


def text(value: object) -> object:
    """Convert a `datetime` with a time zone, as YAML reads one, to RFC 3339 in UTC.

    Any other value is returned unchanged.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        return value
    return normal(value.isoformat())


def normal(moment: str) -> str:
    """Return a timestamp in UTC, with 0, 3, 6 or 9 digits of a second; return any other text unchanged.

    >>> normal("2026-02-03T05:05:06.5+01:00")
    '2026-02-03T04:05:06.500Z'
    """
    parsed = _parsed(moment)
    if parsed is None:
        return moment
    at, digits = parsed
    digits = digits.ljust(-(-len(digits) // 3) * 3, "0")
    return f"{at.isoformat()}.{digits}Z" if digits else f"{at.isoformat()}Z"


def parse(moment: str) -> datetime:
    """Return a timestamp in UTC, cut to microseconds. Raises ValueError for any other text.

    >>> parse("2026-02-03T05:05:06.123456789+01:00").isoformat()
    '2026-02-03T04:05:06.123456+00:00'
    """
    parsed = _parsed(moment)
    if parsed is None:
        raise ValueError(f"{moment!r} is not a time in the form of RFC 3339")
    at, digits = parsed
    return at.replace(microsecond=int(digits[:6].ljust(6, "0")), tzinfo=timezone.utc)


def parse_or_none(moment: object) -> datetime | None:
    """Return a timestamp in UTC as `parse` does; None for anything else, such as a time that is not set."""
    try:
        return parse(moment) if isinstance(moment, str) else None
    except ValueError:
        return None


def is_moment(moment: str) -> bool:
    """Return whether a text is a timestamp that the service can read."""
    return _parsed(moment) is not None


def is_before(first: str, second: str) -> bool:
    """Return whether one timestamp precedes another; False if either is not a timestamp."""
    left, right = _parsed(first), _parsed(second)
    return left is not None and right is not None and left < right


def _parsed(moment: str) -> tuple[datetime, str] | None:
    """Return the time in whole seconds of UTC, without a time zone, and its fractional digits."""
    match = _MOMENT.fullmatch(moment)
    if match is None:
        return None
    day, time, fraction, sign, hours, minutes = match.groups()
    try:
        at = datetime.fromisoformat(f"{day}T{time}")
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        at = at + offset if sign == "-" else at - offset
    except (ValueError, OverflowError):
        return None
    return at, (fraction or "").rstrip("0")
