"""The states of a training pipeline (Vertex AI API, `PipelineState`), which follow those of its job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.rpc import descriptors
from vertex_emulator.vertex.states import States

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
_STATES = States(
    enum=f"{descriptors.VERTEX_AI}.PipelineState",
    pending=PENDING,
    running=RUNNING,
    terminal=TERMINAL,
    transitions=TRANSITIONS,
)
names = _STATES.names
state_of = _STATES.state_of
begin = _STATES.begin


def enter(pipeline: Any, state: str, *, at: str, code: int = 0, message: str = "") -> bool:
    """As `States.enter`; `code` and `message` are the error, none for 0."""
    return _STATES.enter(pipeline, state, at=at, error={"code": code, "message": message} if code else None)
