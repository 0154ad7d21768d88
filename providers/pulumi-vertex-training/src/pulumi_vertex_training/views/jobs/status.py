"""The state of a job: its replicas, its reported progress, its notifications and the tasks of its log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from typing import Any

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import Delivery, ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.diagnosis.diagnosis import Diagnosis
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.lineage.lineage import Lineage
from pulumi_vertex_training.runs.logs import SERVICE
from pulumi_vertex_training.runs.monitoring import progress, replica_reports
from pulumi_vertex_training.runs.monitoring.progress import (
    Report,
    as_json,
    directory_of,
    in_words,
    latest_report,
)
from pulumi_vertex_training.runs.monitoring.replica_reports import Straggler
from pulumi_vertex_training.runs.secret_arguments import pools_of
from pulumi_vertex_training.views.jobs.hidden_values import without_values
from pulumi_vertex_training.views.jobs.lookup import summary
from pulumi_vertex_training.views.jobs.resources import resource_of
from pulumi_vertex_training.views.jobs.rungs import rung_in_words
from pulumi_vertex_training.views.kind_view import view_of
from pulumi_vertex_training.views.lineage import NONE, contents
from pulumi_vertex_training.views.study_view import print_trials
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.output import Output, Style
from vertex_training.fields import timestamps
from vertex_training.fields.document import json_of
from vertex_training.findings.words import visible, visible_lines


def report_of(endpoint: Endpoint, record: JobRecord) -> Report | None:
    """Return the latest report of a job, None without one that can be read."""
    try:
        return latest_report(endpoint, directory_of(record))
    except (CloudError, ValueError):
        return None


def stragglers_of(endpoint: Endpoint, record: JobRecord) -> tuple[Straggler, ...]:
    """Return the replicas of a running job that are far behind, as far as their files can be read."""
    try:
        return replica_reports.stragglers_of(endpoint, record, directory_of(record))
    except (CloudError, ValueError):
        return ()


def reports_of(endpoint: Endpoint, records: Iterable[JobRecord]) -> Mapping[str, Report]:
    """Return the latest reports of the running jobs among the records, by full name."""
    running = [one for one in records if one.state is JobState.JOB_STATE_RUNNING]
    reports = call_each(lambda record: report_of(endpoint, record), running)
    return {record.name: report for record, report in zip(running, reports, strict=True) if report}


_WIDTH = 10
_COPIED = frozenset({"All logs", "Shells", "Lineage", "Resource"})
"""Facts that are copied whole, so no line of them is broken."""

_OF_LINES = frozenset({"Error", "Log end", "Notified", "Behind", "Shells", "Lineage", "Warning"})
"""Facts with several lines. In any other one, such as a name, a line break is an escape."""
_STYLES: Mapping[str, Style] = {
    "SUCCEEDED": "green", "FAILED": "red", "EXPIRED": "red", "CANCELLED": "yellow", "CANCELLING": "yellow"
}  # fmt: skip
_DELIVERY = "target event state attempts most_attempts error"
_DIAGNOSIS = "replica exit_code exit exception kind cause remedy lines unread"


@dataclass(frozen=True, kw_only=True)
class Status(Answer):
    """A job.

    `replicas` is None if the service does not report them, `diagnosis` unless the job failed. `cancelled` are
    the keys for `trials_view.stopped_early`. `shows_values` is --show-secrets, and `verbose` adds the full
    name and the labels for people. `now` is the service's time.
    """

    endpoint: Endpoint
    record: JobRecord
    replicas: Sequence[ReplicaState] | None = None
    diagnosis: Diagnosis | None = None
    cancelled: Collection[str] = ()
    report: Report | None = None
    stragglers: Sequence[Straggler] = ()
    waits_for: str = ""
    deliveries: Sequence[Delivery] = ()
    lineage: Lineage | None = None
    shows_values: bool = False
    verbose: bool = False
    now: datetime = field(default_factory=partial(datetime.now, timezone.utc))

    def document(self) -> dict[str, Any]:
        record = self.record
        whole = {**summary(record), **view_of(record).status(record, self.cancelled)}
        found = {**without_values(whole, show=self.shows_values), "progress": as_json(self.report)}
        if self.diagnosis is not None:
            found["diagnosis"] = json_of(self.diagnosis, _DIAGNOSIS)
        if links := web_access(record):
            found["webAccessUris"] = dict(links)
        if self.report is not None and self.report.not_finite:
            found["notFinite"] = json_of(self.report.not_finite)
        if self.stragglers:
            found["stragglers"] = json_of(self.stragglers)
        if self.waits_for:
            found["waitsFor"] = self.waits_for
        if rung := rung_in_words(record):
            found["rung"] = rung
        if self.deliveries:
            times = [
                {"nextAttempt": one.next_attempt or None, "endTime": one.end_time or None}
                for one in self.deliveries
            ]
            each = zip(self.deliveries, times, strict=True)
            found["notifications"] = [{**json_of(one, _DELIVERY), **two} for one, two in each]
        if RUN_LABEL in record.labels:
            found["lineage"] = json_of(self.lineage)
        if self.replicas is not None:
            found["replicas"] = json_of(self.replicas)
        return found

    def _lineage(self) -> str:
        """Return what the run was made of, a part on each line; "" for a job that no stack submitted."""
        if self.lineage is not None:
            return "\n".join(f"{name} {value}" for name, value in contents(self.lineage))
        return NONE if RUN_LABEL in self.record.labels else ""

    def _show_head(self, output: Output) -> None:
        """Print name, state, duration, kind and stack in one line."""
        record, ran = self.record, duration(self.record, self.now)
        stack = resource_of(record).stack_name
        output.line(
            (record.display_name or record.job_id, "bold"),
            "  ",
            (record.state.word, _STYLES.get(record.state.word, "")),
            f" {'after' if record.state.is_terminal else 'for'} {ran}" if ran else "",
            f"  {gateway_of(record.name).noun}{f' of {stack}' if stack else ''}",
        )

    def show(self, output: Output) -> None:
        record, diagnosis = self.record, self.diagnosis
        labels = ", ".join(f"{key}={value}" for key, value in sorted(record.labels.items()))
        facts = [
            *(_diagnosis(self.endpoint, record, diagnosis) if diagnosis else _error(record)),
            ("Waiting", f"for {self.waits_for}" if self.waits_for else ""),
            ("Progress", in_words(self.report) if self.report else ""),
            ("Warning", "\n".join(progress.warnings_of(self.report).values())),
            ("Rung", rung_in_words(record)),
            ("Behind", "\n".join(map(replica_reports.in_words, self.stragglers))),
            ("Shells", "\n".join(f"{name}: {link}" for name, link in web_access(record).items())),
            *view_of(record).facts(record),
            ("Notified", "\n".join(map(delivery_in_words, self.deliveries))),
            ("Lineage", self._lineage()),
            ("Created", moment(record.create_time)),
            ("Started", moment(record.start_time)),
            ("Ended", moment(record.end_time)),
            ("Job", record.job_id),
            *([("Resource", record.name), ("Labels", labels)] if self.verbose else []),
        ]
        self._show_head(output)
        for name, value in facts:
            if value:
                shown = visible_lines(value) if name in _OF_LINES else visible(value)
                output.fact(f"{name + ':':<{_WIDTH}}", shown, wraps=name not in _COPIED)
        print_trials(gateway_of(record.name).trials(record), self.cancelled, output)
        if self.replicas:
            output.gap()
            rows = [
                (
                    one.name,
                    one.role,
                    ENDED_WITH_CHIEF if ended_with_chief(record, one) else one.state,
                    "" if one.exit_code is None else str(one.exit_code),
                    _attempt(one),
                )
                for one in self.replicas
            ]
            output.table(("REPLICA", "ROLE", "STATE", "EXIT CODE", "ATTEMPT"), rows)


def deliveries(endpoint: Endpoint, record: JobRecord) -> Sequence[Delivery]:
    """Return the notifications of the end of a job; none while it is live."""
    return emulator_api.deliveries(endpoint, record.name) if record.state.is_terminal else ()


def delivery_in_words(one: Delivery) -> str:
    """Describe a delivery, such as "notifications[0].webhook: attempt 2 of 5 failed: ..."."""
    if one.state == "delivered":
        return f"{one.target}: delivered"
    if one.state == "failed":
        return f"{one.target}: given up after {one.attempts} attempts: {one.error}"
    if not one.error:
        return f"{one.target}: not delivered yet"
    again = f"; the next one is at {moment(one.next_attempt)}" if one.next_attempt else ""
    return f"{one.target}: attempt {one.attempts} of {one.most_attempts} failed: {one.error}{again}"


def moment(timestamp: str | None) -> str:
    """Format a timestamp in the user's time zone, to the second; "" for None."""
    if not timestamp:
        return ""
    return timestamps.parse(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def time_of_day(timestamp: str) -> str:
    """Format the time of day of a timestamp in the user's time zone, such as "13:07:54"."""
    return timestamps.parse(timestamp).astimezone().strftime("%H:%M:%S")


def duration(record: JobRecord, now: datetime) -> str:
    """Format the time from the job's start to its end, or until now, such as "1h02m"; "" before the start."""
    seconds = _seconds(record, now)
    return "" if seconds is None else progress.duration(seconds)


def clock_duration(record: JobRecord, now: datetime) -> str | None:
    """Return the same time for JSON, such as "1:02:03"; None before the start."""
    seconds = _seconds(record, now)
    return None if seconds is None else f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _seconds(record: JobRecord, now: datetime) -> int | None:
    if not record.start_time:
        return None
    end = timestamps.parse(record.end_time) if record.end_time else now
    return max(int((end - timestamps.parse(record.start_time)).total_seconds()), 0)


def _error(record: JobRecord) -> list[tuple[str, str]]:
    return [("Error", record.error.message if record.error else "")]


def _diagnosis(endpoint: Endpoint, record: JobRecord, diagnosis: Diagnosis) -> list[tuple[str, str]]:
    words = diagnosis.words
    if diagnosis.exit and "SIG" not in words:
        words += f" It was {diagnosis.exit}."
    log = f"not read: {diagnosis.unread}" if diagnosis.unread else "\n".join(diagnosis.lines)
    return [
        ("Error", "\n".join(filter(None, (words, diagnosis.exception)))),
        ("Log end", log),
        ("Cause", f"{diagnosis.cause} (likely)" if diagnosis.cause else ""),
        ("Remedy", diagnosis.remedy),
        ("All logs", f"vertex-training logs {of_job(endpoint, record.name)}"),
    ]


ENDED_WITH_CHIEF = "ended with the chief"


def ended_with_chief(record: JobRecord, one: ReplicaState) -> bool:
    """Return whether a replica was stopped because the chief had succeeded, which ends a job."""
    return record.state is JobState.JOB_STATE_SUCCEEDED and one.state == "stopped"


def _attempt(one: ReplicaState) -> str:
    """Return the attempt, such as "3", or "3 (job 2)" after the whole job was restarted."""
    return f"{one.attempt} (job {one.job_attempt})" if one.job_attempt > 1 else str(one.attempt)


def replicas(endpoint: Endpoint, record: JobRecord) -> Sequence[ReplicaState] | None:
    """Return the replicas of a job, or None if the service does not report them."""
    name = view_of(record).replicas_of(record)
    if name is None:
        return None
    try:
        return emulator_api.replicas(endpoint, name.rpartition("/")[2])
    except NotFound:
        return None


def inner_job(record: JobRecord) -> str:
    """Return the id of the custom job that runs the replicas of a job, or "" for none or several."""
    return (view_of(record).replicas_of(record) or "").rpartition("/")[2]


def web_access(record: JobRecord) -> Mapping[str, str]:
    """Return the links to the shells of a running job by replica; none without `enable_web_access`.

    The service has them while the job runs. They are in no state: each refresh would show a change.
    """
    if record.state is not JobState.JOB_STATE_RUNNING:
        return {}
    links = record.wire.get("webAccessUris")
    return (
        {str(name): str(link) for name, link in sorted(links.items())} if isinstance(links, Mapping) else {}
    )


def tasks(endpoint: Endpoint, record: JobRecord) -> list[str]:
    """Return the task names of the job's log, which are also the values of `--task`."""
    own = [*_replica_names(record.wire), SERVICE]
    sources = gateway_of(record.name).log_sources(endpoint, record)
    labels = [source.label for source in sources if source.label]
    return [*own, *(f"{label}/{name}" for label in labels for name in own)]


def declared_replicas(record: JobRecord) -> int:
    """Return the number of replicas that a job declares; of a tuning job, those of each trial."""
    return sum(1 for _ in _replica_names(record.wire))


def _replica_names(wire: Mapping[str, Any]) -> Iterator[str]:
    for index, pool in enumerate(pools_of(wire)):
        for number in range(int(float(pool.get("replicaCount") or 0))):
            yield f"workerpool{index}-{number}"
