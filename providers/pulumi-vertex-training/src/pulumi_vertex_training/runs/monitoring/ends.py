"""How a run ended, where the service's state alone does not tell: at its timeout, or cancelled on purpose.

Google documents of timeouts that the service cancels the job (tfx#6223: "cancelled after exactly 7 days"), so
its state may be CANCELLED. A job that ran for all of its timeout counts as stopped by it.
"""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from vertex_training.cost.cost import DEFAULT_TIMEOUT_SECONDS, declared_timeout
from vertex_training.fields import timestamps
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import parts
from vertex_training.study.tuning import TuningSpec

_ROUNDING = 1.0
"""Seconds that times of an answer may be rounded by."""


def timed_out(record: JobRecord) -> bool:
    """Return whether a CANCELLED job has run for all of its timeout."""
    if record.state is not JobState.JOB_STATE_CANCELLED:
        return False
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    try:
        return reached_timeout(kind.from_wire(record.wire), record.start_time, record.end_time)
    except ValueError:  # a job of a newer version
        return False


def message_of(record: JobRecord) -> str:
    """Return the error message of a job, "" without one. One that was cancelled at its timeout gets ours."""
    if timed_out(record):
        return f"The job ran for all of scheduling.timeout, {_timeout(record)}, and was cancelled."
    return record.error.message if record.error else ""


def _timeout(record: JobRecord) -> str:
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    return f"{max(_timeouts(kind.from_wire(record.wire)))}s"


def _timeouts(spec: object) -> list[int]:
    return [declared_timeout(part.scheduling) or DEFAULT_TIMEOUT_SECONDS for _, part in parts(spec)]


def reached_timeout(spec: object, start: object, end: object) -> bool:
    """Return whether a job of this spec ran for all of its timeout, by the times of an answer or a state.

    A tuning job has a timeout for each trial, so its own times show nothing.
    """
    try:
        ran = (timestamps.parse(str(end)) - timestamps.parse(str(start))).total_seconds()
    except ValueError:
        return False
    if isinstance(spec, TuningSpec) or getattr(spec, "tuning_task", None):
        return False
    timeouts = _timeouts(spec)
    return bool(timeouts) and ran >= max(timeouts) - _ROUNDING
