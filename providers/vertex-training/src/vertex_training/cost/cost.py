"""The cost of worker pools, jobs, tuning jobs and persistent resources, by a price table.

A cost is what Google would bill: a job on the emulator costs nothing, and has the same figures. What has no
price is a gap, and then the sum is not known; it is never guessed. Not counted: storage, network, logs, and
the time before a job has its machines, which is not billed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from vertex_training.cost.prices import CURRENCY, Price, PriceTable, Use
from vertex_training.cost.sku_quantities import LOCAL_SSD, Part, parts_of
from vertex_training.job.job_spec import JobSpec, Scheduling
from vertex_training.study.tuning import TuningSpec
from vertex_training.topology.pools import DiskSpec, MachineSpec, WorkerPoolSpec
from vertex_training.topology.rules.resource_pools import ResourcePool

DEFAULT_TIMEOUT_SECONDS = 7 * 24 * 3600
"""The service's timeout of a job that declares none."""

GapCause = Literal["price", "part", "value"]
"""The cause of a gap: no table has the price, no catalog can have one, or a value is not known yet."""

FEE_FOR = "management fee for "
"""Beginning of a gap that is a fee of Vertex AI."""
NO_FEE = "no source has this fee"

_NAMES: Mapping[Use, str] = {
    "on_demand": "price on demand",
    "spot": "Spot price",
    "flex_start": "Flex-start price",
}
_STRATEGIES: Mapping[str, Use] = {"SPOT": "spot", "LOW_COST": "spot", "FLEX_START": "flex_start"}
_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Item:
    """A part of a cost. `path` is the field that asks for it, and `hourly` all of it, in USD an hour.

    `sources` has the source of each of its prices, with its date.
    """

    path: str
    what: str
    hourly: float
    sources: tuple[tuple[str, str], ...]
    derived: bool

    @property
    def source(self) -> str:
        """Return the sources in one text."""
        return "; ".join(dict.fromkeys(source for source, _ in self.sources))

    @property
    def date(self) -> str:
        """Return the oldest date of the prices."""
        return min(date for _, date in self.sources)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A part of a cost that is not known, and the reason in words and as a cause."""

    path: str
    what: str
    why: str
    cause: GapCause = "price"

    @property
    def is_price(self) -> bool:
        """Return whether a price is missing, not a value of the declaration."""
        return self.cause != "value"

    @property
    def may_be_in_catalog(self) -> bool:
        """Return whether `vertex-training prices refresh` may find the price."""
        return self.cause == "price"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost in USD of an hour, and at most until the timeout.

    `hourly` is None if the price of any part is not known. `most_hourly` is the same with autoscaled pools at
    their maximum, and `most_items` has its parts; empty if they are `items`. `per_timeout` is that of all
    `trials`, each until its timeout. It is None as well for what has no timeout; then `timeout_seconds` is
    None. With `is_default_timeout`, the declaration has no timeout. `billed_hours` is how many times the cost
    of an hour is paid until the timeout; None if that is not known, and for a sum of costs. With `max_cost`,
    the timeout is what that sum allows, by an upper bound of the price, and `per_timeout` is always known.
    """

    hourly: float | None
    per_timeout: float | None
    timeout_seconds: int | None = None
    is_default_timeout: bool = False
    trials: int = 1
    most_hourly: float | None = None
    billed_hours: float | None = None
    items: tuple[Item, ...] = ()
    most_items: tuple[Item, ...] = ()
    unknown: tuple[Gap, ...] = ()
    max_cost: float | None = None
    currency: str = CURRENCY

    @property
    def known_hourly(self) -> float:
        """Return `hourly`, or the sum of the parts that have a price."""
        return sum(item.hourly for item in self.items) if self.hourly is None else self.hourly

    @property
    def known_most_hourly(self) -> float:
        """Return `most_hourly`, or the sum of the parts that have a price."""
        if self.most_hourly is not None:
            return self.most_hourly
        return sum(item.hourly for item in self.most_items or self.items)

    @property
    def known_per_timeout(self) -> float | None:
        """Return `per_timeout`, or the sum of the parts with a price; None if the time is not known."""
        if self.per_timeout is not None:
            return self.per_timeout
        return _times(self.billed_hours, self.known_hourly)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A part of one replica with its price of an hour, or with the reason why it has none."""

    field: str
    what: str
    count: int = 1
    hourly: float | None = None
    sources: tuple[tuple[str, str], ...] = ()
    derived: bool = False
    why: str = ""
    cause: GapCause = "price"


def cost_of_job(spec: JobSpec, *, region: str | None, table: PriceTable) -> Cost:
    """Return the cost of a job. On a persistent resource it is 0, as the resource is billed already."""
    declared = declared_timeout(spec.scheduling)
    seconds = DEFAULT_TIMEOUT_SECONDS if declared is None else declared
    if spec.persistent_resource_id:
        return Cost(hourly=0.0, per_timeout=0.0, timeout_seconds=seconds, most_hourly=0.0)
    strategy = spec.scheduling.strategy if spec.scheduling else None
    cost = cost_of_pools(spec.worker_pool_specs, region=region, strategy=strategy, table=table)
    return replace(
        cost,
        per_timeout=_times(cost.hourly, seconds / 3600),
        billed_hours=seconds / 3600,
        timeout_seconds=seconds,
        is_default_timeout=declared is None,
    )


def cost_of_tuning_job(spec: TuningSpec, *, region: str | None, table: PriceTable) -> Cost:
    """Return the cost of a tuning job: of its parallel trials an hour, and of all trials at their timeout."""
    trial = cost_of_job(spec.trial_job_spec, region=region, table=table)
    at_once = max(min(spec.parallel_trial_count, spec.max_trial_count), 0)
    hourly = _times(trial.hourly, at_once)
    all_trials = max(spec.max_trial_count, 0)
    trials = "" if at_once == 1 else f"{at_once} trials with "
    return replace(
        trial,
        hourly=hourly,
        most_hourly=hourly,
        per_timeout=_times(trial.per_timeout, all_trials),
        billed_hours=_times(trial.billed_hours, all_trials / at_once) if at_once else None,
        trials=all_trials,
        items=tuple(
            replace(
                item,
                path=f"trial_job_spec.{item.path}",
                what=trials + item.what,
                hourly=item.hourly * at_once,
            )
            for item in trial.items
        ),
        unknown=tuple(replace(gap, path=f"trial_job_spec.{gap.path}") for gap in trial.unknown),
    )


def cost_of_persistent_resource(
    pools: Sequence[ResourcePool], *, region: str | None, table: PriceTable
) -> Cost:
    """Return the cost of a persistent resource while it is idle: autoscaled pools are at their minimum.

    A pool that shrinks to nothing costs nothing then; its gaps are its maximum's.
    """
    idle = _cost(
        [
            (
                f"resource_pools[{i}]",
                each.machine_spec,
                each.disk_spec,
                each.autoscaling_spec.min_replica_count if each.autoscaling_spec else each.replica_count,
            )
            for i, each in enumerate(pools)
        ],
        region=region,
        use="on_demand",
        table=table,
    )
    most = _cost(
        [
            (f"resource_pools[{i}]", each.machine_spec, each.disk_spec, each.capacity)
            for i, each in enumerate(pools)
        ],
        region=region,
        use="on_demand",
        table=table,
    )
    known = {(gap.path, gap.why) for gap in idle.unknown}
    grown = tuple(gap for gap in most.unknown if (gap.path, gap.why) not in known)
    return replace(idle, most_hourly=most.hourly, most_items=most.items, unknown=(*idle.unknown, *grown))


def cost_of_pools(
    pools: Sequence[WorkerPoolSpec],
    *,
    region: str | None,
    strategy: str | None = None,
    table: PriceTable,
    path: str = "worker_pool_specs",
) -> Cost:
    """Return what the replicas of worker pools cost an hour, without a timeout."""
    wanted = [
        (f"{path}[{i}]", pool.machine_spec, pool.disk_spec, pool.replica_count)
        for i, pool in enumerate(pools)
        if pool.machine_spec is not None and pool.replica_count > 0
    ]
    return _cost(wanted, region=region, use=use_of(strategy), table=table)


def use_of(strategy: str | None) -> Use:
    """Return the prices of a scheduling strategy."""
    return _STRATEGIES.get(strategy or "", "on_demand")


def declared_timeout(scheduling: Scheduling | None) -> int | None:
    """Return the timeout of a job in seconds, rounded up; None if the service's default counts."""
    text = (scheduling.timeout if scheduling else None) or ""
    try:
        declared = float(text.removesuffix("s"))
    except ValueError:
        return None
    return math.ceil(declared) if 0 < declared < math.inf else None


