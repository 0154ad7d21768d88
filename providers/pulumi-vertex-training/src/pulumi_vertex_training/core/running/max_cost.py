"""`max_cost` of a job: the timeout of its next run, by what the earlier runs of the declaration have cost.

The limit of a run is on its job as a label, and in the state with its outputs. It has the sum of all runs
before it, because `keep_runs` deletes their records. A price table is loaded only for a job that has
`max_cost` and runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.connection import endpoint_for_lookups
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.resource_context import ResourceContext
from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType, root
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RunKey
from pulumi_vertex_training.runs.policies.rerun import Action, Decision, Facts, decide
from pulumi_vertex_training.runs.policies.run_status import FAILURES, LastRun
from pulumi_vertex_training.runs.submission import run_of
from vertex_training.fields import timestamps
from vertex_training.fields.schema import camel_case
from vertex_training.findings.problems import Problem

if TYPE_CHECKING:
    from vertex_training.cost.cost import Cost
    from vertex_training.cost.max_cost import Limit

LABEL = "vertex-training-cost"
"""The label with the limit of a run (`vertex_training.cost.max_cost`)."""
LIMIT = "limit"
"""The hidden output with the same text."""


def declares_retries(declared: JobResourceType, props: Mapping[str, Any]) -> bool:
    """Return whether the program sets `disable_retries` to False, which no normal form shows."""
    return any(_at(props, [*filter(None, path.split(".")), *_RETRIES]) is False for path in declared.spec.at)


_RETRIES = ("scheduling", "disable_retries")


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name, value.get(camel_case(name)))
    return value


def refusals(declared: JobResourceType, inputs: JobInputs, unknown: Iterable[str]) -> Sequence[Problem]:
    """Return why `max_cost` cannot stop a job, by its price; nothing while that is not known."""
    if inputs.max_cost is None or _is_open(declared, unknown):
        return ()
    from vertex_training.cost.max_cost import problems  # imported only if needed

    spec = declared.spec_of(inputs)
    return tuple(problems(spec, _cost_at_most(spec, inputs.location), inputs.max_cost))


def _is_open(declared: JobResourceType, unknown: Iterable[str]) -> bool:
    """Return whether a value that decides about the cost is not known yet."""
    from pulumi_vertex_training.costs.declared import decides  # imported only if needed

    fields = {"location", "max_cost", *declared.spec_fields}
    return any(root(path) in fields and (root(path) == "max_cost" or decides(path)) for path in unknown)


def announce_first(
    declared: JobResourceType, call: Call, inputs: JobInputs, unknown: Iterable[str], name: str
) -> None:
    """Print when the first run of a job stops. Only a program in Python tells a check of its preview."""
    if inputs.max_cost is None or inputs.adopt or _is_open(declared, unknown):
        return
    limit = _limit(declared, inputs, 0.0)
    if limit is not None:
        OPERATION.print_once(f"{name} {_sentence(declared, inputs, limit)}", urn=call.urn)


def decide_with(
    declared: JobResourceType, call: Call, facts: Facts, recorded: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[Decision, str]:
    """Return the decision of the rerun table, and when the run that it allows stops, as a sentence or "".

    A declaration whose runs have used up `max_cost` has no other run. Raises Failure if the price of a run is
    not known.
    """
    decision = decide(facts)
    runs = decision.action is Action.RUN
    if new.get("max_cost") is None or not (runs or facts.last_run in FAILURES):
        return decision, ""
    decoded = declared.read_inputs(declared.inputs_in(new))
    inputs = decoded.draft
    if inputs is None or inputs.max_cost is None or _is_open(declared, decoded.unknown):
        return decision, ""
    name = declared.resource(new)
    if found := refusals(declared, inputs, decoded.unknown):
        if runs:
            raise Failure("\n".join(f"{name}: {problem}" for problem in found))
        return decision, ""
    call.context.spent = spent = _seen(declared, call, recorded)
    limit = _limit(declared, inputs, spent)
    if limit is not None:
        return decision, f"{name} {_sentence(declared, inputs, limit)}" if runs else ""
    OPERATION.print_on(call.urn, used_up(name, inputs.max_cost, spent))
    return decide(dataclasses.replace(facts, last_run=LastRun.SPENT)), ""


def _seen(declared: JobResourceType, call: Call, recorded: Mapping[str, Any]) -> float:
    """Return what the runs have cost so far, by the record of the last one if a lookup finds it."""
    place = target_of(recorded)
    record = place and job_cache_of(declared.gateway.collection).record(place, call.id)
    endpoint = place and endpoint_for_lookups(place, OPERATION.settings)
    return spent_until(
        declared, recorded, record if isinstance(record, JobRecord) else None, endpoint=endpoint
    )


def is_used_up(
    declared: JobResourceType, call: Call, recorded: Mapping[str, Any], new: Mapping[str, Any]
) -> bool:
    """Return whether nothing is left for a run that `pulumi up --replace` asks for."""
    inputs = declared.read_inputs(declared.inputs_in(new)).draft
    if inputs is None or inputs.max_cost is None or refusals(declared, inputs, ()):
        return False
    return _limit(declared, inputs, _seen(declared, call, recorded)) is None


def used_up(name: str, max_cost: float, spent: float) -> str:
    """Return the sentence about a run for which nothing is left."""
    from vertex_training.cost.words import usd  # imported only if needed

    return (
        f"{name}: max_cost: its runs have used {usd(spent)} of {usd(max_cost)}, which leaves less than a "
        "minute of running. Raise max_cost to let it run again."
    )


def limit_of_run(
    declared: JobResourceType,
    endpoint: Endpoint,
    inputs: JobInputs,
    *,
    name: str,
    recorded: RunKey | None,
    by_state: float | None,
    left_behind: Sequence[JobRecord],
    urn: str,
) -> Limit | None:
    """Return the limit of a run that is submitted now; None without `max_cost`. Raises Failure.

    `recorded` is the run before it, None for a first one, `by_state` the sum until its end by the state and
    `left_behind` are jobs of killed deployments.
    """
    if inputs.max_cost is None:
        return None
    if found := refusals(declared, inputs, ()):
        raise Failure("\n".join(f"{name}: {problem}" for problem in found))
    spent = 0.0
    if recorded is not None or left_behind:
        spent = _spent(declared.gateway, endpoint, recorded, by_state, left_behind)
    limit = _limit(declared, inputs, spent)
    if limit is None:
        raise Failure(used_up(name, inputs.max_cost, spent))
    OPERATION.print_once(f"{name} {_sentence(declared, inputs, limit)}", urn=urn)
    return limit


def request(declared: JobResourceType, inputs: Any, limit: Limit | None) -> dict[str, Any]:
    """Return the request of a run with its limit, and the label that has it."""
    wire = declared.wire(limited(inputs, limit))
    if limit is None:
        return wire
    return {**wire, "labels": {**wire.get("labels", {}), LABEL: limit.label}}


def limit_in(record: JobRecord) -> Limit | None:
    """Return the limit of a run's job, None without one."""
    text = record.labels.get(LABEL)
    if text is None:
        return None
    from vertex_training.cost.max_cost import read_label  # imported only if needed

    return read_label(text)


