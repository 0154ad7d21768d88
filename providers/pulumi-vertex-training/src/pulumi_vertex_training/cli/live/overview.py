"""The jobs of a project and location as `top` shows them: live ones, and those that ended while it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring import live_jobs
from pulumi_vertex_training.runs.monitoring.progress import Report
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import status as status_view
from pulumi_vertex_training.views.jobs.listing import Listing, details_of, document, read_jobs
from pulumi_vertex_training.views.jobs.resources import resource_of
from pulumi_vertex_training.views.jobs.stack_filter import StackFilter
from pulumi_vertex_training.views.runs import spending
from pulumi_vertex_training.views.study_view import job_key
from vertex_training.cost.runs import Spent
from vertex_training.fields import timestamps
from vertex_training.findings.words import counted

_ENDED_KEPT = 50
_GOOD = ("running", "succeeded")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job. `replicas` is None if the service does not report them; `declared` is their number then.

    `details` is its progress in words. `spent` is its cost so far, None if it has not run. `document` is its
    JSON in `jobs --json`.
    """

    record: JobRecord
    replicas: tuple[ReplicaState, ...] | None
    declared: int
    report: Report | None
    details: str
    spent: Spent | None
    document: dict[str, Any]

    @property
    def replicas_in_words(self) -> str:
        """The replicas that run or have succeeded, of all: "3/4"; only their number without states."""
        if self.replicas:
            return f"{sum(one.state in _GOOD for one in self.replicas)}/{len(self.replicas)}"
        return str(self.declared) if self.declared else ""

    @property
    def stack(self) -> str:
        """The stack that submitted it, as PROJECT/STACK; "" without one."""
        return resource_of(self.record).stack_name

    def age(self, now: datetime) -> float:
        """Return the seconds from the job's creation to its end, or until now."""
        if not self.record.create_time:
            return 0.0
        end = timestamps.parse(self.record.end_time) if self.record.end_time else now
        return max(0.0, (end - timestamps.parse(self.record.create_time)).total_seconds())


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The jobs at a time: live ones first, each part with the newest first."""

    endpoint: Endpoint
    time: datetime
    jobs: tuple[Job, ...]

    @property
    def summary(self) -> str:
        """The live jobs by state: "3 live jobs: 2 running, 1 pending"."""
        live = [job for job in self.jobs if not job.record.state.is_terminal]
        if not live:
            return "no live jobs"
        states = Counter(job.record.state.word.lower() for job in live)
        parts = ", ".join(f"{count} {state}" for state, count in states.most_common())
        return f"{counted(len(live), 'live job')}: {parts}"


class OverviewReader:
    """Reads the jobs again and again; remembers those that were live, to show how they ended."""

    def __init__(
        self, endpoint: Callable[[], Endpoint], *, kind: str | None, stack: StackFilter | None = None
    ) -> None:
        """`kind` and `stack` are as in `jobs`."""
        self._endpoint = endpoint
        self._kind = kind
        self._stack = stack
        self._live: set[str] = set()
        self._ended: dict[str, JobRecord] = {}

    def __call__(self) -> Overview:
        """Read the jobs. Raises CloudError and CommandError."""
        endpoint = self._endpoint()
        listing = read_jobs(endpoint, kind=self._kind, live=True, inner=False, stack=self._stack)
        # Trials, and the jobs of pipelines, are in the row of their owner.
        live = [one for one in listing.selected if job_key(one.name) not in listing.inner]
        names = {one.name for one in live}
        for name in sorted(self._live - names):
            try:
                record = gateway_of(name).get(endpoint, name)
            except NotFound:  # it was deleted
                continue
            if record.state.is_terminal:
                self._ended[name] = record
            else:
                live.append(record)
        self._live = {one.name for one in live}
        ended = job_lookup.newest_first(self._ended.values())[:_ENDED_KEPT]
        self._ended = {one.name: one for one in ended}
        records = (*job_lookup.newest_first(live), *ended)
        return Overview(
            endpoint=endpoint,
            time=live_jobs.now(endpoint, records),
            jobs=tuple(_jobs(endpoint, listing, records)),
        )


def _jobs(endpoint: Endpoint, listing: Listing, records: Sequence[JobRecord]) -> Iterable[Job]:
    def replicas(record: JobRecord) -> tuple[ReplicaState, ...] | None:
        found = None if record.state.is_terminal else status_view.replicas(endpoint, record)
        return tuple(found) if found is not None else None

    of_each = call_each(replicas, records)
    costs = spending.costs_of(endpoint, records)
    for record, states, spent in zip(records, of_each, costs, strict=True):
        yield Job(
            record=record,
            replicas=states,
            # Each trial of a tuning job has its own replicas; its row counts trials.
            declared=0 if "trialJobSpec" in record.wire else status_view.declared_replicas(record),
            report=listing.reports.get(record.name),
            details=details_of(listing, record),
            spent=spent,
            document=document(listing, record),
        )
