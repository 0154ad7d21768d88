"""The gateway of a kind of job: its calls, and the jobs that one of its jobs runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobClient, JobRecord

if TYPE_CHECKING:
    # The cancel watchdog, which is kept small, does not need trials.
    from vertex_training.study.trials import Trial


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """A custom job whose log is part of another job's log.

    `label` is put before the names of its replicas, "trial-3"; it is "" for the only source. `ended` and
    `failed` describe its state as far as it is known.
    """

    job_id: str
    label: str = ""
    ended: bool = False
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A job that another job, its `owner`, runs; `trial` is set for a trial's job. Both names are full."""

    name: str
    owner: str
    trial: Trial | None = None


@dataclass(frozen=True, kw_only=True)
class RunGateway(JobClient):
    """The calls of one kind of job. `runs` are the collections of the jobs that its jobs may run."""

    runs: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The name of the kind on the command line, "tuning-job"."""
        return self.noun.replace(" ", "-")

    def inner(self, _record: JobRecord, /) -> tuple[Inner, ...]:
        """Return the jobs that a job runs, as its record names them."""
        return ()

    def trials(self, _record: JobRecord, /) -> tuple[Trial, ...]:
        """Return the trials of a tuning job, or an empty tuple for any other kind of job."""
        return ()

    def log_sources(self, _endpoint: Endpoint, record: JobRecord, /) -> tuple[LogSource, ...]:
        """Return the jobs whose logs make up a job's log. Raises CloudError if one has to be read."""
        return (LogSource(job_id=record.job_id, ended=record.state.is_terminal),)


def gateway_in(collection: str) -> RunGateway:
    """Return the gateway of a collection. Raises KeyError if no kind of job has it."""
    return registry.runnable(collection).part("gateway", "GATEWAY", RunGateway)


def gateway_of(name: str) -> RunGateway:
    """Return the gateway of the job with this full name. Raises KeyError if it is not the name of a job."""
    return gateway_in(registry.collection_of(name))


def gateways() -> tuple[RunGateway, ...]:
    """Return the gateways of all kinds of job, custom jobs' first."""
    return tuple(gateway_in(entry.collection) for entry in registry.RUNNABLE)