def limited(spec: Any, limit: Limit | None) -> Any:
    """Return a declared spec as its run has it."""
    if limit is None:
        return spec
    from vertex_training.cost.max_cost import with_limit  # imported only if needed

    return with_limit(spec, limit)


def unlimited(declared: Any, live: Any, limit: Limit | None) -> Any:
    """Return the spec of a live run without its limit."""
    if limit is None:
        return live
    from vertex_training.cost.max_cost import without_limit  # imported only if needed

    return without_limit(declared, live, limit)


def noted(
    declared: JobResourceType,
    context: ResourceContext,
    recorded: Mapping[str, Any],
    before_delete: Callable[[Endpoint, str], None],
) -> Callable[[Endpoint, str], None]:
    """Return `before_delete` of a job that is replaced, which first notes what the runs have cost so far."""
    if context.spent is None:
        context.spent = spent_until(declared, recorded, None)

    def call(endpoint: Endpoint, name: str) -> None:
        record = declared.gateway.get(endpoint, name)
        context.spent = spent_until(declared, recorded, record, endpoint=endpoint)
        before_delete(endpoint, name)

    return call


def spent_until(
    declared: JobResourceType,
    recorded: Mapping[str, Any],
    record: JobRecord | None,
    *,
    endpoint: Endpoint | None = None,
) -> float:
    """Return what the runs of a declaration have cost until the end of the recorded one, at most.

    By its record, or without one by the state: until its recorded end, else until its timeout.
    """
    from vertex_training.cost.max_cost import read_label  # imported only if needed

    limit = read_label(recorded.get(LIMIT))
    before = limit.spent if limit else 0.0
    if record is not None and endpoint is not None:
        return before + _own(endpoint, record)
    inputs = declared.read_inputs(declared.inputs_in(recorded)).draft
    cost = inputs and _cost_at_most(declared.spec_of(inputs), str(recorded.get("location")))
    start, end = (timestamps.parse_or_none(recorded.get(name)) for name in ("start_time", "end_time"))
    if end is not None and (start is None or cost is not None):
        hours = (end - start).total_seconds() / 3600 if start else 0.0
        return before + hours * (cost.known_hourly if cost else 0.0)
    if limit is not None:
        return before + limit.most
    return before + ((cost and cost.known_per_timeout) or 0.0)


