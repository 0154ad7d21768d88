"""The log of a job for a page: the last lines, and then each new line once."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry, Tail
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.logs import SERVICE, RunLog, ShownMessages, labelled
from vertex_training.fields import timestamps
from vertex_training.findings.words import visible_lines

SHOWN = 500
"""Lines of a log that a page has at first."""

LATE_SECONDS = 2.0
"""Seconds by which an entry of the emulator may be late."""

_AT_ONCE = 2000
"""Lines that are sent at once; the next look has the others."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """An entry of a log, with its control characters as escapes."""

    time: str
    severity: str
    replica: str
    message: str


def place_in(text: str) -> str:
    """Return the time at which a page continues a log, as the page gave it; "" for any other text."""
    return text if timestamps.is_moment(text) and text >= "1971" else ""


def newest(endpoint: Endpoint, record: JobRecord, *, count: int = SHOWN) -> tuple[list[Line], str]:
    """Return the last lines of a job, oldest first, and the time of the last one. Raises CloudError."""
    found: list[LogEntry] = []
    for source in gateway_of(record.name).log_sources(endpoint, record):
        found += (labelled(one, source) for one in logs.newest(endpoint, source.job_id, count=count))
    last = heapq.nlargest(count, found, key=lambda entry: entry.order)[::-1]
    return list(_shown(last, ShownMessages())), last[-1].timestamp if last else ""


class NewLines:
    """The lines of a job from a time on; each poll returns those that no earlier poll returned.

    It begins some seconds before `time`, "" for the beginning of the log: entries can arrive late, after
    those that the page has. The page drops what it has already.
    """

    def __init__(self, time: str) -> None:
        self.time = time
        self._first = _entry_before(time) if time else None
        self._tails: dict[str, Tail] = {}
        self._messages = ShownMessages()

    def poll(self, endpoint: Endpoint, record: JobRecord) -> list[Line]:
        """Return the new lines, oldest first. Raises CloudError."""
        found: list[LogEntry] = []
        for source in gateway_of(record.name).log_sources(endpoint, record):
            tail = self._tails.setdefault(source.job_id, Tail(source.job_id, after=self._first))
            for entry in tail.poll(endpoint):
                found.append(labelled(entry, source))
                if len(found) >= _AT_ONCE:
                    break
        found.sort(key=lambda entry: entry.order)
        if found:
            self.time = found[-1].timestamp
        return list(_shown(found, self._messages))


def _shown(entries: Iterable[LogEntry], messages: ShownMessages) -> Iterator[Line]:
    """Yield the lines for people: a notice of the emulator once for all replicas."""
    for entry in entries:
        message = messages.of(entry)
        if message is not None:
            yield line_of(replace(entry, message=message))


def whole(endpoint: Endpoint, record: JobRecord, *, replica: str | None) -> Iterator[str]:
    """Yield the text of the whole log, or of one replica. Raises CloudError."""
    log = RunLog(task=replica)
    log.see(endpoint, record)
    for entry in log.poll(endpoint):
        line = line_of(entry)
        yield f"{line.time} {line.severity} {line.replica} {line.message}\n"


def line_of(entry: LogEntry) -> Line:
    """Return the line of an entry."""
    return Line(
        time=entry.timestamp,
        severity=entry.severity,
        replica=entry.task or SERVICE,
        message=visible_lines(entry.message),
    )


def _entry_before(time: str) -> LogEntry:
    begin = timestamps.parse(time) - timedelta(seconds=LATE_SECONDS)
    return LogEntry(timestamp=begin.isoformat(), severity="", task="", message="", insert_id="")
