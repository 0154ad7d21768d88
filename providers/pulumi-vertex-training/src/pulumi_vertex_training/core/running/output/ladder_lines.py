"""The lines on the row of a job, in a preview, about the rungs of its capacity ladder and what each costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType
from vertex_training.fields.decode import Decoded
from vertex_training.job.job_spec import JobSpec
from vertex_training.job.ladder import FLEX_START, OnLadder, described, on_rung, strategy_of

if TYPE_CHECKING:
    from vertex_training.cost.cost import Cost
    from vertex_training.cost.prices import PriceTable

_PREEMPTIBLE = frozenset({"SPOT", FLEX_START})


def announce_ladder(
    declared: JobResourceType,
    call: Call,
    inputs: JobInputs,
    unknown: frozenset[str],
    *,
    old: Mapping[str, Any],
    checked: Mapping[str, Any],
) -> None:
    """Print the rungs in a preview of a new run, or of a new ladder, with the most that each costs."""
    if not (call.is_preview and isinstance(inputs, OnLadder) and inputs.capacity):
        return
    if all(old.get(name) == checked.get(name) for name in ("run_token", "spec_hash", "capacity")):
        return
    # imported only if needed
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs import words

    name, table, spec = declared.resource(checked), current_prices(), declared.spec_of(inputs)
    strategies = [strategy_of(on_rung(spec, rung)) for rung in inputs.capacity]
    for position, rung in enumerate(inputs.capacity, 1):
        cost = _most(on_rung(spec, rung), rung.location or inputs.location, unknown, table)
        price = f": {words.verb(inputs.endpoint)} {cost}" if cost else ""
        of = f"rung {position} of {len(inputs.capacity)}"
        OPERATION.print_once(f"{name}: {of} ({described(spec, rung)}){price}", urn=call.urn)
    if any(
        rung.wait_for and strategy != FLEX_START
        for rung, strategy in zip(inputs.capacity, strategies, strict=True)
    ):
        words_of_wait = "wait_for of SPOT and STANDARD is counted while `pulumi up` waits"
        OPERATION.print_once(f"{name}: {words_of_wait}; after Ctrl-C the job stays on its rung", urn=call.urn)
    if set(strategies) >= _PREEMPTIBLE:
        OPERATION.print_once(f"{name}: SPOT and FLEX_START take the same preemptible quota", urn=call.urn)


def _most(spec: JobSpec, region: str, unknown: frozenset[str], table: PriceTable) -> str:
    """Return the most that a run costs, at the on-demand price where its strategy has none that is known."""
    from pulumi_vertex_training.costs import words
    from pulumi_vertex_training.costs.declared import cost_of_decoded
    from vertex_training.cost.max_cost import at_most

    def cost_of(of: JobSpec) -> Cost | None:
        return cost_of_decoded(Decoded(spec=of, draft=of, unknown=unknown), region=region, table=table)

    cost, most = cost_of(spec), at_most(spec, cost_of)
    if most is None:
        return ""
    return words.sentence(most) if most == cost else f"at most {words.sentence(most)} (the on-demand price)"
