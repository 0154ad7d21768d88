"""Cron expressions as Cloud Scheduler reads them, and the times at which they are due.

The format is unix-cron with five fields (Cloud Scheduler documentation, "Cron job format and time zone"). The
extensions of other dialects, such as `L`, `#`, `?` and `@daily`, are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone, tzinfo
from itertools import islice

FIELDS = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12, or JAN to DEC"),
    ("day of the week", "0 to 7 with 0 and 7 for Sunday, or SUN to SAT"),
)
"""Name and values of each field, in order."""

DEFAULT_TIME_ZONE = "Etc/UTC"

_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"
_DAYS = "SUN MON TUE WED THU FRI SAT"
_NAMES: tuple[frozenset[str], ...] = tuple(frozenset(names.split()) for names in ("", "", "", _MONTHS, _DAYS))
_WORD = re.compile(r"[A-Z]+")
_ALLOWED = re.compile(r"[0-9A-Z*,/-]+")
_OTHERS = ("*", "*", "1", "1", "*")
"""Valid values of the other fields while one field is checked alone."""


def problem_with(expression: str) -> str | None:
    """Return what is wrong with an expression, with the remedy, or None for a valid one."""
    parts = expression.upper().split()
    if len(parts) != len(FIELDS):
        return (
            f"has {len(parts)} field{'' if len(parts) == 1 else 's'}; write the five fields minute, hour, "
            'day of the month, month and day of the week, such as "0 3 * * *" for 03:00 each day'
        )
    for position, part in enumerate(parts):
        words = set(_WORD.findall(part))
        if not _ALLOWED.fullmatch(part) or not words <= _NAMES[position] or not _is_valid(position, part):
            name, values = FIELDS[position]
            article = "an" if name == "hour" else "a"
            return f"{part!r} is not {article} {name}; it has the values {values}, ranges, lists and steps"
    if _first(expression, datetime(2000, 1, 1, tzinfo=timezone.utc)) is None:
        return "is never due: no month has that day"
    return None


def times(expression: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Yield the times after `after` at which a valid expression is due in a time zone, in that time zone.

    A time that a change to daylight saving time skips is due right after the gap.
    """
    from cronsim import CronSim  # imported only if needed

    yield from CronSim(expression, after.astimezone(zone))


def next_times(expression: str, zone: tzinfo, after: datetime, count: int) -> list[datetime]:
    """Return the next `count` times at which a valid expression is due."""
    return list(islice(times(expression, zone, after), count))


def _is_valid(position: int, part: str) -> bool:
    parts = [part if index == position else other for index, other in enumerate(_OTHERS)]
    return _first(" ".join(parts), datetime(2000, 1, 1, tzinfo=timezone.utc), parse_only=True) is not None


def _first(expression: str, after: datetime, *, parse_only: bool = False) -> datetime | None:
    """Return the first time of an expression, None without one; with `parse_only` any time if it is valid."""
    from cronsim import CronSim, CronSimError

    try:
        schedule = CronSim(expression, after)
        return after if parse_only else next(schedule, None)
    except CronSimError:
        return None
