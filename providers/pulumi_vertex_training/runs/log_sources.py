"""The log of a job as it grows: the logs of one custom job, or of several that its gateway names."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry, Tail
from pulumi_vertex_training.runs.gateway import LogSource, gateway_of

SERVICE = "service"
"""The label of an entry without a replica, beside those that have one."""

_AT_ONCE = 5000
"""The most entries of one job that are read before those of the next."""

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

    def see(self, endpoint: Endpoint, record: JobRecord, *, from_now: bool = False) -> None:
        """Take note of the jobs that exist now. Raises CloudError.

        With `from_now`, the entries that they have logged so far are skipped.
        """
        for source in gateway_of(record.name).log_sources(endpoint, record):
            if self._label not in (None, source.label):
                continue
            if source.job_id not in self._tails:
                after = next(iter(logs.newest(endpoint, source.job_id, count=1)), None) if from_now else None
                self._tails[source.job_id] = Tail(source.job_id, task=self._task, after=after)
                self._quiet[source.job_id] = 0
            self._sources[source.job_id] = source

    def poll(self, endpoint: Endpoint) -> Iterator[LogEntry]:
        """Yield the new entries. The next call continues an iteration that ended early, also by an error."""
        sources = list(self._sources.values())
        if len(sources) == 1:
            for entry in self._tails[sources[0].job_id].poll(endpoint):
                yield _labelled(entry, sources[0])
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
                    found.append(_labelled(entry, source))
                brought = len(found) - count
                self._quiet[source.job_id] = 0 if brought else self._quiet[source.job_id] + 1
                more = more or brought == _AT_ONCE
        finally:
            # Entries read before an error are gone from their tail; the next call yields them.
            self._pending.extend(sorted(found, key=lambda entry: entry.order))
        return more


def _labelled(entry: LogEntry, source: LogSource) -> LogEntry:
    """Return the entry with its job's label before the name of its replica."""
    return replace(entry, task=f"{source.label}/{entry.task or SERVICE}") if source.label else entry
