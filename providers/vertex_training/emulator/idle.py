"""Tells when the emulator has had nothing to do for long enough to leave."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)


class IdleWatch:
    """Calls `leave` once no request came for `minutes` and `busy()` is false; never with `minutes` 0."""

    def __init__(self, *, minutes: float, busy: Callable[[], bool], leave: Callable[[], None]) -> None:
        self._seconds = minutes * 60
        self._busy = busy
        self._leave = leave
        self._last = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="idle watch", daemon=True)

    def start(self) -> None:
        if self._seconds > 0:
            self._thread.start()

    def touch(self) -> None:
        """Something was asked."""
        self._last = time.monotonic()

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    def _watch(self) -> None:
        while not self._ended.wait(self._until_next_look()):
            if self._is_busy():
                self.touch()
            elif time.monotonic() - self._last >= self._seconds:
                self._leave()
                return

    def _is_busy(self) -> bool:
        try:
            return self._busy()
        except Exception:
            log.exception("Whether there is work to do could not be found out: staying")
            return True

    def _until_next_look(self) -> float:
        left = self._last + self._seconds - time.monotonic()
        return min(max(left, 0.05), 60.0)
