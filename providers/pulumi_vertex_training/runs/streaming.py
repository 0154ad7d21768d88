"""Show a job's log during a wait: with prefixes, bounded in lines and length, no line twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.diagnosis.diagnosis import without_log
from pulumi_vertex_training.runs.diagnosis.plain_text import lines_of
from pulumi_vertex_training.runs.watching import Pace, is_transient

LOCAL_LOG_PACE = Pace(first=0.2, most=1.0)
CLOUD_LOG_PACE = Pace(first=4.0, most=20.0)
"""Cloud Logging answers 60 reads a minute and project (Cloud Logging documentation, "Quotas and limits")."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of a shown log.

    `per_second` is the lines of one job shown in the long run, `burst` those shown at once. `notice_seconds`
    is the least time between two lines that count the omitted ones.
    """

    per_second: float = 20.0
    burst: int = 300
    notice_seconds: float = 5.0


class LogLines:
    """Turn log entries into the lines that are shown; count the omitted ones."""

    def __init__(
        self,
        *,
        label: str,
        command: str,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`label` begins each line, with the replica's name; `command` prints the whole log."""
        self._label = label
        self._command = command
        self._limits = limits or Limits()
        self._clock = clock
        self._allowance = float(self._limits.burst)
        self._counted_at = clock()
        self._noticed_at = float("-inf")
        self._left_out = 0
        self.complete = True
        """True unless a line was omitted."""

    def of(self, entry: LogEntry) -> Iterator[str]:
        """Yield the lines to show for an entry, after a notice if lines were omitted before."""
        # The service's entry about a failure repeats lines of the replica's log.
        for line in lines_of(entry.message if entry.task else without_log(entry.message)):
            if not self._is_allowed():
                self._left_out += 1
                self.complete = False
                continue
            if self._left_out and self._clock() - self._noticed_at >= self._limits.notice_seconds:
                yield from self.notice()
            yield f"[{self._label} {entry.task or 'service'}] {line}"

    def notice(self) -> Iterator[str]:
        """Yield the line that counts the lines omitted since the last such line."""
        if self._left_out:
            lines = "1 line was" if self._left_out == 1 else f"{self._left_out} lines were"
            self._left_out, self._noticed_at = 0, self._clock()
            yield f"[{self._label}] {lines} left out here; all lines: {self._command}"

    def _is_allowed(self) -> bool:
        now = self._clock()
        earned = (now - self._counted_at) * self._limits.per_second
        self._allowance = min(self._allowance + earned, float(self._limits.burst))
        self._counted_at = now
        if self._allowance < 1.0:
            return False
        self._allowance -= 1.0
        return True


async def stream(
    look: Callable[[], Awaitable[Sequence[LogEntry]]],
    lines: LogLines,
    show: Callable[[str], None],
    *,
    finished: asyncio.Event,
    pace: Pace,
    quiet_looks: int,
    drain_seconds: Callable[[], float],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Show the entries of each `look` until `finished` is set, and then those that are still on their way.

    After `finished` it continues until `quiet_looks` polls have brought nothing, for `drain_seconds()` at
    most. A log that cannot be read is reported once, and ends the stream if the error is permanent; nothing
    is raised.
    """
    delays = pace.delays()
    said_trouble = False
    quiet = 0
    deadline: float | None = None
    while True:
        if finished.is_set() and deadline is None:
            deadline, delays = clock() + drain_seconds(), pace.delays()
        entries: Sequence[LogEntry] = ()
        try:
            entries = await look()
        except CloudError as error:
            passes = is_transient(error)
            if not said_trouble:
                said_trouble = True
                show(f"the log cannot be read{' at present' if passes else ''}: {error}")
            if not passes:
                lines.complete = False
                return
        for entry in entries:
            for line in lines.of(entry):
                show(line)
        if entries:
            said_trouble, delays = False, pace.delays()
        if deadline is not None:
            quiet = 0 if entries else quiet + 1
            if quiet >= quiet_looks or clock() >= deadline:
                break
            await pause(next(delays))
        else:
            await _until(finished, next(delays))
    for line in lines.notice():
        show(line)


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return
