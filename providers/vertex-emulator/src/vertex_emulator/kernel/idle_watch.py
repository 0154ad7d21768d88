"""Stop the emulator after it has been idle."""

from __future__ import annotations

import logging
from collections.abc import Callable

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.scheduler import Next, Scheduler

log = logging.getLogger(__name__)


class IdleWatch:
    """Calls `leave` after `minutes` without a request and while `busy()` is false; never with `minutes` 0."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        minutes: float,
        busy: Callable[[], bool],
        leave: Callable[[], None],
        monotonic: Callable[[], float] = machine_clock.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._seconds = minutes * 60
        self._busy = busy
        self._leave = leave
        self._last = self._monotonic()
        if minutes > 0:
            scheduler.add("idle watch", self._check)

    def touch(self) -> None:
        """Record a request."""
        self._last = self._monotonic()

    def _check(self) -> Next:
        if self._is_busy():
            self.touch()
        left = self._last + self._seconds - self._monotonic()
        if left <= 0:
            self._leave()
            return Next()
        return Next(seconds=min(max(left, 0.05), 60.0))

    def _is_busy(self) -> bool:
        try:
            return self._busy()
        except Exception:
            log.exception("The number of live jobs could not be read: the emulator keeps running")
            return True
