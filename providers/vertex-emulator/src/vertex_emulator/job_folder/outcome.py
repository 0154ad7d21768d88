"""The ends of a job: terminal states and error messages. Pure.

Rules and the words for replicas: Vertex AI documentation, "Understand the custom training service", and
answers of the service in public logs. The words for time-outs, and for ends that only a local emulator has,
are ours.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

CHIEF = "workerpool0-0"

CANCELLED = 1
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
INTERNAL = 13

START_ERROR = 128
"""Exit status of a program whose sandbox could not be set up, as container runtimes have it."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The end of a job: a terminal state by its name in the API, and its error."""

    state: str
    code: int = 0
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Exit:
    """The end of one replica's program; `tail` holds the last lines of its log.

    `words` is a sentence about earlier restarts, or about why there were none.
    """

    replica: str
    code: int
    tail: Sequence[str] = ()
    out_of_memory: bool = False
    words: str = ""


SUCCEEDED = Outcome(state="JOB_STATE_SUCCEEDED")


def after(end: Exit, *, where_to_look: str) -> Outcome | None:
    """Return the job's outcome after the end of a replica that is not restarted (`restarts`).

    A chief that exits with 0 ends the job; the other replicas are then stopped. Any other replica may exit
    with 0 without consequence; then the result is None. Another status fails the job.
    """
    if end.code != 0:
        return Outcome(
            state="JOB_STATE_FAILED",
            code=INVALID_ARGUMENT,
            message=_failure(end, where_to_look=where_to_look),
        )
    return SUCCEEDED if end.replica == CHIEF else None


def cancelled() -> Outcome:
    """Return the outcome of a job that was cancelled by a call."""
    return Outcome(state="JOB_STATE_CANCELLED", code=CANCELLED, message="The job was cancelled.")


def timed_out(timeout: str) -> Outcome:
    """Return the outcome of a job that ran too long; `timeout` is the duration in the API's form."""
    return Outcome(
        state="JOB_STATE_FAILED",
        code=DEADLINE_EXCEEDED,
        message=f"The job ran longer than job_spec.scheduling.timeout, {timeout}, and was stopped.",
    )


def stockout(location: str, words: str) -> Outcome:
    """Return the outcome of a job for which there are no machines: none at all, or none after a preemption.

    `words` is a sentence of ours, or "".
    """
    return Outcome(
        state="JOB_STATE_FAILED",
        code=RESOURCE_EXHAUSTED,
        message=f"Resources are insufficient in region: {location}. Try a different region or use a "
        f"different accelerator. {words}".rstrip(),
    )


def unreported(state: str) -> Outcome:
    """Return the outcome of a job that waited for space on the disk until its timeout.

    `state` is the one that it could not report.
    """
    if state == SUCCEEDED.state:
        return SUCCEEDED
    if state == "JOB_STATE_CANCELLED":
        return cancelled()
    if state == "JOB_STATE_FAILED":
        words = (
            "The job failed. Its report was lost, because the disk of the emulator's data folder was full."
        )
    else:
        words = (
            "The disk of the emulator's data folder was full until job_spec.scheduling.timeout. Free some "
            "space, and create the job again."
        )
    return broken(words, code=RESOURCE_EXHAUSTED)


def broken(message: str, *, code: int = INTERNAL) -> Outcome:
    """Return the outcome of a job that the emulator could not run."""
    return Outcome(state="JOB_STATE_FAILED", code=code, message=message)


def _failure(end: Exit, *, where_to_look: str) -> str:
    reason = "StartError" if end.code == START_ERROR else "Error"
    if end.out_of_memory:
        text = f"The replica {end.replica} ran out of memory and exited with a non-zero status of {end.code}."
    else:
        text = (
            f"The replica {end.replica} exited with a non-zero status of {end.code}. "
            f"Termination reason: {reason}."
        )
    if name := signal_name(end.code):
        text += f" It was ended by the signal {name}."
    if end.words:
        text += f" {end.words}"
    if end.tail:
        lines = "".join(f"    {line}\n" for line in end.tail)
        text += f"\nThe last lines of its log:\n{lines}"
    else:
        text += " "
    return f"{text}To find out more about why your job exited please check the logs: {where_to_look}"


def signal_name(code: int) -> str | None:
    """Return the signal for an exit status above 128, such as "SIGKILL", or None."""
    try:
        return signal.Signals(code - 128).name if code > 128 else None
    except ValueError:
        return None
