"""Which replica's end is looked at next: the earliest first, none before earlier ones can have arrived."""

from __future__ import annotations

import time
from collections.abc import Iterable

from vertex_emulator.custom_jobs.supervisor.loop import Running

_SETTLE_SECONDS = 0.05


class Exits:
    """The ends of replicas in the order in which they happened.

    Often one replica fails because another did, and the two are heard of in any order: so the word of a first
    end is given a moment in which earlier ones can arrive. `settled_at`, on `time.monotonic()`'s clock, is
    when that moment is over; None while there is no end to look at.
    """

    def __init__(self) -> None:
        self.settled_at: float | None = None

    def take(self, running: Iterable[Running]) -> Running | None:
        """The next replica whose end has not been taken yet; None when there is none, or not yet."""
        ends = [one for one in running if one.child.exit_code is not None and not one.taken]
        if not ends:
            self.settled_at = None
            return None
        if self.settled_at is None:
            self.settled_at = time.monotonic() + _SETTLE_SECONDS
        if time.monotonic() < self.settled_at:
            return None
        first = min(ends, key=lambda one: one.child.ended_at or 0)
        if not first.ended:  # its log is not complete; the end of its keeper wakes us
            self.settled_at = time.monotonic() + _SETTLE_SECONDS
            return None
        first.taken = True
        return first