def hourly_of_replica(
    machine: MachineSpec, disk: DiskSpec | None, *, region: str | None, use: Use, table: PriceTable
) -> tuple[float, tuple[Gap, ...]]:
    """Return the known price of an hour of one replica, and what of it has no price."""
    cost = _cost([("", machine, disk, 1)], region=region, use=use, table=table)
    return cost.known_hourly, cost.unknown


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of several costs. It is not known as soon as one of them is not."""
    all_costs = tuple(costs)
    limited = [cost for cost in all_costs if cost.timeout_seconds is not None]
    return Cost(
        hourly=_sum(cost.hourly for cost in all_costs),
        most_hourly=_sum(cost.most_hourly for cost in all_costs),
        per_timeout=_sum(cost.per_timeout for cost in limited) if limited else None,
        timeout_seconds=max((cost.timeout_seconds or 0 for cost in limited), default=None),
        items=tuple(item for cost in all_costs for item in cost.items),
        most_items=tuple(item for cost in all_costs for item in cost.most_items or cost.items),
        unknown=tuple(gap for cost in all_costs for gap in cost.unknown),
    )


def to_json(cost: Cost) -> dict[str, Any]:
    """Return the cost as the command prints it with --json."""
    grows = cost.most_hourly != cost.hourly or cost.known_most_hourly > cost.known_hourly
    scales = {"mostHourly": _rounded(cost.most_hourly)} if grows else {}
    return {
        "currency": cost.currency,
        "hourly": _rounded(cost.hourly),
        **scales,
        "perTimeout": _rounded(cost.per_timeout),
        "timeoutSeconds": cost.timeout_seconds,
        "items": [
            {
                "path": item.path,
                "what": item.what,
                "hourly": _rounded(item.hourly),
                "source": item.source,
                "date": item.date,
                "derived": item.derived,
            }
            for item in cost.items
        ],
        "unknown": [{"path": gap.path, "what": gap.what, "why": gap.why} for gap in cost.unknown],
    }


def _rounded(amount: float | None) -> float | None:
    return None if amount is None else round(amount, _DIGITS)


def _times(amount: float | None, factor: float) -> float | None:
    return None if amount is None else amount * factor


def _sum(amounts: Iterable[float | None]) -> float | None:
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if len(known) == len(found) else None


def _cost(
    replicas: Sequence[tuple[str, MachineSpec, DiskSpec | None, int]],
    *,
    region: str | None,
    use: Use,
    table: PriceTable,
) -> Cost:
    items: list[Item] = []
    gaps: list[Gap] = []
    for path, machine, disk, count in replicas:
        if count <= 0:
            continue
        for line in _lines(machine, disk, region, use, table):
            each = count * line.count
            what = line.what if each == 1 else f"{each} x {line.what}"
            where = f"{path}.{line.field}"
            if line.hourly is None:
                gaps.append(Gap(path=where, what=what, why=line.why, cause=line.cause))
            else:
                items.append(
                    Item(
                        path=where,
                        what=what,
                        hourly=line.hourly * count,
                        sources=line.sources,
                        derived=line.derived,
                    )
                )
    hourly = None if gaps else sum(item.hourly for item in items)
    return Cost(hourly=hourly, most_hourly=hourly, per_timeout=None, items=tuple(items), unknown=tuple(gaps))


@functools.lru_cache(maxsize=4096)
def _lines(
    machine: MachineSpec, disk: DiskSpec | None, region: str | None, use: Use, table: PriceTable
) -> tuple[_Line, ...]:
    """Return the parts of one replica with their prices, the fee last."""
    lines: list[_Line] = []
    fees: list[_Line] = []
    for part in parts_of(machine, disk, use):
        if part.use is not None:
            line = _line(part, region, part.use, table)
            lines.append(line)
            if part.choices and part.choices[0][0][0] != LOCAL_SSD and line.hourly is not None:
                fees.append(_line(part, region, "fee", table))
        else:
            lines.append(
                _with_fee(_line(part, region, "on_demand", table), _line(part, region, "fee", table))
            )
    return (*lines, *_fee(fees))


def _line(part: Part, region: str | None, use: Use, table: PriceTable) -> _Line:
    bare = _Line(field=part.field, what=part.what, count=part.count)
    if not part.choices:
        return replace(bare, why=part.why, cause="part")
    if region is None:
        return replace(bare, why="the region is not known")
    for quantities in part.choices:
        prices = [(table.price(sku, region, use), amount) for sku, amount in quantities]
        priced = [(price, amount) for price, amount in prices if price is not None]
        if len(priced) == len(prices):
            return _priced(bare, priced)
    if use == "fee":
        return replace(bare, why=NO_FEE)
    return replace(bare, why=f"no {_NAMES[use]} in {region} is known")


def _priced(line: _Line, prices: Sequence[tuple[Price, float]]) -> _Line:
    return replace(
        line,
        hourly=sum(price.usd_per_hour * amount for price, amount in prices),
        sources=_once((price.source, price.date) for price, _ in prices),
        derived=any(price.derived for price, _ in prices),
    )


def _with_fee(line: _Line, fee: _Line) -> _Line:
    """Add the fee to a part that is billed with it: a boot disk."""
    if line.hourly is None or fee.hourly is None:
        return replace(line, hourly=None, why=line.why or fee.why)
    return replace(
        line,
        hourly=line.hourly + fee.hourly,
        sources=_once((*line.sources, *fee.sources)),
        derived=line.derived or fee.derived,
    )


def _once(sources: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(sources))


def _fee(fees: Sequence[_Line]) -> Iterator[_Line]:
    """Yield the fees that have a price as one line, and each that has none."""
    known = [(fee, fee.hourly) for fee in fees if fee.hourly is not None]
    if known:
        yield _Line(
            field="machine_spec",
            what="management fee",
            hourly=sum(hourly for _, hourly in known),
            sources=_once(source for fee, _ in known for source in fee.sources),
            derived=any(fee.derived for fee, _ in known),
        )
    for fee in fees:
        if fee.hourly is None:
            yield replace(fee, what=f"{FEE_FOR}{fee.what}")
