"""One job with its replicas, events, search, cause of failure, and what changed since its run before."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.diagnosis.diagnosis import Diagnosis, examine, has_failed, without_log
from pulumi_vertex_training.runs.gateway import gateway_in, gateway_of
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, REASON_LABEL, RUN_LABEL
from pulumi_vertex_training.runs.logs import SERVICE
from pulumi_vertex_training.runs.monitoring import live_jobs, replica_reports, waits
from pulumi_vertex_training.runs.monitoring.progress import Report, in_words, warnings_of
from pulumi_vertex_training.runs.policies.rerun import words_of
from pulumi_vertex_training.ui.source import costs, tuning
from pulumi_vertex_training.ui.source.costs import JobCost
from pulumi_vertex_training.ui.source.inventory import JobRow, row_of
from pulumi_vertex_training.ui.source.tuning import Tuning
from pulumi_vertex_training.ui.source.usage import ReplicaUsage, usage_of
from pulumi_vertex_training.views import lineage
from pulumi_vertex_training.views.jobs import status
from pulumi_vertex_training.views.jobs.resources import histories
from pulumi_vertex_training.views.kind_view import view_of
from pulumi_vertex_training.views.metrics.metrics import AllMetrics, Metrics
from pulumi_vertex_training.views.runs import history
from pulumi_vertex_training.views.runs.resumes import resumes_of
from pulumi_vertex_training.views.study_view import job_key
from pulumi_vertex_training.views.topology.drawing import Box, Drawing, drawing_of
from vertex_emulator import machine_clock
from vertex_training.fields import timestamps
from vertex_training.fields.resource_names import resource_id
from vertex_training.job.job_kind import JobKind
from vertex_training.study.tuning import TuningSpec
from vertex_training.topology.pools import WorkerPoolSpec

_MOST_EVENTS = 500
_SECONDS_BETWEEN_FILES = 15


@dataclass(frozen=True, kw_only=True)
class Replica:
    """A replica. `note` adds the exit code and the attempt in words, if there is anything to add."""

    name: str
    state: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A worker pool as it is drawn, with its replicas."""

    box: Box
    replicas: tuple[Replica, ...]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to a job, in words. `severity` is Cloud Logging's."""

    time: str
    words: str
    severity: str = "INFO"


@dataclass(frozen=True, kw_only=True)
class RunBefore:
    """The run of a job, and what changed since the run before.

    `before` is the key of that run's job, "" for the first run. `changes` are in words.
    """

    number: str
    why: str
    before: str = ""
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as its page shows it. `machines` are the totals, `report` is the latest of a live job.

    `tuning` has the trials of a tuning job. It is None for other jobs, and for a job of a newer version.
    """

    endpoint: Endpoint
    record: JobRecord
    row: JobRow
    facts: tuple[tuple[str, str], ...]
    pools: tuple[Pool, ...]
    machines: str
    events: tuple[Event, ...]
    tuning: Tuning | None
    inner: str
    waits_for: str
    stragglers: tuple[str, ...]
    shells: tuple[tuple[str, str], ...]
    diagnosis: Diagnosis | None
    run: RunBefore | None
    lineage: tuple[tuple[str, str], ...]
    cost: JobCost
    metrics: Metrics
    usage: tuple[ReplicaUsage, ...]
    experiment: str = ""
    report: Report | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each metric of a live job that is NaN or infinite."""
        return tuple(warnings_of(self.report).values())

    @property
    def seconds(self) -> float | None:
        """The seconds from the start to the end; None unless it has both."""
        if not self.row.started or not self.row.ended:
            return None
        return (timestamps.parse(self.row.ended) - timestamps.parse(self.row.started)).total_seconds()


_METRICS = AllMetrics()


