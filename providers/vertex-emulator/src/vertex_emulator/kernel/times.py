"""Timestamps in the format of Google's JSON: UTC, microseconds, "Z". As text they sort in order of time."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from functools import lru_cache

from vertex_emulator.kernel.clock import Clock


def now(clock: Clock) -> str:
    """Return the time of the emulator's clock."""
    return from_microseconds(clock.microseconds())


def from_microseconds(since_1970: int) -> str:
    """Format a time given in microseconds since 1970."""
    seconds, fraction = divmod(since_1970, 1_000_000)
    return f"{_whole_second(seconds)}.{fraction:06d}Z"


def milliseconds(clock: Clock) -> str:
    """Return the time of the emulator's clock as the service has it in the names of folders."""
    return f"{now(clock)[:-4]}Z"


@lru_cache(maxsize=64)
def _whole_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def text(moment: datetime) -> str:
    """Format a time, which must have a time zone."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(value: str) -> datetime:
    """Parse a timestamp in this or another RFC 3339 format. Raises `ValueError`."""
    head, dot, rest = value.strip().replace("z", "Z").replace("Z", "+00:00").partition(".")
    if dot:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        head = f"{head}.{digits[:6]:0<6}{rest[len(digits) :]}"
    moment = datetime.fromisoformat(head)
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return moment
