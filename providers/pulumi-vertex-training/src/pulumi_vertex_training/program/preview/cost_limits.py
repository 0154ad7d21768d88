"""Refuse a preview whose cost is above the stack's limits, with all figures at once.

The program knows all of its resources, which no provider does: the engine asks one about each resource alone.
The sum is compared after the last registration, when everything is counted. A job that has ended and stays as
it is costs nothing. Without a limit, or with such jobs alone, no prices are loaded.
"""

from __future__ import annotations

import asyncio
import functools
import os
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pulumi

from pulumi_vertex_training.core.settings import Settings, Target, target_of
from pulumi_vertex_training.costs.configured_limits import LIMITS_VARIABLE, REPORTED
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.form import recorded_output
from pulumi_vertex_training.program.preview.lookups import program_lookups
from pulumi_vertex_training.program.preview.plan_report import report_inputs
from pulumi_vertex_training.program.preview.prerequisites import is_engines_preview, values_of
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting.waits import program_waits
from pulumi_vertex_training.registry import collection_of, is_runnable
from pulumi_vertex_training.runs.lookups import Lookups

if TYPE_CHECKING:
    from pulumi_vertex_training.costs.declared import ResourceCost
    from vertex_training.cost.cost import Cost
    from vertex_training.cost.prices import PriceTable

CostOf = Callable[[Mapping[str, Any], "PriceTable"], "Cost | None"]
"""The cost of a resource by its values, with markers for those that are not known yet."""


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """A resource to count. With `repeats` it starts runs as long as it exists, as a schedule does."""

    resource: pulumi.CustomResource
    name: str
    declaration: Mapping[str, Any]
    cost_of: CostOf
    is_job: bool = True
    repeats: bool = False


_COUNTED: MutableMapping[asyncio.AbstractEventLoop, list[_Counted]] = weakref.WeakKeyDictionary()
"""The resources of each program: with the Automation API a process may run several at once."""


def count_job(
    resource: pulumi.CustomResource,
    collection: str,
    name: str,
    declaration: Mapping[str, Any],
    *,
    schedule: Mapping[str, Any] | None = None,
) -> None:
    """Count a job, or the job that a schedule starts, in a preview of a stack with limits.

    `schedule` has the inputs of a schedule that decide how many of its runs are live at the same time.
    """
    report_inputs(resource, {"request": {"declaration": declaration}} if schedule else declaration)

    def cost_of(values: Mapping[str, Any], table: PriceTable) -> Cost | None:
        from pulumi_vertex_training import registry
        from pulumi_vertex_training.costs.declared import cost_of_inputs
        from pulumi_vertex_training.costs.schedules import cost_of_runs
        from vertex_training.job.job_kind import JobKind

        kind = registry.runnable(collection).part("kind", "KIND", JobKind)
        cost = cost_of_inputs(kind, {"display_name": name, **values}, table=table)
        return cost and cost_of_runs(cost, values.get("schedule"))

    counted = {**declaration, **(schedule or {})}
    _count(resource, name, counted, cost_of, repeats=schedule is not None)


def count_machines(
    resource: pulumi.CustomResource, name: str, inputs: Mapping[str, Any], cost_of: CostOf
) -> None:
    """Count a persistent resource, whose machines cost as long as it exists."""
    report_inputs(resource, inputs)
    _count(resource, name, inputs, cost_of, is_job=False)


def _count(
    resource: pulumi.CustomResource,
    name: str,
    declaration: Mapping[str, Any],
    cost_of: CostOf,
    *,
    is_job: bool = True,
    repeats: bool = False,
) -> None:
    if not stack_settings().cost_limits.are_set or not _is_checked_here():
        return
    counted = _COUNTED.setdefault(asyncio.get_running_loop(), [])
    counted.append(
        _Counted(
            resource=resource,
            name=name,
            declaration=declaration,
            cost_of=cost_of,
            is_job=is_job,
            repeats=repeats,
        )
    )
    if len(counted) == 1:
        program_waits()  # counts the calls of the program from now on
        _: pulumi.Output[None] = pulumi.Output.from_input(_require(counted))


def _is_checked_here() -> bool:
    """Return whether this is a preview that applies the limits; `plan` applies them to its own preview."""
    return is_engines_preview() and os.environ.get(LIMITS_VARIABLE) != REPORTED


