"""Background tasks of the emulator, due at a time of its clock or when woken.

Each has a thread of its own. They would fit into one, but then a task that takes its time, such as the
garbage collection of a large registry, would keep trials from being started.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from vertex_emulator.kernel.clock import Clock

log = logging.getLogger(__name__)

_AFTER_ERROR_SECONDS = 1.0
_CLOSING_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Next:
    """When to do a task again: at a time of the clock in microseconds since 1970, or after so many real
    seconds.

    Whichever comes first; None for both: not before it is woken.
    """

    at: int | None = None
    seconds: float | None = None


class Task:
    """`do` does what is due, and says when it wants to be called again.

    Between two calls lie at least `pause` real seconds, however fast the clock runs and often it is woken.
    """

    def __init__(self, clock: Clock, name: str, do: Callable[[], Next], *, pause: float = 0.0) -> None:
        self.name = name
        self._clock = clock
        self._do = do
        self._pause = pause
        self._began = -pause
        self._changed = threading.Condition()
        self._woken = True  # what is due already is done at the start
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def wake(self) -> None:
        """What there is to do has changed, or the clock. May be called often."""
        if not self._woken:  # else it is looked at all that has happened until then
            with self._changed:
                self._woken = True
                self._changed.notify_all()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> None:
        """Begin with nothing any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self) -> None:
        """Wait, a little, for what was begun before `end`."""
        if self._thread.is_alive():
            self._thread.join(timeout=_CLOSING_SECONDS)

    def _run(self) -> None:
        following = Next()
        while self._wait(following):
            try:
                following = self._do()
            except Exception:  # what cannot be done must not keep all else from being done
                log.exception("Not done: %s", self.name)
                following = Next(seconds=_AFTER_ERROR_SECONDS)

    def _wait(self, following: Next) -> bool:
        """Until it is to be done; False when it has been closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._closed, self._seconds_until(following))
            rest = self._began + self._pause - time.monotonic()
            if rest > 0:
                self._changed.wait_for(lambda: self._closed, rest)
            self._woken = False
            self._began = time.monotonic()
            return not self._closed

    def _seconds_until(self, following: Next) -> float | None:
        waits = [following.seconds]
        if following.at is not None:
            waits.append(self._clock.real_seconds((following.at - self._clock.microseconds()) / 1e6))
        shortest = min((each for each in waits if each is not None), default=None)
        return None if shortest is None else min(shortest, threading.TIMEOUT_MAX)


class Scheduler:
    """The tasks of one emulator."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: list[Task] = []

    def add(self, name: str, do: Callable[[], Next], *, pause: float = 0.0) -> Task:
        """A further task, before the scheduler starts; `name` is a noun, for the log."""
        task = Task(self._clock, name, do, pause=pause)
        self._tasks.append(task)
        return task

    def start(self) -> None:
        """Begin with all; what is due already is done."""
        for task in self._tasks:
            task.start()

    def clock_changed(self) -> None:
        """Somebody has set the clock: other things are due."""
        for task in self._tasks:
            task.wake()

    def close(self) -> None:
        """Do nothing more."""
        for task in self._tasks:
            task.end()
        for task in self._tasks:
            task.join()
