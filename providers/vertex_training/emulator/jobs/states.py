"""The states of a custom job and the ways between them (Vertex AI API, `JobState`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.emulator import descriptors

QUEUED = "JOB_STATE_QUEUED"
PENDING = "JOB_STATE_PENDING"
RUNNING = "JOB_STATE_RUNNING"
SUCCEEDED = "JOB_STATE_SUCCEEDED"
FAILED = "JOB_STATE_FAILED"
CANCELLING = "JOB_STATE_CANCELLING"
CANCELLED = "JOB_STATE_CANCELLED"

_ENUM = "google.cloud.aiplatform.v1.JobState"

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


def names() -> tuple[str, ...]:
    """All states of the API; jobs here come into some of them only."""
    return tuple(descriptors.pool().FindEnumTypeByName(_ENUM).values_by_name)


def state_of(job: Any) -> str:
    """The name of a job's state."""
    name: str = descriptors.pool().FindEnumTypeByName(_ENUM).values_by_number[job.state].name
    return name


def begin(job: Any, *, at: str) -> None:
    """Make the job, a `CustomJob` message, one that was created at the time `at`."""
    job.state = _number(PENDING)
    job.create_time.FromJsonString(at)
    job.update_time.FromJsonString(at)


def queue(job: Any) -> None:
    """Make a job that was just created one that waits for a quota."""
    job.state = _number(QUEUED)


def strategy_of(job: Any) -> str:
    """The name of a job's `scheduling.strategy`; the old names ON_DEMAND and LOW_COST are today's."""
    scheduling = job.job_spec.scheduling
    kinds = scheduling.DESCRIPTOR.fields_by_name["strategy"].enum_type.values_by_number
    name: str = kinds[scheduling.strategy].name
    return {"ON_DEMAND": "STANDARD", "LOW_COST": "SPOT"}.get(name, name)


def enter(job: Any, state: str, *, at: str, error: Mapping[str, Any] | None = None) -> bool:
    """Put the job, a `CustomJob` message, into `state` at the time `at` and stamp its times.

    False, and nothing changes, where no way leads there: what a supervisor told before a job was cancelled
    arrives after the cancellation. `error` is a google.rpc.Status in its JSON form.
    """
    if state not in TRANSITIONS[state_of(job)]:
        return False
    job.state = _number(state)
    job.update_time.FromJsonString(at)
    if state == RUNNING:
        job.start_time.FromJsonString(at)
    if state in TERMINAL:
        job.end_time.FromJsonString(at)
    if error is not None:
        job.error.code = error["code"]
        job.error.message = error["message"]
    return True


def _number(state: str) -> int:
    number: int = descriptors.pool().FindEnumTypeByName(_ENUM).values_by_name[state].number
    return number