async def _require(counted: list[_Counted]) -> None:
    """Raise `pulumi.RunError` with all figures if the resources are above the limits."""
    prices = functools.cache(lambda: asyncio.create_task(asyncio.to_thread(_prices)))
    figures: list[_Figure] = []

    async def count(some: Iterable[_Counted]) -> None:
        for one in some:
            if not await _is_over(one) and (figure := await _figure(one, await prices())) is not None:
                figures.append(figure)

    await count(counted)  # while others are registered
    seen = len(counted)
    await program_waits().rest()  # Everything is registered, also what an output leads to.
    await count(counted[seen:])
    if not figures:
        return
    from pulumi_vertex_training.costs import limits

    configured = stack_settings().cost_limits
    if not limits.excesses([figure.cost for figure in figures], configured):
        return
    ended = await _ended({figure.job for figure in figures if figure.job})
    found = limits.excesses([one.cost for one in figures if one.job not in ended], configured)
    if found:
        raise pulumi.RunError(messages.in_shell(messages.masked(limits.in_words(found))))


def _prices() -> PriceTable:
    """Return the prices. Also imports what counts the cost, which takes a tenth of a second."""
    import pulumi_vertex_training.costs.declared
    import pulumi_vertex_training.costs.limits  # noqa: F401
    from pulumi_vertex_training.cloud.prices.price_file import current_prices

    return current_prices()


@dataclass(frozen=True, kw_only=True)
class _Figure:
    """The cost of a resource. `job` is its live job by the state, which may have ended since; else None."""

    cost: ResourceCost
    job: _LiveJob | None = None


class _LiveJob(NamedTuple):
    """A job that stays as it is: where it runs, and its full name."""

    target: Target
    name: str


async def _figure(one: _Counted, table: PriceTable) -> _Figure | None:
    """Return the cost of a resource, or None for one whose check refuses it."""
    from pulumi_vertex_training.costs.declared import ResourceCost

    try:
        is_kept = await _is_kept(one)
        values = await values_of(one.declaration)
        name = await one.resource.id.future() if is_kept else None
    except Exception:
        return None  # The engine reports why an output failed, and the preview fails for that.
    cost, target = one.cost_of(values, table), target_of(values)
    if cost is None:
        return None
    return _Figure(
        cost=ResourceCost(name=one.name, cost=cost, starts=one.is_job and not is_kept, repeats=one.repeats),
        job=_LiveJob(target, name) if name and target is not None and is_runnable(name) else None,
    )


async def _ended(jobs: Collection[_LiveJob]) -> set[_LiveJob | None]:
    """Return the jobs that have ended since the state was written: one list for each kind and target.

    Only a preview that would be refused asks. A job counts as live if there is no answer in time.
    """
    ended: set[_LiveJob | None] = set()
    by_place: dict[tuple[Target, str], list[_LiveJob]] = {}
    for job in jobs:
        by_place.setdefault((job.target, collection_of(job.name)), []).append(job)
    for (target, collection), several in by_place.items():
        answers = await asyncio.to_thread(_listed, program_lookups(), target, collection, stack_settings())
        ended.update(job for job in several if job.name in answers)
    return ended


def _listed(lookups: Lookups, target: Target, collection: str, settings: Settings) -> frozenset[str]:
    """Return the full names of the ended jobs of a kind."""
    from pulumi_vertex_training.core.connection import endpoint_for_lookups
    from pulumi_vertex_training.runs.gateway import gateway_in
    from pulumi_vertex_training.runs.identity import RUN_LABEL

    gateway = gateway_in(collection)
    found = lookups.ask(
        target,
        functools.partial(endpoint_for_lookups, target, settings),
        {("ended", collection): lambda endpoint: gateway.list_labelled(endpoint, RUN_LABEL)},
        seconds=settings.lookup_seconds,
    )
    return frozenset(one.name for records in found.values() for one in records if one.state.is_terminal)


async def _is_over(one: _Counted) -> bool:
    """Return whether a job has ended and stays as it is. So is a resource that could not be registered."""
    try:
        return await _is_kept(one) and await _has_ended(one.resource)
    except Exception:
        return True  # The engine reports why.


async def _is_kept(one: _Counted) -> bool:
    """Return whether a job stays as it is: a preview does not know the id of one that is created."""
    return one.is_job and not one.repeats and await one.resource.id.is_known()


async def _has_ended(resource: pulumi.CustomResource) -> bool:
    """Return whether the state has the job as ended. That costs no call, and a live one is counted."""
    from pulumi_vertex_training.runs.policies.run_status import ENDED, LookupResult, last_run

    recorded = recorded_output(resource, "state")
    if recorded is None:
        return False
    return last_run(await recorded.future(), LookupResult.NO_ANSWER) in ENDED