def read(endpoint: Endpoint, collection: str, job_id: str) -> Job:
    """Return a job. Raises CloudError, KeyError for a collection that has no jobs."""
    record = gateway_in(collection).get(endpoint, f"{endpoint.parent}/{collection}/{job_id}")
    report = None if record.state.is_terminal else status.report_of(endpoint, record)
    inner = view_of(record).replicas_of(record)
    cost = costs.cost_of(record, now=live_jobs.now(endpoint, [record]))
    drawing = _drawing(record, cost)
    return Job(
        endpoint=endpoint,
        record=record,
        row=row_of(record, report=report, details=in_words(report) if report else ""),
        facts=tuple(_facts(endpoint, record)),
        pools=tuple(_pools(drawing, record, status.replicas(endpoint, record))),
        machines=drawing.totals,
        events=tuple(_events(endpoint, record)),
        tuning=_tuning(endpoint, record),
        inner=job_key(inner) if inner and inner != record.name else "",
        shells=tuple(status.web_access(record).items()),
        stragglers=_stragglers(endpoint, record.name, record.state.word, _period()),
        waits_for=waits.wait_of(endpoint, record),
        diagnosis=_diagnosis(endpoint, record.name, record.end_time) if has_failed(record) else None,
        run=_run(endpoint, record.name) if RUN_LABEL in record.labels else None,
        lineage=_lineage(endpoint, record.name) if RUN_LABEL in record.labels else (),
        cost=cost,
        metrics=_METRICS.of(endpoint, record),
        usage=_usage(endpoint, inner),
        experiment=_experiment(record),
        report=report,
    )


def _facts(endpoint: Endpoint, record: JobRecord) -> Iterator[tuple[str, str]]:
    """Yield the facts of the kind, and from where the program resumed.

    A tuning job has none here: its best trial and numbers of trials are in the strip.
    """
    if record.collection != registry.TUNING_JOB.collection:
        yield from ((name, value) for name, value in view_of(record).facts(record) if value)
    resumed = _resumed(endpoint, record.name, record.state.word, _period())
    yield from (("Resumed", words) for words in resumed)


def _experiment(record: JobRecord) -> str:
    """Return the id of the experiment that a job's spec names, or ""."""
    spec = record.wire.get("jobSpec") or record.wire.get("trialJobSpec") or {}
    return resource_id(str(spec.get("experiment") or ""))


def _usage(endpoint: Endpoint, job: str | None) -> tuple[ReplicaUsage, ...]:
    """Return the use of the replicas of a custom job, by its full name."""
    if not job or registry.collection_of(job) != registry.CUSTOM_JOB.collection:
        return ()
    try:
        return usage_of(endpoint, resource_id(job))
    except CloudError:  # the page has all the rest
        return ()


def spec_of(record: JobRecord) -> Any:
    """Return the spec of a job, or None for a job of a newer version."""
    try:
        return kind_of(record).from_wire(record.wire)
    except ValueError:
        return None


def kind_of(record: JobRecord) -> JobKind[Any]:
    """Return the operations on the specs of a job's kind."""
    return registry.runnable(record.collection).part("kind", "KIND", JobKind)


def _drawing(record: JobRecord, cost: JobCost) -> Drawing:
    """Return the drawing of the pools. The cost of a tuning job is of several trials, so it is left out."""
    pools: Sequence[WorkerPoolSpec] = getattr(spec_of(record), "worker_pool_specs", ())
    is_one = record.collection == registry.CUSTOM_JOB.collection
    return drawing_of(pools, hourly=cost.hourly if is_one else "")


def _pools(drawing: Drawing, record: JobRecord, states: Sequence[ReplicaState] | None) -> Iterator[Pool]:
    """Yield the pools that have replicas. A replica without a state is pending, or has never started.

    The states are None if the service does not report them, as Google Cloud.
    """
    known = {one.name: one for one in states or ()}
    for box in drawing.boxes:
        yield Pool(
            box=box,
            replicas=tuple(
                Replica(name=name, state="not reported")
                if states is None
                else _replica(name, known.get(name), record)
                for name in box.names
            ),
        )


def _replica(name: str, state: ReplicaState | None, record: JobRecord) -> Replica:
    if state is None:
        return Replica(name=name, state="not started" if record.state.is_terminal else "pending")
    notes = []
    is_ended = status.ended_with_chief(record, state)
    if state.exit_code and not is_ended:
        notes.append(f"exit code {state.exit_code}")
    if state.attempt > 1:
        notes.append(f"attempt {state.attempt}")
    if state.job_attempt > 1:
        notes.append(f"attempt {state.job_attempt} of the job")
    shown = status.ENDED_WITH_CHIEF if is_ended else state.state
    return Replica(name=name, state=shown, note=", ".join(notes))


