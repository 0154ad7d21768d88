"""Wait for a job in the program's own process, and show its progress on the job's row.

The provider process serves all resources of a stack with four threads, so nothing waits there. Here a wait
is an asyncio task: any number of jobs can be waited for at the same time, and nothing else is blocked.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound, Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running.declaration import declared_of
from pulumi_vertex_training.core.running.outcome import outcome, recorded_outcome, with_results
from pulumi_vertex_training.core.running.output import wait_words
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.links import cancel_command
from pulumi_vertex_training.program.messages import masked
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.program.waiting.failures import fail_or_warn, outcome_of_gone, result_of
from pulumi_vertex_training.program.waiting.interruption import Interrupted, pause, unless_interrupted
from pulumi_vertex_training.program.waiting.job_wait import JobWait
from pulumi_vertex_training.program.waiting.progress import Progress, log_stream, rows_below
from pulumi_vertex_training.program.waiting.recording import record_end
from pulumi_vertex_training.program.waiting.waits import WaitFailed, held
from pulumi_vertex_training.registry import is_runnable
from pulumi_vertex_training.runs.cancel_watchdog import KEY_PREFIX
from pulumi_vertex_training.runs.monitoring.watching import CLOUD_PACE, LOCAL_PACE, Watched, watch
from vertex_emulator import LauncherError
from vertex_training.findings.words import visible_lines

if TYPE_CHECKING:
    from pulumi_vertex_training.core.running.output.log_stream import LogStream

CANCEL_SECONDS = 4.0
"""Time limit for cancelling the job of an interrupted program, before the engine kills it. Never scaled."""


async def completion(waiting: JobWait) -> dict[str, Any]:
    """Wait as the policy says. Return the job's state, error, times, model directory and metrics.

    Raises `pulumi.RunError` if the job failed or was deleted; the error is on the resource's row at once, and
    raised when everything else has come to an end. The failure of an earlier deployment's job is only a
    warning if `wait` is `running` and the program does not use the result, or if it is `none`.
    """
    return await held(_completion(waiting), waiting.resource, waiting.wait)


async def _completion(waiting: JobWait) -> dict[str, Any]:
    """Return the outcome. Raises WaitFailed for a failure, `pulumi.RunError` after Ctrl-C."""
    directory = waiting.base_output_directory
    rows = rows_below(waiting.wait.name, waiting.policy)
    progress = Progress(
        waiting.resource, waiting.policy, waiting.declared, directory, rows, label=waiting.wait.name
    )
    try:
        link = _Link(waiting, await asyncio.to_thread(waiting.connect))
        watched = await _watched(waiting, link, progress)
    except NotFound:
        return await outcome_of_gone(waiting, saw_it=progress.saw_it)
    except (CloudError, LauncherError) as error:
        words = f"{waiting.wait.name}: {error}"
        raise WaitFailed(words, state="UNKNOWN", command=waiting.logs) from None
    record = watched.record
    await record_end(waiting.resource, waiting.declared, record, secret=waiting.secret_outputs)
    await fail_or_warn(waiting, watched, link.endpoint, log_was_shown=link.log_was_shown)
    follow = "" if record.state.is_terminal else " --follow"
    waiting.wait.end(result_of(record), record.state.word, f"{waiting.logs}{follow}")
    found = outcome(record, directory, waiting.declared)
    found["error"] = found["error"] and masked(found["error"])
    try:
        return await asyncio.to_thread(
            with_results, found, link.endpoint, record, directory, waiting.declared
        )
    except CloudError as error:
        messages.warn(f"{waiting.title}: its metrics cannot be read: {error}", waiting.resource)
        return found


def ended_outcome(connect: Callable[[], Endpoint | None], name: str) -> dict[str, Any] | None:
    """Return the outcome of a job that has ended, else None, for a preview. Queries once and never raises.

    The output directory is the service's, because a null output is unknown in a preview.
    """
    try:
        endpoint = connect()
        if endpoint is None or not is_runnable(name):
            return None
        declared = declared_of(name)
        record = declared.gateway.get(endpoint, name)
        if not record.state.is_terminal:
            return None
        return recorded_outcome(endpoint, record, declared)
    except (CloudError, LauncherError):
        return None


async def _watched(waiting: JobWait, link: _Link, progress: Progress) -> Watched[JobRecord]:
    """Wait for the job, and stream its log if the policy says so. Handles Ctrl-C."""
    policy = waiting.policy
    streams = policy.waits and policy.stream_logs
    log: LogStream | None = None

    async def note(record: JobRecord) -> None:
        nonlocal log
        if streams and log is None:
            job = waiting.declared.log_of(record)
            log = log_stream(waiting.resource, waiting.wait.name, job) if job else None
        # If an earlier deployment saw the job end, its log is not shown again.
        if log is not None and (waiting.ours or progress.saw_it or not record.state.is_terminal):
            await unless_interrupted(log.begin(link.endpoint, record, joins=not waiting.ours))
        await unless_interrupted(progress.show(link.endpoint, record))

    _hold(waiting, link)
    try:
        watched = await watch(
            lambda: link.ask(waiting.name),
            reached=lambda record: (
                not policy.waits or (policy.until == "running" and record.state is JobState.JOB_STATE_RUNNING)
            ),
            pace=LOCAL_PACE if link.endpoint.is_emulator else CLOUD_PACE,
            timeout=policy.timeout if policy.waits else 0.0,
            on_record=note,
            on_error=progress.trouble,
            least_answer=link.endpoint.timeouts.least_answer,
            sleep=functools.partial(pause, engine=waiting.engine, timeouts=link.endpoint.timeouts),
        )
        if log is not None:
            await unless_interrupted(log.finish(job_ended=watched.record.state.is_terminal))
            link.log_was_shown = log.shown_in_full
        return watched
    except Interrupted:
        raise pulumi.RunError(visible_lines(messages.in_shell(await _interrupted(waiting, link)))) from None
    finally:
        if log is not None:
            log.stop()
        progress.end()
        if policy.cancels and not link.keep_watchdog:
            interruption.release(waiting.name)


async def _interrupted(waiting: JobWait, link: _Link) -> str:
    """Cancel the job after Ctrl-C if the policy says so. Return a message, which a running engine shows."""
    if not waiting.policy.cancels:
        effect = wait_words.leaves(cancel_command(waiting.name))
        return f"interrupted; {waiting.title} keeps running: {effect}"
    cancelled = asyncio.to_thread(wait_words.cancel, waiting.declared.gateway, link.endpoint, waiting.name)
    try:
        return f"interrupted; {waiting.title} {await asyncio.wait_for(cancelled, CANCEL_SECONDS)}"
    except (CloudError, asyncio.TimeoutError) as error:
        # The watchdog tries it when this process has ended.
        link.keep_watchdog = True
        why = str(error) or f"no response in {CANCEL_SECONDS:g} s"
        return f"interrupted; {waiting.title} could not be cancelled yet: {why}; retrying for one more minute"


def _hold(waiting: JobWait, link: _Link) -> None:
    """Hold the job by its name. Until now it was held by the key of its resource."""
    if waiting.policy.cancels:
        interruption.hold(waiting.name, link.endpoint)
        if waiting.held_key is not None:
            interruption.release(KEY_PREFIX + waiting.held_key)


class _Link:
    """Connection to the service, which is made again if it breaks."""

    def __init__(self, waiting: JobWait, endpoint: Endpoint) -> None:
        self._waiting = waiting
        self.endpoint = endpoint
        self.log_was_shown = False
        self.keep_watchdog = False

    async def ask(self, name: str) -> JobRecord:
        try:
            return await unless_interrupted(
                asyncio.to_thread(self._waiting.declared.gateway.get, self.endpoint.polled, name)
            )
        except Unavailable:
            self.endpoint = await asyncio.to_thread(self._waiting.connect)
            _hold(self._waiting, self)
            raise
