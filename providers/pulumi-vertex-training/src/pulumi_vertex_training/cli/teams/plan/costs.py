"""The cost of a plan: each job and persistent resource before and after, the sum, and the limits.

The cost of an hour is the sum of the live jobs and persistent resources, before and after the deployment: a
job that has ended and stays as it is costs nothing. A schedule counts as its job, and
with runs that overlap as many of them as can be live at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.checks import CheckFinding, CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.plan.jobs import (
    has_ended,
    job_cost,
    job_kind_of,
    machines_cost,
    without_texts,
)
from pulumi_vertex_training.cli.teams.plan.plan import Effect, effect_of, name_of, type_of
from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs import limits, words
from pulumi_vertex_training.costs.configured_limits import (
    ALLOW_UNKNOWN_PRICES,
    MAX_HOURLY_COST,
    MAX_RUN_COST,
    CostLimits,
    cost_limits,
)
from pulumi_vertex_training.costs.declared import NOT_YET, ResourceCost, cost_of, unknown_cost
from pulumi_vertex_training.costs.reports import HIDDEN
from pulumi_vertex_training.costs.schedules import cost_of_runs
from pulumi_vertex_training.costs.spent import region_of
from pulumi_vertex_training.costs.words import NOT_SHOWN
from vertex_training.cost import cost as ground
from vertex_training.cost.cost import Cost, total
from vertex_training.cost.prices import PriceTable
from vertex_training.fields.document import json_of, nested
from vertex_training.job.job_kind import JobKind

_PERSISTENT = "PersistentResource"
_SCHEDULE = "TrainingSchedule"
_GONE: tuple[Effect, ...] = ("delete",)
_NEW_RUN: tuple[Effect, ...] = ("create", "replace")


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """The cost of a resource before and after; None on a side where it does not exist.

    `ran` and `runs` say whether it counts as running on either side, `starts` whether a new run begins,
    `repeats` whether it is a schedule.
    """

    urn: str
    name: str
    effect: Effect
    before: Cost | None = None
    after: Cost | None = None
    ran: bool = True
    runs: bool = True
    starts: bool = False
    repeats: bool = False

    @property
    def sentence(self) -> str:
        """The cost in words: "$0.62 -> $1.24 an hour, at most $208.66 until its timeout of 7 d"."""
        if self.after is None and self.effect not in _GONE:
            return words.change(self.before, None)
        if self.after is None and not self.ran:
            return ""
        if self.after is None:
            return words.an_hour(words.hourly(self.before)) if self.before is not None else ""
        said = words.change(self.before, self.after)
        most = words.per_timeout(self.after) if self.starts else ""
        return ", ".join(
            [
                said,
                *words.grown(self.before, self.after),
                *([f"at most {most}"] if most else []),
                *words.missing(self.after.unknown),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class PlanCost:
    """The cost of a plan: of its resources that have any, changed ones first, and its sums.

    `secret` has the names of running resources whose cost rests on a secret, in a stack with limits.
    """

    changes: tuple[CostChange, ...] = ()
    excesses: tuple[limits.Excess, ...] = ()
    secret: tuple[str, ...] = ()

    @property
    def before(self) -> Cost:
        """The cost of an hour before."""
        return total(one.before for one in self.changes if one.ran and one.before is not None)

    @property
    def after(self) -> Cost:
        """The cost of an hour after."""
        return total(one.after for one in self.changes if one.runs and one.after is not None)

    @property
    def started(self) -> Cost:
        """The new runs."""
        return total(one.after for one in self.changes if one.starts and one.after is not None)

    @property
    def summary(self) -> str:
        """The sums in a sentence; "" if nothing has a cost."""
        if not self.changes:
            return ""
        said = ", ".join(
            [
                _now_and_then(words.hourly(self.before), words.hourly(self.after)),
                *words.grown(self.before, self.after),
            ]
        )
        started = self.started
        if any(one.starts for one in self.changes):
            said += f"; this plan starts {words.an_hour(words.hourly(started))}"
            if started.per_timeout is not None:
                said += f", at most {words.amount(started.per_timeout)} until the timeouts"
        return "; ".join([said, *words.missing(self.after.unknown)])

    def of(self, urn: str) -> CostChange | None:
        """Return the cost of a resource, None if it has none."""
        return next((one for one in self.changes if one.urn == urn), None)


def _now_and_then(before: str, after: str) -> str:
    if before == after == words.NOTHING:
        return "The stack costs nothing, now and after the deployment"
    if before == after:
        return f"If all ran: {words.an_hour(after)}, now and after the deployment"
    return f"If all ran: {words.an_hour(before)} now, {words.an_hour(after)} after the deployment"


def check(context: PlanContext) -> CheckResult | None:
    """Return the check of a plan's cost; None if nothing in the stack has a cost."""
    found = cost_of_plan(context.previewed, ended=context.ended)
    if not found.changes:
        return None
    configured = _limits(context.previewed.configuration)
    return CheckResult(
        name="cost",
        summary=found.summary,
        findings=(
            *map(_excess, found.excesses),
            *map(_undecided, found.secret),
            *_secret_limits(context.previewed.configuration),
        ),
        by_resource={one.urn: one.sentence for one in found.changes if one.effect != "none"},
        headings=("Resource", "An hour before", "An hour after", "Until the timeout"),
        rows=tuple(_rows(found)),
        document={
            **_document(found),
            "limits": {"maxHourlyCost": configured.max_hourly, "maxRunCost": configured.max_run},
        },
    )


