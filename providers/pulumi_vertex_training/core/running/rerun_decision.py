"""The decision of the rerun table about one job, by the facts of its run's decision and the job's state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.run_context import DeclaredRun
from pulumi_vertex_training.core.running import begun_work
from pulumi_vertex_training.core.running.declaration import RECORD
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.policies.rerun import Action, Decision, Facts, Policy, Rerun, decide
from pulumi_vertex_training.runs.policies.run_status import (
    ENDED,
    RECORD_CHANGES,
    Change,
    LastRun,
    LookupResult,
    last_run,
)


def decision_of(
    gateway: RunGateway,
    name: str,
    recorded: dict[str, Any],
    declared: dict[str, Any],
    replaces: list[str],
    *,
    record_changed: bool,
) -> Decision:
    """Decide about this very job, by the facts of its run's decision and the state of the job."""
    noted = OPERATION.runs.run_decision(str(recorded.get("run")))
    facts = (
        noted.facts if noted else _facts_without_run(_policy(declared), bool(declared.get("protect_running")))
    )
    change = facts.change
    if replaces and change in RECORD_CHANGES:
        change = Change.SPEC
    elif change is Change.NOTHING and record_changed:
        change = Change.RECORD
    state_of_run = _last_run_state(gateway, name, recorded)
    return decide(dataclasses.replace(facts, change=change, last_run=state_of_run))


def _policy(declared: dict[str, Any]) -> Policy:
    return Policy(declared.get("rerun") or RECORD["rerun"])


def _facts_without_run(rerun: Policy, protect_running: bool) -> Facts:
    """Return the facts for a deployment that leaves the run out (`--target`)."""
    return Facts(
        change=Change.NOTHING,
        last_run=LastRun.NOT_KNOWN,
        rerun=Rerun(policy=rerun),
        protect_running=protect_running,
    )


def _last_run_state(gateway: RunGateway, name: str, recorded: dict[str, Any]) -> LastRun:
    """Return the state of the job; one that is recorded as ended is not queried.

    Unless a deletion of it was interrupted: an end that was recorded before says nothing of that.
    """
    state, place = recorded.get("state"), target_of(recorded)
    if place is not None and begun_work.has_begun(name):
        seen = job_cache_of(gateway.collection).of_job(place, name)
        if begun_work.stopped(seen):
            return LastRun.STOPPED
    if state is None or place is None or has_ended(recorded):
        return last_run(state, LookupResult.NO_ANSWER)
    return last_run(state, job_cache_of(gateway.collection).of_job(place, name))


def has_ended(recorded: dict[str, Any]) -> bool:
    """Return whether the recorded state is that of an ended job."""
    return last_run(recorded.get("state"), LookupResult.NO_ANSWER) in ENDED


def is_gone(gateway: RunGateway, decision: Decision, recorded: dict[str, Any]) -> bool:
    """Return whether the job is created again under its key, because its record is gone."""
    return decision.row in ("gone", "interrupted") or (
        decision.row in ("always", "failed-again") and _run_is_absent(gateway, recorded)
    )


def _run_is_absent(gateway: RunGateway, recorded: dict[str, Any]) -> bool:
    place, run = target_of(recorded), str(recorded.get("run"))
    return place is not None and job_cache_of(gateway.collection).of_run(place, run) is LookupResult.ABSENT


def allow_on_demand(name: str, declared: DeclaredRun, state: Callable[[], str]) -> None:
    """Raise where a job may not be replaced on demand."""
    try:
        state_of_run = last_run(None, state())
    except NotFound:
        state_of_run = LastRun.GONE
    decision = decide(
        dataclasses.replace(
            _facts_without_run(declared.rerun, declared.protect_running),
            last_run=state_of_run,
            on_demand=True,
        )
    )
    if decision.action is Action.REFUSE:
        raise Failure(decision.sentence(name))
