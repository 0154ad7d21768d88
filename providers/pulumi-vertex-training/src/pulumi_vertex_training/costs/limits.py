"""The limits of cost that a stack sets, applied to its resources: all figures at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pulumi_vertex_training.costs import words
from pulumi_vertex_training.costs.configured_limits import (
    ALLOW_UNKNOWN_PRICES,
    MAX_HOURLY_COST,
    MAX_RUN_COST,
    CostLimits,
)
from pulumi_vertex_training.costs.declared import ResourceCost
from vertex_training.cost.cost import total
from vertex_training.cost.max_cost import limit_of
from vertex_training.cost.words import usd

_MOST_LISTED = 20
_ALLOW = f"let it through with `pulumi config set {ALLOW_UNKNOWN_PRICES} true`."


@dataclass(frozen=True, kw_only=True)
class Excess:
    """A limit that is exceeded, or cannot be checked; `resource` is "" for one of the whole stack.

    `figures` are lines below the message, `remedy` says what to do. With `is_unknown` it cannot be checked.
    """

    message: str
    remedy: str
    resource: str = ""
    figures: tuple[str, ...] = ()
    is_unknown: bool = False

    def __str__(self) -> str:
        sentence = f"{self.resource}: {self.message}" if self.resource else self.message
        return "\n".join([f"{sentence} {self.remedy}", *(f"    {line}" for line in self.figures)])


def excesses(costs: Sequence[ResourceCost], limits: CostLimits) -> tuple[Excess, ...]:
    """Return every limit that the resources exceed together or alone, and every unknown price.

    `costs` are the costs of the resources that run, or will.
    """
    if not limits.are_set:
        return ()
    return (*_unknown(costs, limits), *_of_the_stack(costs, limits), *_of_runs(costs, limits))


def in_words(found: Iterable[Excess]) -> str:
    """Return the refusal of a preview."""
    each = tuple(found)
    reasons = [
        *(["is above"] if any(not one.is_unknown for one in each) else []),
        *(["cannot be compared with"] if any(one.is_unknown for one in each) else []),
    ]
    return "\n".join([f"The cost {' or '.join(reasons)} the limits of this stack:", *map(str, each)])


def _of_the_stack(costs: Sequence[ResourceCost], limits: CostLimits) -> Iterator[Excess]:
    if limits.max_hourly is None:
        return
    known = sum(one.cost.known_most_hourly for one in costs)
    if not _above(known, limits.max_hourly):
        return
    least = "at least " if any(one.cost.most_hourly is None for one in costs) else ""
    yield Excess(
        message=f"The resources of this stack cost {least}{usd(known)} an hour while all of them run, above "
        f"{MAX_HOURLY_COST} of {usd(limits.max_hourly)}.",
        remedy=f"Make them smaller, or run `pulumi config set {MAX_HOURLY_COST} {_rounded(known)}`.",
        figures=tuple(_listed(costs)),
    )


def _of_runs(costs: Sequence[ResourceCost], limits: CostLimits) -> Iterator[Excess]:
    for one in costs:
        cost = one.cost
        most = cost.known_per_timeout
        if limits.max_run is None or not one.starts or most is None:
            continue
        if _above(most, limits.max_run):
            least = "at least" if cost.per_timeout is None else "up to"
            until = words.per_timeout(replace(cost, per_timeout=most))
            yield Excess(
                resource=one.name,
                message=f"a run costs {words.change(None, cost)}, and {least} {until}, above {MAX_RUN_COST} "
                f"of {usd(limits.max_run)}.",
                remedy=f"Set {_cheaper(one, limits.max_run)}, make it smaller, or run "
                f"`pulumi config set {MAX_RUN_COST} {_rounded(most)}`.",
            )


def _cheaper(one: ResourceCost, max_run: float) -> str:
    """Return what to set on a job so that its run keeps to the limit: `max_cost`, where that can stop it."""
    cost = one.cost
    if cost.max_cost is not None:
        return "a lower max_cost"
    timeout = "a shorter scheduling.timeout"
    if one.repeats or not cost.is_default_timeout or not cost.per_timeout:
        return timeout
    if limit_of(cost, max_run) is None:
        return timeout
    return f"max_cost={max_run:.15g} or {timeout}"


def _unknown(costs: Sequence[ResourceCost], limits: CostLimits) -> Iterator[Excess]:
    if limits.allow_unknown:
        return
    for one in costs:
        if limits.max_hourly is None and one.cost.max_cost is not None:
            continue  # A run is bounded, whatever its price.
        prices, values = words.parted(one.cost.unknown)
        if prices:
            refresh = any(gap.may_be_in_catalog for gap in prices)
            remedy = "Run `vertex-training prices refresh`" if refresh else "Choose another machine"
            yield Excess(
                resource=one.name,
                message=f"no price is known for {words.gaps(prices)}, so the limits cannot be checked.",
                remedy=f"{remedy}, or {_ALLOW}",
                figures=tuple(f"{gap.path}: {gap.what}: {gap.why}" for gap in prices[:_MOST_LISTED]),
                is_unknown=True,
            )
        if values:
            yield Excess(
                resource=one.name,
                message=f"its cost depends on {words.gaps(values)}, so the limits cannot be checked.",
                remedy=f"Give values that a preview knows, or {_ALLOW}",
                figures=tuple(f"{gap.path}: {gap.why}" for gap in values[:_MOST_LISTED]),
                is_unknown=True,
            )


def _listed(costs: Sequence[ResourceCost]) -> Iterator[str]:
    dearest = sorted(costs, key=lambda one: (-one.cost.known_most_hourly, one.name))
    shown = [one for one in dearest if one.cost.known_most_hourly][:_MOST_LISTED]
    width = max((len(one.name) for one in shown), default=0)
    for one in shown:
        yield f"{one.name:<{width}}  {usd(one.cost.known_most_hourly)}"
    rest = total(one.cost for one in dearest[len(shown) :])
    if len(dearest) > len(shown) and rest.known_most_hourly:
        yield f"{len(dearest) - len(shown)} more: {usd(rest.known_most_hourly)}"


def _above(amount: float, limit: float) -> bool:
    """Return whether an amount is above a limit, by more than the rounding of sums."""
    return amount > limit * (1 + 1e-9)


def _rounded(amount: float) -> str:
    """Return the next amount of whole cents, for a command."""
    return f"{int(amount * 100) / 100 + 0.01:.2f}"
