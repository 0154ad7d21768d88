"""The cost of a run so far: its replicas' seconds, by the recorded start and end, at today's prices.

A live job has cost what it ran so far. A tuning job costs what its trials do. A pipeline costs what its job
does; while that cannot be read, the pipeline's own start and end count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from vertex_training.cost.prices import PriceTable
from vertex_training.cost.runs import Spent, cost_of_run
from vertex_training.fields import timestamps
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import JobSpec, parts


def spent_at_most(endpoint: Endpoint, record: JobRecord, *, table: PriceTable, now: datetime) -> float:
    """Return what a job has cost until `now` at most; parts without any price are not counted.

    Where Spot or Flex-start has no price that is known, the price on demand counts. Raises no CloudError.
    """
    spent = spent_by(endpoint, record, table=table, now=now)
    if spent is not None and spent.total is None:
        spent = spent_by(endpoint, record, table=table, now=now, on_demand=True)
    return 0.0 if spent is None else spent.known


def spent_by(
    endpoint: Endpoint, record: JobRecord, *, table: PriceTable, now: datetime, on_demand: bool = False
) -> Spent | None:
    """Return what a job has cost until `now`; None if it has not run, or cannot be read.

    Reads the job of a pipeline. `on_demand`: by the prices on demand, whatever its strategy. Raises no
    CloudError.
    """
    inner = [one for one in gateway_of(record.name).inner(record) if one.trial is None]
    for one in inner:
        try:
            job = gateway_of(one.name).get(endpoint, one.name)
        except CloudError:
            continue
        return spent_by(endpoint, job, table=table, now=now, on_demand=on_demand)
    try:
        job_spec = _spec(record)
    except ValueError:  # a job of a newer version
        return None
    seconds = sum(max((end - start).total_seconds(), 0.0) for start, end in spans_of(record, now))
    if job_spec is None or not seconds:
        return None
    return _cost(record, replace(job_spec, scheduling=None) if on_demand else job_spec, seconds, table)


def spent_in(record: JobRecord, seconds: float, *, table: PriceTable) -> Spent | None:
    """Return what a job costs while it runs for so many seconds; None if it cannot be read."""
    try:
        job_spec = _spec(record)
    except ValueError:  # a job of a newer version
        return None
    return None if job_spec is None else _cost(record, job_spec, seconds, table)


def _cost(record: JobRecord, job_spec: JobSpec, seconds: float, table: PriceTable) -> Spent:
    return cost_of_run(
        job_spec,
        replica_seconds={
            index: pool.replica_count * seconds for index, pool in enumerate(job_spec.worker_pool_specs)
        },
        region=region_of(record.name),
        table=table,
    )


def spans_of(record: JobRecord, now: datetime) -> Sequence[tuple[datetime, datetime]]:
    """Return the times in which a job's replicas ran: one, or one for each trial."""
    trials = gateway_of(record.name).trials(record)
    if trials or "trialJobSpec" in record.wire:
        times = [(one.start_time, one.end_time) for one in trials]
        if not record.state.is_terminal:
            return list(_spans(times, now))
        ended = timestamps.parse_or_none(record.end_time) or now
        return list(_spans(times, ended))
    end = record.end_time
    if end is None and record.state.is_terminal:
        end = record.update_time or record.start_time
    return list(_spans([(record.start_time, end)], now))


def region_of(name: str) -> str | None:
    """Return the region in a full name."""
    words = name.split("/")
    return words[words.index("locations") + 1] if "locations" in words[:-1] else None


def _spec(record: JobRecord) -> JobSpec | None:
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    spec = kind.normalise(kind.from_wire(record.wire))
    return next((part for _, part in parts(spec)), None)


def _spans(
    times: Iterable[tuple[str | None, str | None]], now: datetime
) -> Iterable[tuple[datetime, datetime]]:
    for start, end in times:
        begun = timestamps.parse_or_none(start)
        if begun is not None:
            yield begun, timestamps.parse_or_none(end) or now
