"""The cost of jobs in words: of an hour while a job is live, of the whole run once it has ended.

So the words of a job change only with its state, and a page with many live jobs stays as it is.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs import words
from pulumi_vertex_training.costs.spent import region_of, spans_of
from vertex_training.cost.runs import Spent, cost_of_run
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import parts

FIELDS = "jobSpec.workerPoolSpecs,jobSpec.scheduling,jobSpec.persistentResourceId"
"""The fields of a custom job from which its cost follows."""

_PRICED = ("machineSpec", "diskSpec", "replicaCount")
_HOUR = 3600.0
_CENT = 0.01


@dataclass(frozen=True, kw_only=True)
class JobCost:
    """The cost of an hour, and of the run so far; "" for what is not known."""

    hourly: str = ""
    so_far: str = ""


def in_words(record: JobRecord) -> str:
    """Return "$0.62 an hour" for a live job, and "$1.20" for one that has ended; "" if it did not run."""
    found = cost_of(record)
    if record.state.is_terminal:
        return found.so_far
    return f"{found.hourly} an hour" if found.hourly else ""


def cost_of(record: JobRecord, *, now: datetime | None = None) -> JobCost:
    """Return the cost of a custom or tuning job at today's prices; nothing for other kinds.

    Of a tuning job, the hour counts its parallel trials.
    """
    rate = _rate(record)
    if rate is None:
        return JobCost()
    spans = spans_of(record, now or datetime.now(timezone.utc))
    hours = sum(max((end - start).total_seconds(), 0.0) for start, end in spans) / _HOUR
    spent = _times(rate, hours)
    return JobCost(
        hourly=words.spent(_times(rate, _jobs_at_once(record))), so_far=in_cents(spent) if hours else ""
    )


def _times(rate: Spent, factor: float) -> Spent:
    whole = None if rate.total is None else rate.total * factor
    return replace(rate, total=whole, known=rate.known * factor, replica_hours=rate.replica_hours * factor)


def _jobs_at_once(record: JobRecord) -> int:
    """Return how many jobs run at the same time: the parallel trials of a tuning job, else 1."""
    counts = [record.wire.get(name) for name in ("parallelTrialCount", "maxTrialCount")]
    return max(1, min((int(count) for count in counts if isinstance(count, int | str)), default=1))


def in_cents(spent: Spent | None) -> str:
    """Return an amount as on a bill: a job of a second costs less than a cent."""
    if spent is None or not spent.total:
        return words.spent(spent)
    return "<1¢" if spent.total < _CENT else f"${spent.total:,.2f}"


def _rate(record: JobRecord) -> Spent | None:
    """Return the cost of an hour of all replicas."""
    wire = record.wire
    spec = wire.get("trialJobSpec") or wire.get("jobSpec")
    if not isinstance(spec, dict):
        return None
    priced = {
        "pools": [{name: pool.get(name) for name in _PRICED} for pool in spec.get("workerPoolSpecs", ())],
        "scheduling": spec.get("scheduling"),
        "persistent": spec.get("persistentResourceId"),
    }
    text = json.dumps([record.collection, region_of(record.name), priced], sort_keys=True)
    return _known_rate(text, _Job(record))


class _Job:
    """A record that takes no part in the key of the cache: all jobs with the same machines cost the same."""

    def __init__(self, record: JobRecord) -> None:
        self.record = record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Job)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=512)
def _known_rate(_text: str, job: _Job) -> Spent | None:
    kind: JobKind[Any] = registry.runnable(job.record.collection).part("kind", "KIND", JobKind)
    try:
        spec = kind.normalise(kind.from_wire(job.record.wire))
    except ValueError:  # a job of a newer version
        return None
    job_spec = next((part for _, part in parts(spec)), None)
    if job_spec is None:
        return None
    seconds = {index: pool.replica_count * _HOUR for index, pool in enumerate(job_spec.worker_pool_specs)}
    region = region_of(job.record.name)
    return cost_of_run(job_spec, replica_seconds=seconds, region=region, table=current_prices())
