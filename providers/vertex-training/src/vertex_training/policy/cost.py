"""The policy `hourly-cost`: the cost of a resource by the price table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vertex_training.cost.cost import (
    Cost,
    cost_of_job,
    cost_of_persistent_resource,
    cost_of_tuning_job,
    total,
)
from vertex_training.cost.max_cost import at_most, limit_of
from vertex_training.cost.prices import PriceTable
from vertex_training.cost.words import AT_MAXIMUM, usd
from vertex_training.policy.subject import Machines, Subject


def over_limit(subject: Subject, most: float, table: PriceTable, *, unknown_prices: bool) -> Iterator[str]:
    """Yield the message about a resource that costs more than `most` dollars an hour by the table.

    A persistent resource counts with its autoscaled pools at their maximum. Prices that are not known break
    the limit, unless `unknown_prices` allows them.
    """
    cost = _cost_of(subject, table)
    if cost is None:
        return
    hourly = cost.known_most_hourly
    if hourly > most:
        least = "at least " if cost.unknown else ""
        grown = f" {AT_MAXIMUM}" if hourly > cost.known_hourly else ""
        yield (
            f"{least}{usd(hourly)} an hour{grown}; at most {usd(most)} is allowed. "
            "Choose fewer or smaller machines."
        )
    elif cost.unknown and not unknown_prices:
        gap = cost.unknown[0]
        yield (
            f"the price of {gap.what} is not known ({gap.why}), so the limit of {usd(most)} an hour is not "
            'checked. Set unknownPrices to "allow" in the settings, or choose another machine.'
        )


def seconds_allowed(subject: Subject, max_cost: float, table: PriceTable) -> int | None:
    """Return the timeout that `max_cost` gives a job; None if it gives none, as the check of the job says."""
    cost = at_most(subject.declared, lambda one: _cost_of(replace(subject, declared=one), table))
    limit = limit_of(cost, max_cost) if cost is not None and cost.per_timeout else None
    return limit.seconds if limit else None


def _cost_of(subject: Subject, table: PriceTable) -> Cost | None:
    region = subject.declared.location or None
    if isinstance(subject.declared, Machines):
        return cost_of_persistent_resource(subject.declared.resource_pools, region=region, table=table)
    if subject.tuning is not None:
        return cost_of_tuning_job(subject.tuning, region=region, table=table)
    jobs = subject.jobs
    return total(cost_of_job(job, region=region, table=table) for _, job in jobs) if jobs else None