def _events(endpoint: Endpoint, record: JobRecord) -> Iterator[Event]:
    """Yield the events of a job, oldest first: its times, and what the service wrote into its log."""
    if record.create_time:
        yield Event(time=record.create_time, words="The job was submitted.")
    sources = gateway_of(record.name).log_sources(endpoint, record)
    if len(sources) != 1:
        yield from _own_times(record)
        return
    for count, entry in enumerate(logs.entries(endpoint, sources[0].job_id, task=SERVICE)):
        if count == _MOST_EVENTS:
            yield Event(time=entry.timestamp, words="More events are in the log.", severity="NOTICE")
            return
        yield Event(time=entry.timestamp, words=without_log(entry.message), severity=entry.severity)


def _own_times(record: JobRecord) -> Iterator[Event]:
    if record.start_time:
        yield Event(time=record.start_time, words="The job started.")
    if record.end_time:
        error = f": {without_log(record.error.message)}" if record.error else "."
        severity = "ERROR" if record.error else "INFO"
        yield Event(
            time=record.end_time,
            words=f"The job ended in state {record.state.word}{error}",
            severity=severity,
        )


def _tuning(endpoint: Endpoint, record: JobRecord) -> Tuning | None:
    spec = spec_of(record)
    return tuning.of(endpoint, record, spec) if isinstance(spec, TuningSpec) else None


def _period() -> int:
    """Return a number that changes as often as the replicas write their files: a page is read more often."""
    return int(machine_clock.monotonic() / _SECONDS_BETWEEN_FILES)


@functools.lru_cache(maxsize=64)
def _stragglers(endpoint: Endpoint, name: str, _state: str, _at: int) -> tuple[str, ...]:
    """Return the replicas that are far behind, in words."""
    found = status.stragglers_of(endpoint, gateway_of(name).get(endpoint, name))
    return tuple(map(replica_reports.in_words, found))


@functools.lru_cache(maxsize=64)
def _resumed(endpoint: Endpoint, name: str, _state: str, _at: int) -> tuple[str, ...]:
    """Return from where the starts of a job's program resumed, in words."""
    record = gateway_of(name).get(endpoint, name)
    return tuple(one.words for one in resumes_of(endpoint, [record]).get(name, ()))


@functools.lru_cache(maxsize=64)
def _diagnosis(endpoint: Endpoint, name: str, _end_time: str | None) -> Diagnosis:
    """Return the diagnosis of a failed job, which does not change."""
    return examine(endpoint, gateway_of(name).get(endpoint, name))


@functools.lru_cache(maxsize=256)
def _run(endpoint: Endpoint, name: str) -> RunBefore:
    """Return the run of a job among its resource's. Runs before it do not change."""
    gateway = gateway_of(name)
    record = gateway.get(endpoint, name)
    label = next(
        (one for one in ("pulumi-resource", DECLARATION_LABEL) if one in record.labels), DECLARATION_LABEL
    )
    labels = {label: record.labels.get(label, "")}
    same = next(
        (
            one
            for one in histories(
                job for job in gateway.list_by_label(endpoint, labels) if RUN_LABEL in job.labels
            )
            if any(job.name == record.name for job in one.records)
        ),
        None,
    )
    code = record.labels.get(REASON_LABEL, "")
    if same is None:
        return RunBefore(number="", why=words_of(code))
    names = [job.name for job in same.records]
    before = next(iter(same.records[names.index(record.name) + 1 :]), None)
    return RunBefore(
        number=same.numbers()[record.name],
        why=words_of(code),
        before=job_key(before.name) if before else "",
        changes=tuple(_sentences(history.changes_since(before, record))) if before else (),
    )


@functools.lru_cache(maxsize=256)
def _lineage(endpoint: Endpoint, name: str) -> tuple[tuple[str, str], ...]:
    """Return what the run of a job was made of, which does not change; empty without its file."""
    found = lineage.lineage_of(endpoint, gateway_of(name).get(endpoint, name))
    return tuple(lineage.facts(found)) if found is not None else ()


def _sentences(changes: Iterable[str]) -> Iterator[str]:
    """Yield each change of its own: the pools' come in one line."""
    for line in changes:
        yield from line.split("; ")
