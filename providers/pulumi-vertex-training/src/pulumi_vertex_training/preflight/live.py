"""The quota that live jobs take, by their declarations: Google's own count lags by minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.preflight.subject import Demand, Subject, demand_of
from pulumi_vertex_training.runs.gateway import gateway_in
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL
from vertex_training.job.job_kind import JobKind

_COLLECTIONS = (registry.CUSTOM_JOB.collection, registry.TUNING_JOB.collection)
"""The jobs that take quota, pipelines' jobs included."""


@dataclass(frozen=True, kw_only=True)
class LiveJob:
    """A live job by its full name, with the key of its run, "" for none, and the quota that it takes."""

    name: str
    run: str
    demand: Demand


def live_jobs(endpoint: Endpoint) -> tuple[LiveJob, ...]:
    """Return the jobs that take quota in the endpoint's project and region, each machine once.

    A queued job takes none. The trials of a tuning job are custom jobs: a tuning job counts with all that it
    may run at the same time, and they do not.
    """
    jobs: list[LiveJob] = []
    trials: set[str] = set()
    for collection in reversed(_COLLECTIONS):
        gateway = gateway_in(collection)
        for record in gateway.list_live(endpoint):
            if record.state is not JobState.JOB_STATE_QUEUED and _key(record.name) not in trials:
                trials |= {_key(inner.name) for inner in gateway.inner(record)}
                run = record.labels.get(DECLARATION_LABEL, "")
                jobs.append(LiveJob(name=record.name, run=run, demand=_demand(collection, record)))
    return tuple(jobs)


def taken(jobs: Iterable[LiveJob], *, without: Collection[str] = ()) -> Mapping[str, int]:
    """Return the quota that live jobs take by metric, without jobs of some names or identities of runs."""
    left_out = set(map(_key, without))
    counts: Counter[str] = Counter()
    for job in jobs:
        if left_out.isdisjoint((_key(job.name), job.run)):
            counts.update(job.demand.counts)
    return counts


def _key(name: str) -> str:
    """Return collection and id: a name has the project's id or its number."""
    return "/".join(name.split("/")[-2:])


def _demand(collection: str, record: JobRecord) -> Demand:
    kind = registry.runnable(collection).part("kind", "KIND", JobKind)
    try:
        spec = kind.normalise(kind.from_wire(record.wire))
    except ValueError:
        return Demand(uncounted=(record.name,))
    return demand_of(Subject(name=record.name, collection=collection, spec=spec).parts)