def _excess(excess: limits.Excess) -> CheckFinding:
    return CheckFinding(
        severity="error",
        message=excess.message,
        resource=excess.resource,
        remedy=excess.remedy,
        figures=excess.figures,
    )


def _undecided(name: str) -> CheckFinding:
    message = (
        "its cost depends on a secret, which a plan does not show; the limits are applied in the deployment."
    )
    return CheckFinding(severity="unknown", resource=name, message=message)


def _secret_limits(configuration: Mapping[str, Any]) -> Iterator[CheckFinding]:
    """Yield a finding for each limit that is a secret of the stack: only the program can read it."""
    for key in (MAX_HOURLY_COST, MAX_RUN_COST, ALLOW_UNKNOWN_PRICES):
        if configuration.get(key) == HIDDEN:
            yield CheckFinding(
                severity="unknown",
                message=f"{key} is a secret, which a plan does not show; it is applied in the deployment.",
                remedy=f"To check it here, set it without --secret: `pulumi config set {key} VALUE`.",
            )


def cost_of_plan(
    previewed: Preview, table: PriceTable | None = None, *, ended: Collection[str] = ()
) -> PlanCost:
    """Return the cost of a preview's resources. Only files of this machine are read for it.

    `ended` are the URNs of jobs that have ended, besides those that the state has as ended.
    """
    prices = current_prices() if table is None else table
    found = (_change(step, prices, ended) for step in previewed.revealed_steps)
    changes = tuple(one for one in found if one is not None)
    order = sorted(changes, key=lambda one: (one.effect == "none", one.name, one.urn))
    configured = _limits(previewed.configuration)
    running = [
        ResourceCost(name=one.name, cost=one.after, starts=one.starts, repeats=one.repeats)
        for one in order
        if one.runs and one.after is not None
    ]
    secret = [one for one in running if any(gap.why == NOT_SHOWN for gap in one.cost.unknown)]
    return PlanCost(
        changes=tuple(order),
        excesses=limits.excesses([one for one in running if one not in secret], configured),
        secret=tuple(one.name for one in secret) if configured.are_set else (),
    )


def _change(step: Mapping[str, Any], prices: PriceTable, ended_urns: Collection[str]) -> CostChange | None:
    token, effect = type_of(step), effect_of(step)
    old, new = nested(step, "oldState"), nested(step, "newState")
    before, after = (_cost(token, state.get("inputs") or {}, prices) for state in (old, new))
    if effect in _GONE:
        after = None
    if before is None and after is None:
        return None
    is_job = job_kind_of(token) is not None
    repeats = registry.resource_of(token) == _SCHEDULE
    starts = (is_job and effect in _NEW_RUN) or (repeats and after is not None)
    ended = is_job and (has_ended(old) or step["urn"] in ended_urns)
    return CostChange(
        urn=str(step["urn"]),
        name=name_of(step),
        effect=effect,
        before=before,
        after=after,
        ran=not ended,
        runs=starts or not ended,
        starts=starts,
        repeats=repeats,
    )


