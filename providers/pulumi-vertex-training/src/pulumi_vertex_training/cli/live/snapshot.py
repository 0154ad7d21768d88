"""One job at a moment: its state, replicas, progress and the newest entries of its log."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any

from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.logs import RunLog, ShownMessages
from pulumi_vertex_training.runs.monitoring import live_jobs, waits
from pulumi_vertex_training.runs.monitoring.progress import Report, as_json, in_words
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import status as status_view
from pulumi_vertex_training.views.kind_view import view_of
from vertex_training.fields.document import json_of

_ENTRIES_AT_ONCE = 5000
_QUIET_READS = 2
"""After the end of a job its log is complete when so many reads have brought nothing."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A job at a moment.

    `tasks` are the names of the replicas in its log. `replicas` is None if the service does not report them.
    `waits_for` is why a live job does not start, or "". `new` are the log entries since the snapshot before,
    `recent` the last ones of all, as people read them. `is_last` is true once the job has ended and its log
    is complete. `now` is the service's time.
    """

    record: JobRecord
    tasks: tuple[str, ...] = ()
    replicas: tuple[ReplicaState, ...] | None = None
    report: Report | None = None
    waits_for: str = ""
    details: tuple[str, ...] = ()
    new: tuple[LogEntry, ...] = ()
    recent: tuple[LogEntry, ...] = ()
    is_last: bool = False
    now: datetime = field(default_factory=partial(datetime.now, timezone.utc))

    @property
    def words(self) -> str:
        """The facts in one line: "RUNNING, 3 running, 1 restarting, 45%, 2m05s left, loss 0.25"."""
        parts = [
            self.record.state.word,
            states_in_words(self.replicas or ()) if not self.record.state.is_terminal else "",
            *self.details,
            f"waits for {self.waits_for}" if self.waits_for else "",
            in_words(self.report) if self.report else "",
        ]
        return ", ".join(filter(None, parts))

    @property
    def milestones(self) -> object:
        """The facts whose change is reported at once; progress is only reported now and then."""
        states = tuple((one.name, one.state) for one in self.replicas or ())
        return self.record.state, states, self.waits_for

    def document(self) -> dict[str, Any]:
        """Return the JSON of the state, see docs/reference/json.md."""
        return {
            **job_lookup.summary(self.record),
            "waitsFor": self.waits_for or None,
            "progress": as_json(self.report),
            "replicas": self.replicas
            and [json_of(one, "name role state exit_code") for one in self.replicas],
        }


def states_in_words(replicas: Sequence[ReplicaState]) -> str:
    """Count replicas by state, in the order of the first of each: "3 running, 1 restarting"."""
    counts = Counter(one.state for one in replicas)
    return ", ".join(f"{count} {state}" for state, count in counts.items())


class SnapshotReader:
    """Reads one job again and again. An error of a read loses no log entry."""

    def __init__(self, endpoint: Callable[[], Endpoint], record: JobRecord, *, recent: int | None) -> None:
        """Begin with the last `recent` log entries; with the whole log if it is None."""
        self._endpoint = endpoint
        self._record = record
        self._skips = recent is not None
        self._keep = recent or 0
        self._recent: deque[LogEntry] = deque(maxlen=self._keep)
        self._new: list[LogEntry] = []
        self._log = RunLog()
        self._messages = ShownMessages(is_brief=True)
        self._tasks: tuple[str, ...] = ()
        self._report: Report | None = None
        self._quiet_reads = 0

    def __call__(self) -> Snapshot:
        """Read the job. Raises CloudError and CommandError."""
        endpoint = self._endpoint()
        record = self._record
        if not record.state.is_terminal:
            record = gateway_of(record.name).get(endpoint, record.name)
        replicas = status_view.replicas(endpoint, record)
        waits_for = waits.wait_of(endpoint, record)
        self._report = status_view.report_of(endpoint, record) or self._report
        self._log.see(endpoint, record, from_now=self._skips, keep=self._keep)
        self._skips = False  # a job that is found later, such as the next trial, is shown from its beginning
        self._tasks = self._tasks or tuple(status_view.tasks(endpoint, record))
        for entry in itertools.islice(self._log.poll(endpoint), _ENTRIES_AT_ONCE):
            self._new.append(entry)
            message = self._messages.of(entry)
            if message is not None:
                self._recent.append(replace(entry, message=message))
        new, self._new = tuple(self._new), []
        self._record = record
        self._quiet_reads = self._quiet_reads + 1 if record.state.is_terminal and not new else 0
        return Snapshot(
            record=record,
            tasks=self._tasks,
            replicas=tuple(replicas) if replicas is not None else None,
            report=self._report,
            waits_for=waits_for,
            details=view_of(record).details(record, ()),
            new=new,
            recent=tuple(self._recent),
            is_last=self._quiet_reads >= _QUIET_READS,
            now=live_jobs.now(endpoint, [record]),
        )
