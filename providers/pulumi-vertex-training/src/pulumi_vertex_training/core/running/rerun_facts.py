"""The facts about one job from which the rerun table decides, and the checks that need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.interrupted import deletion_notes
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.running.declaration import RECORD, declared_of
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.running.max_cost import LIMIT, limited
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.policies.rerun import Action, Facts, Policy, Rerun, decide
from pulumi_vertex_training.runs.policies.run_status import ENDED, Change, LastRun, LookupResult, last_run


def facts_of(
    gateway: RunGateway, name: str, change: Change, recorded: Mapping[str, Any], declared: Mapping[str, Any]
) -> Facts:
    """Return the facts that decide about a recorded job."""
    return Facts(
        change=change,
        last_run=_last_run_state(gateway, name, recorded),
        rerun=Rerun(
            policy=Policy(declared.get("rerun") or RECORD["rerun"]),
            limit=int(declared.get("rerun_limit", RECORD["rerun_limit"])),
        ),
        reruns=int(recorded.get("reruns") or 0),
        protect_running=bool(declared.get("protect_running")),
    )


def _last_run_state(gateway: RunGateway, name: str, recorded: Mapping[str, Any]) -> LastRun:
    """Return the state of the job; one that is recorded as ended is not queried.

    Unless a deletion of it was interrupted: an end that was recorded before says nothing of that.
    """
    state, place = recorded.get("state"), target_of(recorded)
    if place is not None and deletion_notes.has_begun(name):
        seen = job_cache_of(gateway.collection).of_job(place, name)
        if deletion_notes.stopped(seen):
            return LastRun.STOPPED
    if state is None or place is None or has_ended(recorded):
        ended = last_run(state, LookupResult.NO_ANSWER)
        return LastRun.TIMED_OUT if ended is LastRun.CANCELLED and was_stopped_by_timeout(recorded) else ended
    record = job_cache_of(gateway.collection).record(place, name)
    if isinstance(record, LookupResult):
        return last_run(state, record)
    found = last_run(state, record.state.name)
    return LastRun.TIMED_OUT if found is LastRun.CANCELLED and _timed_out(record) else found


def _timed_out(record: JobRecord) -> bool:
    from pulumi_vertex_training.runs.monitoring.ends import timed_out  # imported only if needed

    return timed_out(record)


def was_stopped_by_timeout(recorded: Mapping[str, Any]) -> bool:
    """Return whether a job that is recorded as cancelled ran for all of its timeout."""
    # imported only if needed
    from pulumi_vertex_training.runs.monitoring.ends import reached_timeout
    from vertex_training.cost.max_cost import read_label

    declared = declared_of(str(recorded.get("name")))
    inputs = declared.read_inputs(declared.inputs_in(recorded)).draft
    if inputs is None:
        return False
    spec = limited(declared.spec_of(inputs), read_label(recorded.get(LIMIT)))
    return reached_timeout(spec, recorded.get("start_time"), recorded.get("end_time"))


def has_ended(recorded: Mapping[str, Any]) -> bool:
    """Return whether the recorded job has ended."""
    return last_run(recorded.get("state"), LookupResult.NO_ANSWER) in ENDED


def allow_on_demand(
    name: str, declared: Mapping[str, Any], state: Callable[[], str], *, is_spent: bool = False
) -> None:
    """Raise where a job may not be replaced on demand. `is_spent`: its runs have used up `max_cost`."""
    try:
        state_of_run = last_run(None, state())
    except NotFound:
        state_of_run = LastRun.GONE
    decision = decide(
        Facts(
            change=Change.NOTHING,
            last_run=LastRun.SPENT if is_spent else state_of_run,
            rerun=Rerun(policy=Policy(declared["rerun"])),
            protect_running=bool(declared["protect_running"]),
            on_demand=True,
        )
    )
    if decision.action is Action.REFUSE:
        raise Failure(decision.sentence(name))
