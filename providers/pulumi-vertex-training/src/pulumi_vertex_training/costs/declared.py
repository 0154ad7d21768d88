"""The cost of a declared resource of any kind that has machines: a job, or a persistent resource.

Prices are from `cloud.prices.price_file`: the built-in table, and what `vertex-training prices refresh`
wrote over it. Nothing here asks a service.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from pulumi_vertex_training.costs.reports import OF_AN_HOUR, OF_THE_RUN
from vertex_training.cost.cost import (
    Cost,
    Gap,
    Item,
    cost_of_job,
    cost_of_persistent_resource,
    cost_of_tuning_job,
)
from vertex_training.cost.max_cost import amount_fault, at_most, limit_of
from vertex_training.cost.prices import PriceTable
from vertex_training.fields.decode import UNKNOWN, Decoded, decode
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import JobSpec
from vertex_training.job.ladder import OnLadder, on_rung
from vertex_training.job.reading import decode_spec
from vertex_training.study.tuning import TuningSpec

_Part = TypeVar("_Part", Item, Gap)
_MACHINE = ".machine_spec.machine_type"
NOT_YET = "not known before the deployment"


def cost_of(spec: object, *, region: str | None, table: PriceTable) -> Cost | None:
    """Return the cost of a spec, or None if nothing in it has machines."""
    if isinstance(spec, TuningSpec):
        return cost_of_tuning_job(spec, region=region, table=table)
    if isinstance(spec, JobSpec):
        return cost_of_job(spec, region=region, table=table)
    if not is_dataclass(spec) or isinstance(spec, type):
        return None
    pools = getattr(spec, "resource_pools", None)
    if pools is not None:
        return cost_of_persistent_resource(pools, region=region, table=table)
    for field in fields(spec):
        cost = cost_of(getattr(spec, field.name), region=region, table=table)
        if cost is not None:
            return _below(cost, field.name)
    return None


def cost_at_most(spec: object, *, region: str | None, table: PriceTable) -> Cost | None:
    """Return the cost of a spec at most, see `max_cost.at_most`."""
    return at_most(spec, lambda one: cost_of(one, region=region, table=table))


def cost_of_inputs(kind: JobKind[Any], inputs: Mapping[str, Any], *, table: PriceTable) -> Cost | None:
    """Return the cost of a job by the values of its declaration, which may have `UNKNOWN` in them.

    None if the values cannot be read: their check says why.
    """
    region = inputs.get("location")
    framework = inputs.get("framework")
    names = {field.name for field in fields(kind.spec)}
    decoded = decode_spec(
        kind.spec,
        {name: value for name, value in inputs.items() if name in names and value is not None},
        normalise=kind.normalise,
        check=lambda _: (),
        location=region if region is UNKNOWN or isinstance(region, str) else None,
        at=kind.at,
        framework=framework if isinstance(framework, str) else None,
    )
    found = [
        _within(cost, each, inputs.get("max_cost"), place, table)
        for each, place in _on_rungs(decoded, region, inputs.get("capacity"))
        if (cost := cost_of_decoded(each, region=place, table=table)) is not None
    ]
    return max(found, key=lambda cost: (cost.hourly is None, cost.known_hourly), default=None)


def _on_rungs(decoded: Decoded[Any], region: object, capacity: object) -> list[tuple[Decoded[Any], object]]:
    """Return the declaration and region of each rung of its ladder, any of which may run."""
    draft = decoded.draft
    ladder = decode(OnLadder, {"capacity": capacity}).draft if isinstance(capacity, list) else None
    if ladder is None or not ladder.capacity or not isinstance(draft, JobSpec):
        return [(decoded, region)]
    return [
        (replace(decoded, draft=on_rung(draft, rung)), rung.location or region) for rung in ladder.capacity
    ]


def _within(cost: Cost, decoded: Decoded[Any], max_cost: object, region: object, table: PriceTable) -> Cost:
    """Return a cost that `max_cost` bounds, if it is given and can: then until a timeout of its own."""
    if max_cost is UNKNOWN:
        return replace(cost, per_timeout=None, unknown=(*cost.unknown, _not_yet("max_cost")))
    if amount_fault(max_cost) or not isinstance(max_cost, (int, float)) or any(map(decides, decoded.unknown)):
        return cost
    most = cost_at_most(decoded.draft, region=region if isinstance(region, str) else None, table=table)
    limit = limit_of(most, max_cost) if most is not None and most.per_timeout else None
    if limit is None:
        return cost  # the check of the job refuses it
    return replace(
        cost,
        per_timeout=limit.most,
        timeout_seconds=limit.seconds,
        is_default_timeout=False,
        billed_hours=None if cost.billed_hours is None else cost.billed_hours * limit.seconds / _old(cost),
        max_cost=float(max_cost),
    )


def _old(cost: Cost) -> int:
    return cost.timeout_seconds or 1


def cost_of_decoded(decoded: Decoded[Any], *, region: object, table: PriceTable) -> Cost | None:
    """Return the cost of a decoded declaration; values that are not known yet are gaps in it.

    None if nothing could be read, or a value that decides about the cost could not.
    """
    if decoded.draft is None or any(map(decides, decoded.damaged)):
        return None
    place = region if isinstance(region, str) and region else None
    cost = cost_of(decoded.draft, region=place, table=table)
    unknown = {*decoded.unknown, *(("location",) if region is UNKNOWN else ())}
    return None if cost is None else with_unknown(cost, unknown)


def with_unknown(cost: Cost, unknown: Collection[str]) -> Cost:
    """Return a cost that depends on values which are not known yet, by their paths."""
    if any(_last(path) == "persistent_resource_id" for path in unknown):
        return cost  # The machines belong to the persistent resource, whichever it is.
    machines = {path.removesuffix(_MACHINE) for path in unknown if path.endswith(_MACHINE)}
    disks = {f"{pool}.disk_spec" for pool in machines}  # The default disk depends on the machine.
    hourly = [path for path in sorted(unknown) if _is_of_an_hour(path) and path not in disks]
    run = [path for path in sorted(unknown) if _last(path) in OF_THE_RUN]
    if hourly:
        # What was computed from placeholders is no part of the cost.
        def kept(parts: Iterable[_Part]) -> tuple[_Part, ...]:
            return tuple(part for part in parts if not any(_rests_on(part.path, path) for path in hourly))

        return replace(
            cost,
            hourly=None,
            most_hourly=None,
            per_timeout=None,
            billed_hours=None if run else cost.billed_hours,
            items=kept(cost.items),
            most_items=kept(cost.most_items),
            unknown=(*kept(cost.unknown), *map(_not_yet, hourly)),
        )
    if run:
        unknown_time = map(_not_yet, run)
        return replace(cost, per_timeout=None, billed_hours=None, unknown=(*cost.unknown, *unknown_time))
    return cost


def unknown_cost(path: str, why: str) -> Cost:
    """Return the cost of a declaration of which the value at a path is not known, and so nothing."""
    return Cost(hourly=None, per_timeout=None, unknown=(_not_yet(path, why),))


def _not_yet(path: str, why: str = NOT_YET) -> Gap:
    return Gap(path=path, what=_last(path) or "the job", why=why, cause="value")


def decides(path: str) -> bool:
    """Return whether the value at a path decides about the cost; "" is the whole declaration."""
    return _is_of_an_hour(path) or _last(path) in OF_THE_RUN


def _is_of_an_hour(path: str) -> bool:
    return not path or _last(path) in OF_AN_HOUR


def _last(path: str) -> str:
    """Return the last field of a path, without its position."""
    return re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]


def _rests_on(path: str, unknown: str) -> bool:
    """Return whether what has a path depends on the unknown value: both are of the same pool."""
    return _pool(path) == _pool(unknown) or not re.search(r"\[\d+\]", unknown)


def _pool(path: str) -> str:
    return re.sub(r"(\[\d+\]).*$", r"\1", path)


def _below(cost: Cost, path: str) -> Cost:
    return replace(
        cost,
        items=tuple(replace(item, path=f"{path}.{item.path}") for item in cost.items),
        unknown=tuple(replace(gap, path=f"{path}.{gap.path}") for gap in cost.unknown),
    )


@dataclass(frozen=True, kw_only=True)
class ResourceCost:
    """The cost of a resource of a stack.

    With `starts`, the deployment starts a run of it. With `repeats`, it is a schedule: no `max_cost`.
    """

    name: str
    cost: Cost
    starts: bool = False
    repeats: bool = False
