"""Points in time as Google's JSON has them: UTC, microseconds, "Z". Such texts sort as the times do."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from functools import lru_cache

from vertex_emulator.kernel.clock import Clock


def now(clock: Clock) -> str:
    """The present time of the emulator's clock."""
    return of_microseconds(clock.microseconds())


def of_microseconds(since_1970: int) -> str:
    """The time that lies so many microseconds after the beginning of 1970."""
    seconds, fraction = divmod(since_1970, 1_000_000)
    return f"{_whole_second(seconds)}.{fraction:06d}Z"


@lru_cache(maxsize=64)
def _whole_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def text(moment: datetime) -> str:
    """`moment`, which has a time zone, as text."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(value: str) -> datetime:
    """The reverse of `text`; other RFC 3339 forms are read too. Raises `ValueError`."""
    head, dot, rest = value.strip().replace("z", "Z").replace("Z", "+00:00").partition(".")
    if dot:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        head = f"{head}.{digits[:6]:0<6}{rest[len(digits) :]}"
    moment = datetime.fromisoformat(head)
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return moment
