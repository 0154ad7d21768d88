"""Background tasks of the emulator, which run at a time of its clock or when woken.

Each task has a thread of its own, so that a slow one, such as the garbage collection of a large registry,
does not delay others, such as the start of trials.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts

log = logging.getLogger(__name__)

_AFTER_ERROR_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Next:
    """The time of a task's next run: `at` (the clock's microseconds since 1970), or after `seconds` (real).

    The earlier of both counts. If both are None, the task runs when it is woken.
    """

    at: int | None = None
    seconds: float | None = None


class Task:
    """A background task: `do` does all work that is due and returns the time of its next run.

    Between two runs lie at least `pause` real seconds, even if the clock runs fast or the task is woken
    often.
    """

    def __init__(self, clock: Clock, name: str, do: Callable[[], Next], *, pause: float = 0.0) -> None:
        self.name = name
        self._clock = clock
        self._do = do
        self._pause = pause
        self._began = -pause
        self._changed = threading.Condition()
        self._woken = True  # the first run is at the start
        self._rests = False  # True while it waits for the time of its next run, or to be woken
        self._pauses = False
        self._wait_seconds: float | None = None
        self.runs = 0
        """The number of runs that have ended."""
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def wake(self) -> None:
        """Run the task soon, because its work or the clock has changed. Calls are cheap and coalesce."""
        if not self._woken:
            with self._changed:
                self._woken = True
                self._changed.notify_all()

    def await_rest(self, *, seconds: float) -> float | None:
        """Wait until no run is in progress or due. Return the seconds from the last run to the next one.

        None means that it runs when it is woken. Raises `TimeoutError` after `seconds`.
        """

        def rests() -> bool:
            return self._rests and (self._pauses or not self._woken)

        with self._changed:
            if not self._changed.wait_for(rests, seconds):
                raise TimeoutError(f"{self.name}: a run is in progress or due for {seconds:g} seconds")
            return self._wait_seconds

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """Stop starting new runs."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self, *, seconds: float) -> None:
        """Wait for the run that began before `end`."""
        if self._thread.is_alive():
            self._thread.join(timeout=max(seconds, 0.0))

    def _run(self) -> None:
        following = Next()
        while self._wait(following):
            try:
                following = self._do()
            except Exception:  # one failed run must not end the task
                log.exception("%s: the background task failed and is repeated", self.name)
                following = Next(seconds=_AFTER_ERROR_SECONDS)
            self.runs += 1

    def _wait(self, following: Next) -> bool:
        """Wait until the next run is due. Return False if the task was ended instead."""
        with self._changed:
            self._wait_seconds, self._rests = self._seconds_until(following), True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._woken or self._closed, self._wait_seconds)
            rest = self._began + self._pause - machine_clock.monotonic()
            if rest > 0:
                self._pauses = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closed, rest)
                self._pauses = False
            self._woken = self._rests = False
            self._began = machine_clock.monotonic()
            return not self._closed

    def _seconds_until(self, following: Next) -> float | None:
        waits = [following.seconds]
        if following.at is not None:
            waits.append(self._clock.real_seconds((following.at - self._clock.microseconds()) / 1e6))
        shortest = min((each for each in waits if each is not None), default=None)
        return None if shortest is None else min(shortest, threading.TIMEOUT_MAX)


class Scheduler:
    """The tasks of one emulator."""

    def __init__(self, clock: Clock, *, timeouts: DaemonTimeouts = DAEMON) -> None:
        self._clock = clock
        self._timeouts = timeouts
        self._tasks: list[Task] = []

    def add(self, name: str, do: Callable[[], Next], *, pause: float = 0.0) -> Task:
        """Add a task before the scheduler starts. `name` is a noun, for the log."""
        task = Task(self._clock, name, do, pause=pause)
        self._tasks.append(task)
        return task

    def start(self) -> None:
        """Start all tasks; each one runs at once."""
        for task in self._tasks:
            task.start()

    def clock_changed(self) -> None:
        """Wake all tasks after a change of the clock."""
        for task in self._tasks:
            task.wake()

    def settle(self, *, seconds: float) -> None:
        """Let all tasks run, and wait until none has work: what has not happened then does not happen.

        Tests use it before they assert that. Raises `TimeoutError` after `seconds`.
        """
        for task in self._tasks:
            task.wake()
        until = machine_clock.monotonic() + seconds
        runs = -1
        while runs != (runs := sum(task.runs for task in self._tasks)):  # a task may wake another one
            for task in self._tasks:
                task.await_rest(seconds=max(until - machine_clock.monotonic(), 0.0))

    def close(self) -> None:
        """End all tasks, and wait a few seconds for the runs in progress."""
        for task in self._tasks:
            task.end()
        until = machine_clock.monotonic() + self._timeouts.tasks_end
        for task in self._tasks:
            task.join(seconds=until - machine_clock.monotonic())
