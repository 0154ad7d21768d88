"""The thread that does what is due: it starts the jobs whose time has come."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from vertex_training.emulator.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Next:
    """When to look again: at a time of the clock in microseconds since 1970, or after so many real seconds.

    Whichever comes first; None for both: not before something changes.
    """

    at: int | None = None
    seconds: float | None = None


class Agenda:
    """`due` does what is due, and says when it wants to be called again."""

    def __init__(self, clock: Clock, due: Callable[[], Next]) -> None:
        self._clock = clock
        self._due = due
        self._changed = threading.Condition()
        self._wakes = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="agenda", daemon=True)

    def start(self) -> None:
        """Begin; what is due already is done."""
        self._thread.start()

    def wake(self) -> None:
        """Something has changed: the clock, or what there is to do."""
        with self._changed:
            self._wakes += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Do nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._closed:
            seen = self._wakes
            try:
                following = self._due()
            except Exception:  # a job that cannot be started must not keep all others from it
                log.exception("What is due could not be done")
                following = Next(seconds=1.0)
            with self._changed:
                if self._wakes == seen and not self._closed:
                    self._changed.wait(self._seconds_until(following))

    def _seconds_until(self, following: Next) -> float | None:
        waits = [following.seconds]
        if following.at is not None:
            waits.append(self._clock.real_seconds((following.at - self._clock.microseconds()) / 1e6))
        shortest = min((each for each in waits if each is not None), default=None)
        return None if shortest is None else min(shortest, threading.TIMEOUT_MAX)
