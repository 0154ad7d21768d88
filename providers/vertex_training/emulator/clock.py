"""Times as the APIs write them."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """This moment as RFC 3339 in UTC with milliseconds, such as 2026-02-03T04:05:06.789Z."""
    return rfc3339(datetime.now(timezone.utc))


def rfc3339(moment: datetime) -> str:
    """`moment`, which has a time zone, as RFC 3339 in UTC with milliseconds."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
