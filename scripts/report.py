"""Print the progress of a chore: one line for each step, with its result and duration.

On a terminal, the line of the running step is rewritten in place. Elsewhere (a log, a pipe), a long step
prints a line when it starts and one every `heartbeat` seconds.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_NAME_WIDTH = 18


class Step:
    """A running step. Call `progress` with its present activity, then `done` with a short result."""

    def __init__(self, report: Report, name: str) -> None:
        self._report = report
        self._name = name
        self._started = time.monotonic()
        self._activity = ""
        self._announced = False
        self._lock = threading.Lock()
        self.result = "done"
        self.idle = False

    def progress(self, activity: str) -> None:
        """Report the present activity. Without a terminal, only the first one and heartbeats are printed."""
        with self._lock:
            self._activity = activity
            announce, self._announced = not self._announced, True
        if self._report.live:
            self.show_live()
        elif announce:
            self._report.line(f"{self._name:{_NAME_WIDTH}}{activity} ...")

    def note(self, text: str) -> None:
        """Print a permanent line with further information for the user."""
        self._report.clear()
        self._report.line(f"{self._name:{_NAME_WIDTH}}{text}")

    def release_terminal(self) -> None:
        """End the line that is rewritten, and write no other: a command prints, and may ask, from here on."""
        with self._lock:
            activity, self._activity = self._activity, ""
        if self._report.live and activity:
            self._report.clear()
            self._report.line(f"{self._name:{_NAME_WIDTH}}{activity} ...")

    def done(self, result: str, *, idle: bool = False) -> None:
        """Set the result. `idle` means that there was nothing to do, so no duration is printed."""
        self.result, self.idle = result, idle

    def seconds(self) -> float:
        return time.monotonic() - self._started

    def show_live(self) -> None:
        with self._lock:
            if self._activity:
                self._report.rewrite(f"{self._name:{_NAME_WIDTH}}{self._activity}  {self.seconds():.0f} s")

    def beat(self) -> None:
        with self._lock:
            if self._activity:
                self._report.line(
                    f"{self._name:{_NAME_WIDTH}}{self._activity} ({self.seconds():.0f} s so far)"
                )


class Report:
    """Prints steps to a stream."""

    def __init__(
        self, stream: TextIO, *, live: bool | None = None, colour: bool | None = None, heartbeat: float = 15.0
    ) -> None:
        terminal = stream.isatty() and os.environ.get("TERM", "") != "dumb"
        self._stream = stream
        self.live = terminal if live is None else live
        self._colour = (terminal and not os.environ.get("NO_COLOR")) if colour is None else colour
        self._heartbeat = heartbeat

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Run a step; its last line is printed at the end, also when it fails."""
        step = Step(self, name)
        finished = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(step, finished), daemon=True)
        ticker.start()
        try:
            yield step
        except BaseException as error:
            result = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            step.done(result)
            self._finish(step, name, finished, ticker, "31")
            raise
        self._finish(step, name, finished, ticker, "2" if step.idle else "32")

    def line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def rewrite(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r\x1b[K" + text[:width])
        self._stream.flush()

    def clear(self) -> None:
        if self.live:
            self._stream.write("\r\x1b[K")

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _tick(self, step: Step, finished: threading.Event) -> None:
        while not finished.wait(1.0 if self.live else self._heartbeat):
            if self.live:
                step.show_live()
            else:
                step.beat()

    def _finish(
        self, step: Step, name: str, finished: threading.Event, ticker: threading.Thread, colour: str
    ) -> None:
        finished.set()
        ticker.join()
        self.clear()
        took = "" if step.idle else f"  {step.seconds():.1f} s"
        self.line(f"{name:{_NAME_WIDTH}}{self.paint(step.result, colour)}{took}")


class ChoreError(Exception):
    """A chore failed. The text has the reason and the remedy, and is printed as it is."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