def _cost(token: str, inputs: Mapping[str, Any], prices: PriceTable) -> Cost | None:
    resource = registry.resource_of(token)
    if resource == _PERSISTENT:
        return machines_cost(inputs, prices)
    if resource == _SCHEDULE:
        return _cost_of_schedule(inputs, prices)
    kind = job_kind_of(token)
    return None if kind is None else job_cost(kind, inputs, prices)


def _cost_of_schedule(inputs: Mapping[str, Any], prices: PriceTable) -> Cost | None:
    """Return the cost of the job in a schedule's request, as its state has it; None while it is paused."""
    request, collection = inputs.get("request"), inputs.get("collection")
    entry = next((one for one in registry.RUNNABLE if one.collection == collection), None)
    if inputs.get("paused") is True or entry is None or request is None:
        return None
    if not isinstance(request, Mapping):
        return unknown_cost("request", NOT_SHOWN if request == HIDDEN else NOT_YET)
    kind: JobKind[Any] = entry.part("kind", "KIND", JobKind)
    if "declaration" in request:  # reported by the program, as a part of the request is a secret
        found = job_cost(kind, request["declaration"], prices)
        return found and cost_of_runs(found, without_texts(inputs.get("schedule")))
    try:
        spec = kind.normalise(kind.from_wire(request))
    except ValueError:  # of a newer version
        return None
    found = cost_of(spec, region=region_of(str(inputs.get("parent"))), table=prices)
    return found and cost_of_runs(found, without_texts(inputs.get("schedule")))


def _limits(configuration: Mapping[str, Any]) -> CostLimits:
    """Return the limits of the stack that a plan can read; the preview itself reports wrong values.

    If it is a secret whether unknown prices are allowed, only the deployment may refuse them.
    """

    def get(key: str) -> str | None:
        value = configuration.get(key)
        if value is None or value == HIDDEN:
            return None
        return str(value).lower() if isinstance(value, bool) else str(value)

    found = cost_limits(get)[0]
    return replace(found, allow_unknown=True) if configuration.get(ALLOW_UNKNOWN_PRICES) == HIDDEN else found


def _document(found: PlanCost) -> dict[str, Any]:
    return {
        "currency": found.after.currency,
        "before": _sum(found.before),
        "after": _sum(found.after),
        "started": _sum(found.started),
        "resources": [
            {
                **json_of(one, "urn name effect starts"),
                "before": None if one.before is None else ground.to_json(one.before),
                "after": None if one.after is None else ground.to_json(one.after),
                "ran": one.ran and one.before is not None,
                "runs": one.runs and one.after is not None,
            }
            for one in found.changes
        ],
    }


def _sum(cost: Cost) -> dict[str, Any]:
    """Return only the totals of a cost; the items are listed per resource."""
    whole = ground.to_json(cost)
    return {name: whole[name] for name in ("hourly", "perTimeout")} | {"unknown": len(cost.unknown)}


def _rows(found: PlanCost) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, cost of an hour before and after, and cost until the timeout, of the sum and each part."""
    yield "whole stack", words.hourly(found.before), words.hourly(found.after), ""
    kept = [one for one in found.changes if one.effect == "none" and one.runs]
    for one in found.changes:
        if one.effect != "none":
            most = one.after.per_timeout if one.after is not None and one.starts else None
            yield (
                one.name,
                words.hourly(one.before) if one.before is not None and one.ran else "",
                words.hourly(one.after) if one.after is not None else "",
                words.amount(most) if most is not None else "",
            )
    if kept:
        unchanged = words.hourly(total(one.after for one in kept if one.after is not None))
        yield f"{len(kept)} unchanged", unchanged, unchanged, ""
