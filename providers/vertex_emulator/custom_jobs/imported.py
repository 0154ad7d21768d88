"""How a job ends that was going on when it was exported: nothing of an imported one runs."""

from __future__ import annotations

from typing import Any

from vertex_emulator.custom_jobs import states
from vertex_emulator.job_folder import outcome


def words(noun: str, state: str) -> str:
    """Why an imported job, pipeline and so on has failed."""
    return f"The {noun} was in state {state} when it was exported; an imported {noun} does not go on."


def end(job: Any, *, at: str) -> bool:
    """End a `CustomJob` or `HyperparameterTuningJob` message; False for one that had ended."""
    state = states.state_of(job)
    if state in states.TERMINAL:
        return False
    how = outcome.cancelled() if state == states.CANCELLING else outcome.broken(words("job", state))
    states.enter(job, how.state, at=at, error={"code": how.code, "message": how.message})
    return True
