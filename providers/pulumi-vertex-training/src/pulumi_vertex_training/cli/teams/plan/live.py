"""The live jobs that a deployment will cancel, as their service has them, and what is lost with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli.teams.plan.jobs import RecordedJob
from pulumi_vertex_training.cli.teams.plan.plan import Change, Plan
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs import words as cost_words
from pulumi_vertex_training.costs.spent import spent_by
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring import progress
from pulumi_vertex_training.runs.monitoring.live_jobs import described, now, run_again, since
from pulumi_vertex_training.timeouts import Timeouts
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs.status import report_of
from pulumi_vertex_training.views.runs import spending
from vertex_training.command_line.errors import CommandError
from vertex_training.cost.runs import Spent
from vertex_training.fields.document import json_of
from vertex_training.findings.words import counted


@dataclass(frozen=True, kw_only=True)
class LiveJob:
    """A job that has not ended and that the deployment will stop.

    `since` is the time at which it started, or was created (RFC 3339). `report` is the latest progress that
    its program reported, if it reports any. `spent` is the cost of the job so far, None if it has none.
    `runs_again` is true if another job replaces it, which continues from the checkpoints in
    `continues_from`, or gets none if that is "". `is_protected` is true if `up` will refuse to
    cancel it. `trouble` is why its state is not known. `now` is the service's time, None for the machine's.
    """

    job: str
    state: str
    replicas: int
    since: str = ""
    report: progress.Report | None = None
    spent: Spent | None = None
    runs_again: bool = False
    continues_from: str = ""
    is_protected: bool = False
    trouble: str = ""
    now: datetime | None = None

    def sentence(self, name: str) -> str:
        """Return the effect on the job: "train is RUNNING (5 replicas, 2 h 10 min, 45%): up will ..."."""
        count = counted(self.replicas, "replica")
        if self.trouble:
            return f"{name}: whether its job runs is not known ({count}): {self.trouble}"
        cost = f"{cost_words.spent(self.spent)} so far" if self.spent is not None and self.spent.known else ""
        reported = progress.in_words(self.report) if self.report is not None else ""
        words = described(self.state, count, self.since, cost, reported, now=self.now)
        return f"{name} is {words}: {self._effect}"

    @property
    def _effect(self) -> str:
        if self.is_protected:
            return "protect_running is set, so up will refuse to cancel it"
        return f"up will cancel it{run_again(self.continues_from) if self.runs_again else ''}"

    def document(self) -> dict[str, Any]:
        """Return the job as JSON."""
        return {
            **json_of(self, "job state replicas runs_again"),
            "since": self.since or None,
            "progress": progress.as_json(self.report),
            "cost": spending.document(self.spent),
            "continuesFrom": self.continues_from or None,
            "protected": self.is_protected,
            "trouble": self.trouble or None,
        }


def live_jobs(found: Plan, data_dir: Path | None, timeouts: Timeouts) -> dict[str, LiveJob]:
    """Return the live jobs that the deployment will stop, by the URN of their resource.

    A job whose service does not answer is reported with the state `UNKNOWN`. `data_dir` is the emulator's
    folder, None the default.
    """
    stopped = [(change, change.stopped) for change in found.changes if change.stopped is not None]
    read = call_each(lambda pair: _live_job(pair[0], pair[1], data_dir, timeouts), stopped)
    return {change.urn: job for (change, _), job in zip(stopped, read, strict=True) if job is not None}


def _live_job(change: Change, job: RecordedJob, data_dir: Path | None, timeouts: Timeouts) -> LiveJob | None:
    try:
        endpoint = endpoint_at(vars(job), data_dir, timeouts)
        record = gateway_of(job.name).get(endpoint, job.name)
    except NotFound:
        return None
    except (CloudError, CommandError) as error:
        return LiveJob(job=job.name, state="UNKNOWN", replicas=job.replicas, trouble=str(error))
    if record.state.is_terminal:
        return None
    time = now(endpoint, [record])
    return LiveJob(
        job=job.name,
        state=record.state.word,
        replicas=job.replicas,
        since=since(record) or "",
        report=report_of(endpoint, record),
        spent=spent_by(endpoint, record, table=current_prices(), now=time),
        runs_again=change.effect == "replace",
        continues_from=job.continues_from,
        is_protected=job.is_protected,
        now=time,
    )


def endpoint_at(recorded: Mapping[str, Any], data_dir: Path | None, timeouts: Timeouts) -> Endpoint:
    """Return the endpoint of a recorded resource. Starts nothing. Raises CommandError."""
    kind = recorded.get("endpoint")
    choice = target.Choice(
        kind=kind,
        project=recorded.get("project"),
        location=recorded.get("location"),
        data_dir=data_dir if kind == "emulator" else None,
        timeouts=timeouts,
    )
    return target.resolve(choice)
