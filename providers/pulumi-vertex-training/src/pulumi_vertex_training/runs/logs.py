"""The log of a job as it grows, from one or several custom jobs, and how a wait shows it."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry, Tail
from pulumi_vertex_training.runs.diagnosis.diagnosis import without_log
from pulumi_vertex_training.runs.diagnosis.plain_text import drawn, lines_of
from pulumi_vertex_training.runs.gateway import LogSource, gateway_of
from pulumi_vertex_training.runs.monitoring.watching import Pace, is_transient
from vertex_emulator import machine_clock

SERVICE = "service"
"""The label of an entry without a replica, beside those that have one."""

_AT_ONCE = 5000
"""The most entries of one job that are read before the next job's."""

_QUIET_LOOKS = 3
"""An ended job is not polled again after so many polls without an entry."""


class RunLog:
    """The log of a job as it grows: every poll yields only new entries.

    Entries of several jobs come in the order of their times, with the label of the job in their `task`:
    "trial-3/workerpool0-0". `task` narrows the log to one replica, of every job or, with a label, of one.
    """

    def __init__(self, *, task: str | None = None) -> None:
        label, slash, replica = (task or "").rpartition("/")
        self._label = label if slash else None
        self._task = replica or None
        self._sources: dict[str, LogSource] = {}
        self._tails: dict[str, Tail] = {}
        self._quiet: dict[str, int] = {}
        self._pending: deque[LogEntry] = deque()

    def see(self, endpoint: Endpoint, record: JobRecord, *, from_now: bool = False, keep: int = 0) -> None:
        """Take note of the jobs that exist now. Raises CloudError.

        With `from_now`, the entries that they have logged so far are skipped, except the last `keep`.
        """
        for source in gateway_of(record.name).log_sources(endpoint, record):
            if self._label not in (None, source.label):
                continue
            if source.job_id not in self._tails:
                found = logs.newest(endpoint, source.job_id, count=keep + 1) if from_now else []
                after = found[0] if len(found) > keep else None
                self._tails[source.job_id] = Tail(source.job_id, task=self._task, after=after)
                self._quiet[source.job_id] = 0
            self._sources[source.job_id] = source

    def poll(self, endpoint: Endpoint) -> Iterator[LogEntry]:
        """Yield the new entries. The next call continues an iteration that ended early, also by an error."""
        sources = list(self._sources.values())
        if len(sources) == 1:
            for entry in self._tails[sources[0].job_id].poll(endpoint):
                yield labelled(entry, sources[0])
            return
        more = True
        while more or self._pending:
            while self._pending:
                yield self._pending.popleft()
            if more:
                more = self._fetch(endpoint, sources)

    def _fetch(self, endpoint: Endpoint, sources: Sequence[LogSource]) -> bool:
        """Read on in every job and sort the entries by time. Return whether there are more."""
        found: list[LogEntry] = []
        more = False
        try:
            for source in sources:
                if source.ended and self._quiet[source.job_id] >= _QUIET_LOOKS:
                    continue
                count = len(found)
                for entry in itertools.islice(self._tails[source.job_id].poll(endpoint), _AT_ONCE):
                    found.append(labelled(entry, source))
                brought = len(found) - count
                self._quiet[source.job_id] = 0 if brought else self._quiet[source.job_id] + 1
                more = more or brought == _AT_ONCE
        finally:
            # Entries read before an error are gone from their tail; the next call yields them.
            self._pending.extend(sorted(found, key=lambda entry: entry.order))
        return more


def labelled(entry: LogEntry, source: LogSource) -> LogEntry:
    """Return the entry with its job's label before the name of its replica."""
    return replace(entry, task=f"{source.label}/{entry.task or SERVICE}") if source.label else entry


class ShownMessages:
    """The messages of a job's log for people, without what they have read already.

    With `raw` they stay as they are. `with_tails` keeps the end of a replica's log in the message about its
    failure, for a log in which the replica's own lines may be missing. With `is_brief` the emulator's notices
    have only what stands in for an image, and their warnings.
    """

    def __init__(self, *, raw: bool = False, with_tails: bool = False, is_brief: bool = False) -> None:
        self._raw = raw
        self._is_brief = is_brief
        self._with_tails = with_tails
        self._notices: set[str] = set()

    def of(self, entry: LogEntry) -> str | None:
        """Return the message of an entry to show; None for a notice that another replica or trial had."""
        if self._raw:
            return entry.message
        if entry.severity == "NOTICE" and entry.message.startswith(_OF_EMULATOR):
            if entry.message in self._notices:
                return None
            self._notices.add(entry.message)
            if self._is_brief:
                return drawn(_in_brief(entry.message))
        job, _, task = entry.task.rpartition("/")
        is_of_service = task in ("", SERVICE)
        if job and is_of_service and _PREPARES.match(entry.message):  # each trial prepares in the same way
            if entry.message in self._notices:
                return None
            self._notices.add(entry.message)
        message = entry.message
        if is_of_service and not self._with_tails:
            message = without_log(message, of_pip=False)
        return "\n".join(map(drawn, message.split("\n")))


_OF_EMULATOR = "Emulator: "
"""Beginning of the emulator's notices about how it runs a replica."""

_PREPARES = re.compile(r"Waiting for |Vertex AI is |Job is preparing")
"""Beginning of what the service says before a job runs."""

_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")
_WHERE = re.compile(r" \(/[^)]*\)|, with those packages of \S+ that the image has")
"""Where the Python of a replica is, and its packages."""


def _in_brief(notice: str) -> str:
    first, *others = _SENTENCES.split(notice)
    return " ".join([_WHERE.sub("", first), *(one for one in others if one.startswith("WARNING"))])


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
        clock: Callable[[], float] = machine_clock.monotonic,
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
        self._messages = ShownMessages(is_brief=True)
        self.complete = True
        """True unless a line was omitted."""

    def of(self, entry: LogEntry) -> Iterator[str]:
        """Yield the lines to show for an entry, after a notice if lines were omitted before."""
        message = self._messages.of(entry)
        if message is None:
            return
        # The service's entry about a failure repeats lines of the replica's log, and of pip.
        for line in lines_of(message if entry.task else without_log(message)):
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
    clock: Callable[[], float] = machine_clock.monotonic,
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