def _spent(
    gateway: RunGateway,
    endpoint: Endpoint,
    recorded: RunKey | None,
    by_state: float | None,
    left_behind: Sequence[JobRecord],
) -> float:
    """Return what all runs so far have cost: the sum that the newest job with a limit has, and the rest.

    Runs from before `max_cost` was declared count if their records exist.
    """
    listed = gateway.list_by_label(endpoint, {DECLARATION_LABEL: recorded.identity}) if recorded else []
    jobs = {job.name: job for job in (*left_behind, *listed)}
    numbers = {
        name: run.generation
        for name, job in jobs.items()
        if (run := run_of(job)) is not None and recorded is not None and run.identity == recorded.identity
    }
    since, total = 0, 0.0
    for name in sorted(numbers, key=lambda name: numbers[name]):
        if limit := limit_in(jobs[name]):
            since, total = numbers[name], limit.spent
    last = recorded.generation if recorded else 0
    if by_state is not None and last >= since and last not in numbers.values():
        # Its record is deleted, so only the state knows of it.
        since, total = last + 1, by_state
    counted = (job for name, job in jobs.items() if numbers.get(name, since) >= since)
    return total + sum(_own(endpoint, job) for job in counted)


def _own(endpoint: Endpoint, record: JobRecord) -> float:
    # imported only if needed
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs.spent import spent_at_most
    from pulumi_vertex_training.runs.monitoring import live_jobs

    place = endpoint.of(record.name)
    return spent_at_most(place, record, table=current_prices(), now=live_jobs.now(place, [record]))


def _cost_at_most(spec: object, location: str) -> Cost | None:
    # imported only if needed
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs.declared import cost_at_most

    return cost_at_most(spec, region=location, table=current_prices())


def _limit(declared: JobResourceType, inputs: JobInputs, spent: float) -> Limit | None:
    """Return the limit of a run; None if its price is not known, or less than a minute is left."""
    from vertex_training.cost.max_cost import keeps_retries, limit_of  # imported only if needed

    spec = declared.spec_of(inputs)
    cost = _cost_at_most(spec, inputs.location)
    if cost is None or not cost.per_timeout or inputs.max_cost is None:
        return None
    kept = bool(inputs.keeps_retries) or keeps_retries(spec)
    return limit_of(cost, inputs.max_cost, spent=spent, keeps_retries=kept)


def _sentence(declared: JobResourceType, inputs: JobInputs, limit: Limit) -> str:
    from vertex_training.cost.max_cost import attempts, sentence  # imported only if needed

    spec = declared.spec_of(inputs)
    cost = _cost_at_most(spec, inputs.location)
    trials = cost.trials if cost else 1
    return sentence(limit, inputs.max_cost or 0.0, starts=attempts(spec), trials=trials)
