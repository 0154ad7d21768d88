"""Tells when the emulator has had nothing to do for long enough to leave."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from vertex_emulator.kernel.agenda import Agenda, Next

log = logging.getLogger(__name__)


class IdleWatch:
    """Calls `leave` once no request came for `minutes` and `busy()` is false; never with `minutes` 0."""

    def __init__(
        self, agenda: Agenda, *, minutes: float, busy: Callable[[], bool], leave: Callable[[], None]
    ) -> None:
        self._seconds = minutes * 60
        self._busy = busy
        self._leave = leave
        self._last = time.monotonic()
        if minutes > 0:
            agenda.add("idle watch", self._look)

    def touch(self) -> None:
        """Something was asked."""
        self._last = time.monotonic()

    def _look(self) -> Next:
        if self._is_busy():
            self.touch()
        left = self._last + self._seconds - time.monotonic()
        if left <= 0:
            self._leave()
            return Next()
        return Next(seconds=min(max(left, 0.05), 60.0))

    def _is_busy(self) -> bool:
        try:
            return self._busy()
        except Exception:
            log.exception("Whether there is work to do could not be found out: staying")
            return True
