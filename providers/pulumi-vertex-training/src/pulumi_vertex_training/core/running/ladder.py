"""The capacity ladder of a job in the provider: its steps, the climb, and its record in the state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.running import max_cost
from pulumi_vertex_training.core.running.declaration import RECORD, JobInputs, JobResourceType
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.core.state.hidden_input import CLIMB_INPUT
from pulumi_vertex_training.runs.climb import (
    Climb,
    Climbed,
    NoCapacityError,
    Pause,
    Step,
    had_no_capacity,
    rung_key_of,
)
from pulumi_vertex_training.runs.identity import RunKey
from pulumi_vertex_training.runs.policies.rerun import Facts
from pulumi_vertex_training.runs.policies.run_status import FAILURES, LastRun
from pulumi_vertex_training.runs.submission import Submission
from vertex_training.fields.decode import decode, encode
from vertex_training.findings.problems import Problem
from vertex_training.job import capacity
from vertex_training.job.capacity import Answer
from vertex_training.job.ladder import (
    FLEX_START,
    OnLadder,
    Rung,
    described,
    locations_of,
    on_rung,
    seconds_of,
    strategy_of,
)

DEFAULT_CLIMB_SECONDS = 24 * 3600.0
"""How long `create` waits for machines unless the program declares another `wait_timeout`."""


def rungs_of(inputs: object) -> tuple[Rung, ...]:
    """Return the rungs of a job, () for one without a ladder."""
    return inputs.capacity if isinstance(inputs, OnLadder) else ()


def recorded_locations(inputs: object, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hidden input with all other locations in which a job of the declaration may be.

    What was recorded stays: a job may be there although the program no longer names the location.
    """
    own, *found = locations_of(inputs)
    recorded = [*(old.get("locations") or ()), old.get("location") if old.get("locations") else None]
    others = sorted({*found, *filter(None, recorded)} - {own})
    return {"locations": others} if others else {}


def recorded_places(recorded: Mapping[str, Any]) -> frozenset[str]:
    """Return the other locations in which the state says that a job may be."""
    return frozenset(map(str, recorded.get("locations") or ()))


def endpoints_of(endpoint: Endpoint, inputs: JobInputs | None) -> list[Endpoint]:
    """Return the endpoints of all locations in which a job of the declaration may be."""
    return [endpoint.at(location) for location in locations_of(inputs)]


def steps_of(
    declared: JobResourceType,
    endpoint: Endpoint,
    inputs: Any,
    wire: Callable[[RunKey, Any], Mapping[str, Any]],
) -> list[Step]:
    """Return the rungs as steps. `wire` returns the request of a run, by its inputs on the rung."""
    rungs, spec, places = rungs_of(inputs), declared.spec_of(inputs), locations_of(inputs)

    def step(position: int, rung: Rung) -> Step:
        made = on_rung(inputs, rung)
        return Step(
            key=declared.rung_key(inputs, rung),
            position=position,
            name=f"rung {position} of {len(rungs)} ({described(spec, rung)})",
            endpoint=endpoint.at(rung.location or endpoint.location),
            seconds=None if strategy_of(made) == FLEX_START else seconds_of(rung),
            of=made,
            wire=wire,
            places=places if len(places) > 1 else (),
        )

    return [step(position, rung) for position, rung in enumerate(rungs, 1)]


def unbounded(declared: JobResourceType, inputs: Any, unknown: Collection[str]) -> Iterator[Problem]:
    """Yield why `max_cost` cannot stop a job on one of its rungs, by the rung's price."""
    for position, rung in enumerate(rungs_of(inputs)):
        for problem in max_cost.refusals(declared, on_rung(inputs, rung), unknown):
            text = f"{problem.path}: {problem.message}"
            yield dataclasses.replace(problem, path=f"capacity[{position}]", message=text)


def climb(
    declared: JobResourceType,
    call: Call,
    steps: Sequence[Step],
    submission: Submission,
    left: Sequence[JobRecord],
    *,
    tried: Sequence[str],
    before_submit: Callable[[RunKey, Any], None],
    before_send: Callable[[Mapping[str, Any], Any], None],
    before_delete: Callable[[Endpoint, str], None],
    tell: Callable[[str], None],
) -> Climbed:
    """Climb until the job has machines, or for as long as the deployment waits. Raises Failure."""
    given = call.context.given.get(CLIMB_INPUT)
    seconds = float(given) if isinstance(given, (int, float)) else DEFAULT_CLIMB_SECONDS
    climbing = Climb(
        gateway=declared.gateway,
        steps=steps,
        submission=submission,
        pause=Pause(seconds=seconds, sleep=engine.CANCELLED.wait),
        before_submit=before_submit,
        before_send=before_send,
        before_delete=before_delete,
        tell=tell,
    )
    try:
        return climbing.run(left, tried=tried)
    except NoCapacityError as error:
        raise Failure(str(error)) from None


