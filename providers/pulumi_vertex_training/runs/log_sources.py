"""What the log of something that runs is made of: the logs of custom jobs, one or many.

A tuning job's are those of its trials, which are custom jobs and begin one after the other; a pipeline's is
that of the job which it runs (v1 reference, `Trial.custom_job`, `TrainingPipeline.training_task_metadata`).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry, Tail
from pulumi_vertex_training.runs.kinds import CUSTOM_JOB, TRAINING_PIPELINE, TUNING_JOB

SERVICE = "service"
"""What an entry without a replica is of, beside those that have one."""

_AT_ONCE = 5000
"""Entries of one job that are read before those of the next."""

_QUIET_LOOKS = 3
"""A job that has ended is not looked at again after so many looks that brought nothing."""


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """A custom job whose log is part of another's. `label` is put before its replicas' names, "trial-3", ""
    where it is the only one; `ended` and `failed` say how it stands, as far as is known."""

    job_id: str
    label: str = ""
    ended: bool = False
    failed: bool = False


def log_sources(endpoint: Endpoint, record: JobRecord) -> tuple[LogSource, ...]:
    """The jobs whose logs are that of a record, as it is now. Raises CloudError: of a pipeline that runs a
    tuning job, that job is read."""
    if record.collection == TUNING_JOB.collection:
        return tuple(_of_trials(record.wire))
    if record.collection != TRAINING_PIPELINE.collection:
        return (LogSource(job_id=record.job_id, ended=record.state.is_terminal),)
    task = record.wire.get("trainingTaskMetadata")
    backing = backing_job(task) if isinstance(task, Mapping) else None
    if backing is None:
        return ()
    if f"/{CUSTOM_JOB.collection}/" in backing:
        return (LogSource(job_id=_id(backing), ended=record.state.is_terminal),)
    try:
        return tuple(_of_trials(TUNING_JOB.get(endpoint, backing).wire))
    except NotFound:
        return ()


def backing_job(metadata: Mapping[str, Any]) -> str | None:
    """The full name of the job that a pipeline runs, by its `trainingTaskMetadata`."""
    name = metadata.get("backingCustomJob") or metadata.get("backingHyperparameterTuningJob")
    return str(name) if name else None


def children(record: JobRecord) -> frozenset[str]:
    """The full names of what a tuning job or a pipeline runs: it goes with the whole."""
    task = record.wire.get("trainingTaskMetadata")
    backing = backing_job(task) if isinstance(task, Mapping) else None
    trials = (trial.get("customJob") for trial in record.wire.get("trials") or ())
    return frozenset(str(name) for name in (backing, *trials) if name)


def _of_trials(wire: Mapping[str, Any]) -> Iterator[LogSource]:
    for trial in wire.get("trials") or ():
        if trial.get("customJob"):
            state = trial.get("state")
            yield LogSource(
                job_id=_id(trial["customJob"]),
                label=f"trial-{trial.get('id', '')}",
                ended=state in ("SUCCEEDED", "INFEASIBLE"),
                failed=state == "INFEASIBLE",
            )


class RunLog:
    """The log of something that runs, as it grows: every look brings what none has brought before.

    Entries of several jobs come in the order of their times, with the label of the job in their `task`:
    "trial-3/workerpool0-0". `task` narrows it to one replica, of every job or, with a label, of one.
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
        """Take note of the jobs that are there now; with `from_now` what they have logged so far is passed
        over. Raises CloudError."""
        for source in log_sources(endpoint, record):
            if self._label not in (None, source.label):
                continue
            if source.job_id not in self._tails:
                after = next(iter(logs.newest(endpoint, source.job_id, count=1)), None) if from_now else None
                self._tails[source.job_id] = Tail(source.job_id, task=self._task, after=after)
                self._quiet[source.job_id] = 0
            self._sources[source.job_id] = source

    def look(self, endpoint: Endpoint) -> Iterator[LogEntry]:
        """The new entries. An iteration that ends early, also by an error, is gone on with by the next."""
        sources = list(self._sources.values())
        if len(sources) == 1:
            for entry in self._tails[sources[0].job_id].look(endpoint):
                yield _labelled(entry, sources[0])
            return
        more = True
        while more or self._pending:
            while self._pending:
                yield self._pending.popleft()
            if more:
                more = self._fetch(endpoint, sources)

    def _fetch(self, endpoint: Endpoint, sources: Sequence[LogSource]) -> bool:
        """Read on in every job, and put what came in the order of time; whether there is more."""
        found: list[LogEntry] = []
        more = False
        try:
            for source in sources:
                if source.ended and self._quiet[source.job_id] >= _QUIET_LOOKS:
                    continue
                count = len(found)
                for entry in itertools.islice(self._tails[source.job_id].look(endpoint), _AT_ONCE):
                    found.append(_labelled(entry, source))
                brought = len(found) - count
                self._quiet[source.job_id] = 0 if brought else self._quiet[source.job_id] + 1
                more = more or brought == _AT_ONCE
        finally:
            # What came before an error has been taken from its tail, and comes with the next look.
            self._pending.extend(sorted(found, key=lambda entry: entry.order))
        return more


def _labelled(entry: LogEntry, source: LogSource) -> LogEntry:
    """The entry with its job's label before the name of its replica."""
    return replace(entry, task=f"{source.label}/{entry.task or SERVICE}") if source.label else entry


def _id(name: str) -> str:
    return name.rpartition("/")[2]
