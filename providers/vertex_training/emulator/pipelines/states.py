"""The states of a training pipeline (Vertex AI API, `PipelineState`), which follow those of its job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.emulator import descriptors

PENDING = "PIPELINE_STATE_PENDING"
RUNNING = "PIPELINE_STATE_RUNNING"
SUCCEEDED = "PIPELINE_STATE_SUCCEEDED"
FAILED = "PIPELINE_STATE_FAILED"
CANCELLING = "PIPELINE_STATE_CANCELLING"
CANCELLED = "PIPELINE_STATE_CANCELLED"

TERMINAL = frozenset({SUCCEEDED, FAILED, CANCELLED})
TRANSITIONS: Mapping[str, frozenset[str]] = {
    PENDING: frozenset({RUNNING, SUCCEEDED, FAILED, CANCELLING, CANCELLED}),
    RUNNING: frozenset({SUCCEEDED, FAILED, CANCELLING, CANCELLED}),
    CANCELLING: frozenset({SUCCEEDED, FAILED, CANCELLED}),
}
_ENUM = "google.cloud.aiplatform.v1.PipelineState"


def names() -> tuple[str, ...]:
    """All states of the API."""
    return tuple(descriptors.pool().FindEnumTypeByName(_ENUM).values_by_name)


def state_of(pipeline: Any) -> str:
    """The name of a pipeline's state."""
    name: str = descriptors.pool().FindEnumTypeByName(_ENUM).values_by_number[pipeline.state].name
    return name


def begin(pipeline: Any, *, at: str) -> None:
    """Make the message one of a pipeline that was created at that time."""
    pipeline.state = _number(PENDING)
    pipeline.create_time.FromJsonString(at)
    pipeline.update_time.FromJsonString(at)


def enter(pipeline: Any, state: str, *, at: str, code: int = 0, message: str = "") -> bool:
    """Put the pipeline into `state` and stamp its times; `code` and `message` are its error.

    False, and nothing changes, where no way leads there.
    """
    if state not in TRANSITIONS.get(state_of(pipeline), frozenset()):
        return False
    pipeline.state = _number(state)
    pipeline.update_time.FromJsonString(at)
    if state == RUNNING:
        pipeline.start_time.FromJsonString(at)
    if state in TERMINAL:
        pipeline.end_time.FromJsonString(at)
    if code:
        pipeline.error.code = code
        pipeline.error.message = message
    return True


def _number(state: str) -> int:
    number: int = descriptors.pool().FindEnumTypeByName(_ENUM).values_by_name[state].number
    return number