def recorded_climb(declared: JobResourceType, inputs: JobInputs, climbed: Climbed) -> dict[str, Any]:
    """Return the outputs that the state keeps of a climb."""
    found: dict[str, Any] = {
        "tried": list(climbed.tried),
        "rung": recorded_rung(declared, inputs, climbed.record),
    }
    if climbed.is_over:
        listed = "".join(f"\n  {line}" for line in climbed.answers)
        found |= {"no_capacity": f"no rung of its capacity ladder had machines:{listed}"}
    return found


def recorded_rung(declared: JobResourceType, inputs: JobInputs, record: JobRecord) -> dict[str, Any] | None:
    """Return the rung of a job as the state keeps it, None for one that is not declared any more."""
    key = rung_key_of(record)
    return next(
        (dict(encode(rung)) for rung in rungs_of(inputs) if declared.rung_key(inputs, rung) == key), None
    )


def as_submitted(inputs: Any, recorded: Mapping[str, Any]) -> Any:
    """Return inputs, or a part of them, as the rung of the recorded run changes them."""
    rung = recorded.get("rung")
    found = decode(Rung, rung, tolerant=True).draft if isinstance(rung, Mapping) else None
    return inputs if found is None else on_rung(inputs, found)


def last_rung(declared: JobResourceType, recorded: Mapping[str, Any]) -> str:
    """Return which rung the recorded run took, as the end of a sentence; "" without one."""
    rung = recorded.get("rung")
    found = decode(Rung, rung, tolerant=True).draft if isinstance(rung, Mapping) else None
    draft = declared.read_inputs(declared.inputs_in(recorded)).draft if found else None
    if found is None or draft is None:
        return ""
    return f"; the last run was on {described(declared.spec_of(draft), found)}"


def tried_of(recorded: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the rungs that the pass of the recorded run has tried."""
    tried = recorded.get("tried")
    return tuple(map(str, tried)) if isinstance(tried, (list, tuple)) else ()


def facts_of(
    declared: JobResourceType, name: str, recorded: Mapping[str, Any], new: Mapping[str, Any], facts: Facts
) -> Facts:
    """Return the facts of the rerun table, completed by the ladder's."""
    if not new.get("capacity") or facts.last_run not in FAILURES | {LastRun.CANCELLED}:
        return facts
    if not _had_no_capacity(declared, name, recorded):
        return facts
    draft = declared.read_inputs(declared.inputs_in(new)).draft
    keys = {declared.rung_key(draft, rung) for rung in rungs_of(draft)} if draft is not None else set()
    tried = tried_of(recorded)
    return dataclasses.replace(
        facts,
        last_run=LastRun.NO_CAPACITY,
        climbs=int(recorded.get("climbs") or 0),
        has_next_rung=bool(tried) and not keys <= set(tried),
        rerun=dataclasses.replace(
            facts.rerun, climb_limit=int(new.get("capacity_limit", RECORD["capacity_limit"]))
        ),
    )


def _had_no_capacity(declared: JobResourceType, name: str, recorded: Mapping[str, Any]) -> bool:
    """Return whether the recorded job ended because there were no machines for it."""
    if recorded.get("no_capacity"):
        return True
    place = target_of(recorded)
    if recorded.get("end_time") is None and place is not None:
        found = job_cache_of(declared.gateway.collection).record(place, name)
        return isinstance(found, JobRecord) and had_no_capacity(found)
    draft = declared.read_inputs(declared.inputs_in(recorded)).draft
    spec = {} if draft is None else declared.wire(as_submitted(draft, recorded))
    seen = {
        "state": recorded.get("state"),
        "startTime": recorded.get("start_time"),
        "createTime": recorded.get("create_time"),
        "endTime": recorded.get("end_time"),
        "error": {"message": recorded.get("error") or ""},
    }
    return capacity.of_job({**spec, **seen}) is Answer.NO_CAPACITY
