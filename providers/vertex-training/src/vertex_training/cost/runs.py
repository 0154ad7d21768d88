"""The cost of a past run, by the time for which each of its replicas had a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vertex_training.cost.cost import Gap, hourly_of_replica, use_of
from vertex_training.cost.prices import CURRENCY, PriceTable
from vertex_training.job.job_spec import JobSpec


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The cost of one or several past runs. `total` is None if a price is not known; `known` is the rest."""

    total: float | None
    known: float
    replica_hours: float
    unknown: tuple[Gap, ...] = ()
    currency: str = CURRENCY


def cost_of_run(
    spec: JobSpec, *, replica_seconds: Mapping[int, float], region: str | None, table: PriceTable
) -> Spent:
    """Return what a run did cost. `replica_seconds` has the seconds of all replicas of each worker pool.

    On a persistent resource it is 0, as the resource is billed already.
    """
    hours = {index: seconds / 3600 for index, seconds in replica_seconds.items() if seconds > 0}
    if spec.persistent_resource_id:
        return Spent(total=0.0, known=0.0, replica_hours=sum(hours.values()))
    use = use_of(spec.scheduling.strategy if spec.scheduling else None)
    known = 0.0
    gaps: list[Gap] = []
    for index, pool_hours in hours.items():
        path = f"worker_pool_specs[{index}]"
        pool = spec.worker_pool_specs[index] if index < len(spec.worker_pool_specs) else None
        if pool is None or pool.machine_spec is None:
            why = "the job does not have this worker pool"
            gaps.append(Gap(path=path, what="machine", why=why, cause="part"))
            continue
        hourly, missing = hourly_of_replica(
            pool.machine_spec, pool.disk_spec, region=region, use=use, table=table
        )
        known += hourly * pool_hours
        gaps.extend(replace(gap, path=path + gap.path) for gap in missing)
    return Spent(
        total=None if gaps else known, known=known, replica_hours=sum(hours.values()), unknown=tuple(gaps)
    )


def total_spent(spent: Iterable[Spent]) -> Spent:
    """Return the sum for several runs. It is not known as soon as one is not. Gaps are listed once."""
    all_spent = tuple(spent)
    known = sum(one.known for one in all_spent)
    return Spent(
        total=None if any(one.total is None for one in all_spent) else known,
        known=known,
        replica_hours=sum(one.replica_hours for one in all_spent),
        unknown=tuple(dict.fromkeys(gap for one in all_spent for gap in one.unknown)),
    )
