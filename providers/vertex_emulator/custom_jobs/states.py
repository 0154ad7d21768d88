"""The states of a custom job and the ways between them (Vertex AI API, `JobState`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.rpc import descriptors
from vertex_emulator.vertex.states import States

QUEUED = "JOB_STATE_QUEUED"
PENDING = "JOB_STATE_PENDING"
RUNNING = "JOB_STATE_RUNNING"
SUCCEEDED = "JOB_STATE_SUCCEEDED"
FAILED = "JOB_STATE_FAILED"
CANCELLING = "JOB_STATE_CANCELLING"
CANCELLED = "JOB_STATE_CANCELLED"

TERMINAL = frozenset({SUCCEEDED, FAILED, CANCELLED})

TRANSITIONS: Mapping[str, frozenset[str]] = {
    QUEUED: frozenset({PENDING, FAILED, CANCELLING}),
    PENDING: frozenset({RUNNING, SUCCEEDED, FAILED, CANCELLING}),
    RUNNING: frozenset({SUCCEEDED, FAILED, CANCELLING}),
    CANCELLING: frozenset({SUCCEEDED, FAILED, CANCELLED}),
    SUCCEEDED: frozenset(),
    FAILED: frozenset(),
    CANCELLED: frozenset(),
}


_STATES = States(
    enum=f"{descriptors.VERTEX_AI}.JobState",
    pending=PENDING,
    running=RUNNING,
    terminal=TERMINAL,
    transitions=TRANSITIONS,
)
names = _STATES.names
state_of = _STATES.state_of
begin = _STATES.begin
enter = _STATES.enter


def queue(job: Any) -> None:
    """Make a job that was just created one that waits for a quota."""
    job.state = _STATES.number(QUEUED)


def strategy_of(job: Any) -> str:
    """The name of a job's `scheduling.strategy`; the old names ON_DEMAND and LOW_COST are today's."""
    scheduling = job.job_spec.scheduling
    kinds = scheduling.DESCRIPTOR.fields_by_name["strategy"].enum_type.values_by_number
    name: str = kinds[scheduling.strategy].name
    return {"ON_DEMAND": "STANDARD", "LOW_COST": "SPOT"}.get(name, name)
