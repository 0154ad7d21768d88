"""Wait for a job in the program's own process, and show its progress on the job's row.

The provider process serves all resources of a stack with four threads, so nothing waits there. Here a wait
is an asyncio task: any number of jobs can be waited for at the same time, and nothing else is blocked.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, FailedPrecondition, NotFound, Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.engine import is_alive
from pulumi_vertex_training.core.running.declaration import JobResourceType, declared_of
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments.run_options import WaitPolicy
from pulumi_vertex_training.program.links import cancel_command, job_command
from pulumi_vertex_training.program.messages import masked, program_secrets
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.program.waiting.interruption import (
    Interrupted,
    interrupted_within,
    unless_interrupted,
)
from pulumi_vertex_training.program.waiting.outcome import gone, outcome, with_results
from pulumi_vertex_training.program.waiting.progress import Progress, how_to_follow
from pulumi_vertex_training.program.waiting.recording import record_end, recorded_end
from pulumi_vertex_training.program.waiting.waits import Again, Wait, WaitFailed, WaitResult, held
from pulumi_vertex_training.registry import is_runnable
from pulumi_vertex_training.runs.cancel_watchdog import KEY_PREFIX
from pulumi_vertex_training.runs.watching import CLOUD_PACE, LOCAL_PACE, Watched, watch
from pulumi_vertex_training.timeouts import Timeouts
from vertex_emulator.launcher import LauncherError
from vertex_training.findings.words import visible_lines

if TYPE_CHECKING:
    from pulumi_vertex_training.program.waiting.progress import LogStream

CANCEL_SECONDS = 4.0
"""Time limit for cancelling the job of an interrupted program, before the engine kills it. Never scaled."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A wait for the job of a resource.

    `ours` means that this deployment submitted the job. `label` is the resource's name in the program, which
    begins messages and the lines of the log. `held_key` is the key of the resource, by which the job was held
    while it was created. `engine` is the engine's address, or None. `again` is when the job runs again.
    `secret_outputs` are the outputs that the resource's options make secret.
    """

    resource: pulumi.Resource
    declared: JobResourceType
    connect: Callable[[], Endpoint]
    name: str
    policy: WaitPolicy
    ours: bool
    engine: str | None = None
    label: str = ""
    held_key: str | None = None
    again: Again = field(default_factory=Again)
    secret_outputs: frozenset[str] = frozenset()

    @property
    def job_id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The job in messages, after the name of its resource."""
        title = f"{self.declared.noun} {self.job_id}"
        return f"{self.label}: {title}" if self.label else title

    @property
    def logs(self) -> str:
        """Command that prints the job's log."""
        return job_command("logs", self.name)


