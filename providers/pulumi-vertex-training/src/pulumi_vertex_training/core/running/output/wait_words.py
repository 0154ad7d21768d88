"""The words about a job that a deployment waits for, in both hosts: its failure, Ctrl-C, a timeout."""

from __future__ import annotations

from collections.abc import Callable

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition, NotFound
from pulumi_vertex_training.cloud.jobs import JobClient, JobRecord


def follow(logs: str) -> str:
    """Return the sentence about a job that the deployment leaves in training; `logs` prints its log."""
    return f"To follow its log, run `{logs} --follow`."


def timed_out(record: JobRecord, seconds: float, logs: str) -> str:
    """Return the warning of a wait that took too long, after the job's name."""
    return f"{record.state.word} after {seconds:g} s; no longer waiting. {follow(logs)}"


def leaves(stop: str, job: str = "it") -> str:
    """Return the effect of Ctrl-C that leaves a job alone; `stop` is the command that cancels it."""
    return f"`pulumi up` joins it again, `{stop}` stops {job}"


def cancel(gateway: JobClient, endpoint: Endpoint, name: str) -> str:
    """Cancel a job after Ctrl-C. Return what became of it, after its name. Raises CloudError."""
    try:
        gateway.cancel(endpoint, name)
    except (NotFound, FailedPrecondition):
        return "has ended"
    return "was cancelled"


def failure(
    endpoint: Endpoint,
    record: JobRecord,
    *,
    title: str,
    logs: str,
    with_lines: bool,
    mask: Callable[[str], str],
) -> tuple[str, bool]:
    """Return the message about a failed job. `with_lines`: with the last lines of its log.

    The second value is true if the message says what to change before the job runs again.
    """
    from pulumi_vertex_training.runs.diagnosis.causes import AS_IT_IS  # imported only if needed
    from pulumi_vertex_training.runs.diagnosis.diagnosis import examine, report

    found = examine(endpoint, record, mask=mask)
    words = report(found, label=title, state=record.state.word, logs=logs, with_lines=with_lines)
    return words, bool(found.cause) and found.kind not in AS_IT_IS
