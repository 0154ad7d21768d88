"""Failed jobs of a program: which ones fail a deployment, and what is said about them.

A deployment that submitted or joined a job fails with it. A later one fails if it needs the job's success
(`JobWait.why_needed`), so that nothing that depends on a failed job starts; else it warns.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.running.declaration import declared_of
from pulumi_vertex_training.core.running.outcome import gone, outcome
from pulumi_vertex_training.core.running.output import wait_words
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.messages import masked, program_secrets
from pulumi_vertex_training.program.waiting.job_wait import JobWait
from pulumi_vertex_training.program.waiting.recording import recorded_end
from pulumi_vertex_training.program.waiting.waits import WaitFailed, WaitResult
from pulumi_vertex_training.runs.monitoring.watching import Watched


async def fail_or_warn(
    waiting: JobWait, watched: Watched[JobRecord], endpoint: Endpoint, *, log_was_shown: bool
) -> None:
    """Raise WaitFailed for a failed job that the deployment needs; warn of another one, or of a timeout.

    Show how to follow a job that is left in training. `log_was_shown` means that the message needs no lines
    of the log.
    """
    record = watched.record
    policy = waiting.policy
    if watched.timed_out and policy.waits:
        messages.warn(
            f"{waiting.title} is {wait_words.timed_out(record, policy.timeout, waiting.logs)}",
            waiting.resource,
        )
    elif policy.waits and waiting.ours and not record.state.is_terminal:
        messages.info(
            f"{waiting.job} is {record.state.word}. {wait_words.follow(waiting.logs)}", waiting.resource
        )
    elif record.state.is_terminal and not _has_succeeded(record):
        await _report_failure(waiting, watched, endpoint, log_was_shown=log_was_shown)


async def _report_failure(
    waiting: JobWait, watched: Watched[JobRecord], endpoint: Endpoint, *, log_was_shown: bool
) -> None:
    """Raise WaitFailed if the deployment needs the job to succeed, else warn."""
    record, policy = watched.record, waiting.policy
    message, is_to_change = await asyncio.to_thread(
        wait_words.failure,
        endpoint,
        record,
        title=waiting.title,
        logs=waiting.logs,
        with_lines=not log_was_shown,
        mask=program_secrets().masked,
    )
    is_earlier = watched.first_was_terminal and not waiting.ours
    fails = policy.waits and (not is_earlier or bool(waiting.why_needed))
    if not policy.waits:
        why = "This deployment does not wait for it."
    elif is_earlier:
        why = waiting.why_needed or "It ended before this deployment began."
    else:
        why = ""
    # To run a job again as it is does not go with advice on what to change first.
    again = "" if is_to_change else await _again(waiting, record, stays=is_earlier or not fails)
    words = "\n".join(filter(None, [message, " ".join(filter(None, [why, again]))]))
    if fails:
        raise WaitFailed(words, state=record.state.word, command=waiting.logs)
    messages.warn(words, waiting.resource)


async def warn_in_preview(resource: pulumi.Resource, label: str) -> None:
    """Say that the deployment will fail, if the state has that the job of `wait="done"` has failed."""
    record = await recorded_end(resource)
    if record is not None and not _has_succeeded(record):
        job = f"{declared_of(record.name).noun} {record.job_id}"
        words = f"{label}: {job} {record.state.word}. `pulumi up` fails until it has succeeded"
        messages.warn(f'{words}; with wait="none" it does not.', resource)


async def _again(waiting: JobWait, record: JobRecord, *, stays: bool) -> str:
    urn = await waiting.resource.urn.future() if waiting.resource else None
    return waiting.again.command(urn or "URN", record.state.word, stays=stays)


async def outcome_of_gone(waiting: JobWait, *, saw_it: bool) -> dict[str, Any]:
    """Return the outcome of a job that the service does not have. Its end may be in Pulumi's state.

    `saw_it` means that this deployment has found the job before. Raises WaitFailed if it needs the job.
    """
    words = f"{waiting.title} no longer exists"
    recorded = await recorded_end(waiting.resource)
    if waiting.policy.waits and (waiting.ours or saw_it):
        words = f"{words}; `pulumi refresh` shows what is left. It was deleted while this deployment waited"
        raise WaitFailed(f"{words} for it.", state="GONE")
    if recorded is None:
        words = f"{words}, and how it ended is not recorded. `pulumi refresh` removes it from the state"
        if waiting.why_needed:
            raise WaitFailed(f"{words}; then `pulumi up` runs it again.", state="GONE")
        messages.warn(words, waiting.resource)
        waiting.wait.end(WaitResult.EARLIER, "GONE")
        return gone(waiting.name, waiting.declared)
    if waiting.why_needed and not _has_succeeded(recorded):
        error = f": {masked(recorded.error.message)}" if recorded.error else ""
        again = await _again(waiting, recorded, stays=True)
        words = f"{waiting.title} {recorded.state.word}{error}\n{words}. {waiting.why_needed} {again}"
        raise WaitFailed(words, state=recorded.state.word)
    waiting.wait.end(result_of(recorded), recorded.state.word)
    return outcome(recorded, waiting.base_output_directory, waiting.declared)


def result_of(record: JobRecord) -> WaitResult:
    """Return how a wait ended that has not failed."""
    if not record.state.is_terminal:
        return WaitResult.CONTINUES
    return WaitResult.SUCCEEDED if _has_succeeded(record) else WaitResult.EARLIER


def _has_succeeded(record: JobRecord) -> bool:
    return record.state.name == "JOB_STATE_SUCCEEDED"