async def completion(
    resource: pulumi.Resource,
    connect: Callable[[], Endpoint],
    name: str,
    *,
    policy: WaitPolicy,
    asked_by: str | None,
    base_output_directory: str | None,
    label: str = "",
    held_key: str | None = None,
    engine: str | None = None,
    wait: Wait | None = None,
    again: Again | None = None,
    secret_outputs: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Wait as the policy says. Return the job's state, error, times, model directory and metrics.

    `connect` returns the endpoint. It is called again if the endpoint does not respond, and starts a killed
    emulator. `wait` is the entry in the waits of the program, if the resource has one.

    Raises `pulumi.RunError` if a job that this deployment started or joined failed or was deleted; the error
    is on the resource's row at once, and raised when everything else has come to an end. An older failure is
    only a warning, so that one failed job does not fail every later deployment.
    """
    engine = engine or engine_address()
    waiting = Waiting(
        resource=resource,
        declared=declared_of(name),
        connect=connect,
        name=name,
        policy=policy,
        ours=asked_by is not None and asked_by == engine,
        engine=engine,
        label=label,
        held_key=held_key,
        again=again or Again(),
        secret_outputs=secret_outputs,
    )
    wait = wait or Wait(name=label or waiting.title)
    return await held(_completion(waiting, wait, base_output_directory), resource, wait)


async def _completion(waiting: Waiting, wait: Wait, base_output_directory: str | None) -> dict[str, Any]:
    """Return the outcome. Raises WaitFailed for a failure, `pulumi.RunError` after Ctrl-C."""
    progress = Progress(waiting.resource, waiting.policy, waiting.declared, base_output_directory)
    try:
        link = _Link(waiting, await asyncio.to_thread(waiting.connect))
        watched = await _watched(waiting, link, progress)
    except NotFound:
        words = f"{waiting.title} no longer exists; `pulumi refresh` shows what is left"
        if waiting.policy.waits and (waiting.ours or progress.saw_it):
            words = f"{words}. It was deleted while this deployment waited for it."
            raise WaitFailed(words, state="GONE") from None
        if (recorded := await recorded_end(waiting.resource)) is not None:
            wait.end(_result(recorded), recorded.state.word)
            return outcome(recorded, base_output_directory, waiting.declared)
        messages.warn(words, waiting.resource)
        wait.end(WaitResult.EARLIER, "GONE")
        return gone(waiting.name, waiting.declared)
    except (CloudError, LauncherError) as error:
        words = f"{waiting.label}: {error}" if waiting.label else str(error)
        raise WaitFailed(words, state="UNKNOWN", command=waiting.logs) from None
    record = watched.record
    await record_end(waiting.resource, waiting.declared, record, secret=waiting.secret_outputs)
    await _fail_or_warn(waiting, watched, link)
    wait.end(
        _result(record), record.state.word, f"{waiting.logs}{'' if record.state.is_terminal else ' --follow'}"
    )
    found = outcome(record, base_output_directory, waiting.declared)
    found["error"] = found["error"] and masked(found["error"])
    try:
        return await asyncio.to_thread(
            with_results, found, link.endpoint, record, base_output_directory, waiting.declared
        )
    except CloudError as error:
        messages.warn(f"{waiting.title}: its metrics cannot be read: {error}", waiting.resource)
        return found


def ended_outcome(connect: Callable[[], Endpoint | None], name: str) -> dict[str, Any] | None:
    """Return the outcome of a job that has ended, else None, for a preview. Queries once and never raises.

    The output directory is that of the service, because a null output is unknown in a preview.
    """
    try:
        endpoint = connect()
        if endpoint is None or not is_runnable(name):
            return None
        declared = declared_of(name)
        record = declared.gateway.get(endpoint, name)
        if not record.state.is_terminal:
            return None
        directory = declared.spec.directory_of(record.wire)
        return with_results(outcome(record, directory, declared), endpoint, record, directory, declared)
    except (CloudError, LauncherError):
        return None


async def _watched(waiting: Waiting, link: _Link, progress: Progress) -> Watched[JobRecord]:
    """Wait for the job, and stream its log if the policy says so. Handles Ctrl-C."""
    policy = waiting.policy
    streams = policy.waits and policy.stream_logs
    log: LogStream | None = None

    async def note(record: JobRecord) -> None:
        nonlocal log
        if streams and log is None:
            job = waiting.declared.log_of(record)
            from pulumi_vertex_training.program.waiting.progress import (
                LogStream,  # imported only if needed
            )

            log = LogStream(waiting.resource, waiting.label, job) if job else None
        # If an earlier deployment saw the job end, its log is not shown again.
        if log is not None and (waiting.ours or progress.saw_it or not record.state.is_terminal):
            await unless_interrupted(log.begin(link.endpoint, record, joins=not waiting.ours))
        await progress.show(link.endpoint, record)

    _hold(waiting, link)
    try:
        watched = await watch(
            lambda: link.ask(waiting.name),
            reached=lambda record: _reached(policy, record),
            pace=LOCAL_PACE if link.endpoint.is_emulator else CLOUD_PACE,
            timeout=policy.timeout if policy.waits else 0.0,
            report=note,
            trouble=progress.trouble,
            least_answer=link.endpoint.timeouts.least_answer,
            sleep=functools.partial(_sleep, engine=waiting.engine, timeouts=link.endpoint.timeouts),
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
        _release(waiting, link)


async def _interrupted(waiting: Waiting, link: _Link) -> str:
    """Cancel the job after Ctrl-C if the policy says so. Return a message, which a running engine shows."""
    remedy = f"`pulumi up` joins it again, `{cancel_command(waiting.name)}` stops it"
    if not waiting.policy.cancels:
        return f"interrupted; {waiting.title} keeps running: {remedy}"
    try:
        await asyncio.wait_for(
            asyncio.to_thread(waiting.declared.gateway.cancel, link.endpoint, waiting.name), CANCEL_SECONDS
        )
    except (NotFound, FailedPrecondition):
        return f"interrupted; {waiting.title} has ended"
    except (CloudError, asyncio.TimeoutError) as error:
        # The watchdog tries it when this process has ended.
        link.keep_watchdog = True
        why = str(error) or f"no response in {CANCEL_SECONDS:g} s"
        return f"interrupted; {waiting.title} could not be cancelled yet: {why}; retrying for one more minute"
    return f"interrupted; {waiting.title} was cancelled"


def _hold(waiting: Waiting, link: _Link) -> None:
    """Hold the job by its name. Until now it was held by the key of its resource."""
    if waiting.policy.cancels:
        interruption.hold(waiting.name, link.endpoint)
        if waiting.held_key is not None:
            interruption.release(KEY_PREFIX + waiting.held_key)


def _release(waiting: Waiting, link: _Link) -> None:
    if waiting.policy.cancels and not link.keep_watchdog:
        interruption.release(waiting.name)


def _result(record: JobRecord) -> WaitResult:
    """Return how a wait ended that has not failed."""
    if not record.state.is_terminal:
        return WaitResult.CONTINUES
    return WaitResult.SUCCEEDED if record.state.name == "JOB_STATE_SUCCEEDED" else WaitResult.EARLIER


def _reached(policy: WaitPolicy, record: JobRecord) -> bool:
    return not policy.waits or (policy.until == "running" and record.state.name == "JOB_STATE_RUNNING")


async def _fail_or_warn(waiting: Waiting, watched: Watched[JobRecord], link: _Link) -> None:
    """Raise WaitFailed for a failed job of this deployment; warn of an older failure or a timeout.

    Show how to follow a job that is left in training.
    """
    record = watched.record
    policy = waiting.policy
    if watched.timed_out and policy.waits:
        messages.warn(
            f"{waiting.title} is {record.state.word} after {policy.timeout:g} s; no longer waiting. "
            f"{how_to_follow(waiting.name)}",
            waiting.resource,
        )
    elif policy.waits and waiting.ours and not record.state.is_terminal:
        words = f"{waiting.declared.noun} {waiting.job_id} is {record.state.word}"
        messages.info(f"{words}. {how_to_follow(waiting.name)}", waiting.resource)
    elif record.state.is_terminal and record.state.name != "JOB_STATE_SUCCEEDED":
        message, is_to_change = await _failure(waiting, record, link)
        urn = await waiting.resource.urn.future() if waiting.resource else None
        fails = policy.waits and (waiting.ours or not watched.first_was_terminal)
        # To run a job again as it is does not go with advice on what to change first.
        again = (
            "" if is_to_change else waiting.again.command(urn or "URN", record.state.word, stays=not fails)
        )
        if fails:
            reported = f"{message}\n{again}".rstrip()
            raise WaitFailed(reported, state=record.state.word, command=waiting.logs)
        why = (
            "It ended before this deployment began."
            if policy.waits
            else "This deployment does not wait for it."
        )
        messages.warn(f"{message}\n{why} {again}".rstrip(), waiting.resource)


async def _failure(waiting: Waiting, record: JobRecord, link: _Link) -> tuple[str, bool]:
    """Return the message about a failed job, without log lines that were already streamed.

    The second value is true if the message says what to change before the job runs again.
    """
    from pulumi_vertex_training.runs.diagnosis.causes import AS_IT_IS  # imported only if needed
    from pulumi_vertex_training.runs.diagnosis.diagnosis import examine, report

    diagnosis = await asyncio.to_thread(examine, link.endpoint, record, mask=program_secrets().masked)
    message = report(
        diagnosis,
        label=waiting.title,
        state=record.state.word,
        logs=waiting.logs,
        with_lines=not link.log_was_shown,
    )
    return message, bool(diagnosis.cause) and diagnosis.kind not in AS_IT_IS


class _Link:
    """Connection to the service, which is made again if it breaks."""

    def __init__(self, waiting: Waiting, endpoint: Endpoint) -> None:
        self._waiting = waiting
        self.endpoint = endpoint
        self.log_was_shown = False
        self.keep_watchdog = False

    async def ask(self, name: str) -> JobRecord:
        try:
            return await unless_interrupted(
                asyncio.to_thread(self._waiting.declared.gateway.get, self.endpoint, name)
            )
        except Unavailable:
            self.endpoint = await asyncio.to_thread(self._waiting.connect)
            _hold(self._waiting, self)
            raise


async def _sleep(seconds: float, *, engine: str | None, timeouts: Timeouts) -> None:
    """Sleep between two polls. Raises Interrupted after Ctrl-C, or if the deployment was killed."""
    if await interrupted_within(seconds):
        raise Interrupted
    if not await asyncio.to_thread(is_alive, engine, timeouts):
        raise Interrupted
