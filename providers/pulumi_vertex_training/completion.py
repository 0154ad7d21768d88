"""Wait for a job in the program's own process, and show on the job's row how far it is.

The provider process serves all resources of a stack with four threads, so nothing waits there. Here a wait
is an asyncio task: any number of jobs are waited for at once, and nothing else is held up.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi

from pulumi_vertex_training import plugin
from pulumi_vertex_training.interruption import interrupted_within
from vertex_training.cloud import emulator_view, objects
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.cloud.emulator_view import ReplicaState
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import CloudError, NotFound, Unavailable
from vertex_training.emulator.launcher import LauncherError
from vertex_training.lifecycle.kinds import CUSTOM_JOB
from vertex_training.lifecycle.watching import CLOUD_PACE, LOCAL_PACE, Watched, watch
from vertex_training.specs import uris

Wait = Literal["none", "running", "done"]
METRICS_OBJECT = "metrics.json"
ANNOUNCE_SECONDS = 5.0
"""A wait that is longer says what Ctrl-C would do."""


@dataclass(frozen=True, kw_only=True)
class WaitPolicy:
    """`until`: what to wait for; `timeout`: seconds after which waiting ends with a warning."""

    until: Wait = "running"
    timeout: float = 24 * 3600.0


async def completion(
    resource: pulumi.Resource,
    connect: Callable[[], Endpoint],
    name: str,
    *,
    policy: WaitPolicy,
    asked_by: str | None,
    base_output_directory: str | None,
) -> dict[str, Any]:
    """Wait as the policy says; the job's state, error, times, model directory and metrics.

    `connect` gives the endpoint; it is asked again when the endpoint does not answer, and starts an emulator
    that was killed. Raises `pulumi.RunError` for a job that failed or was deleted and that this deployment
    started or joined; of an older failure it only warns, so that one failed job does not fail every later
    deployment.
    """
    progress = _Progress(resource)
    ours = asked_by is not None and asked_by == plugin.engine_address()
    try:
        line = _Line(connect, await asyncio.to_thread(connect))
        watched = await watch(
            lambda: line.ask(name),
            reached=lambda record: _reached(policy.until, record),
            pace=LOCAL_PACE if line.endpoint.kind == "emulator" else CLOUD_PACE,
            timeout=policy.timeout if policy.until != "none" else 0.0,
            report=lambda record: progress.show(line.endpoint, record),
            trouble=progress.trouble,
            sleep=lambda seconds: _sleep(seconds, name),
        )
    except NotFound:
        gone = f"{_short(name)} does not exist any more; `pulumi refresh` shows what is left"
        if policy.until != "none" and (ours or progress.saw_it):
            raise pulumi.RunError(f"{gone}. It was deleted while this deployment waited for it.") from None
        pulumi.log.warn(gone, resource)
        return {**_NOTHING, "state": "GONE", "job": name.rpartition("/")[2]}
    except (CloudError, LauncherError) as error:
        raise pulumi.RunError(str(error)) from None
    _judge(resource, watched, policy, ours=ours)
    outcome = _outcome(watched.record, base_output_directory)
    try:
        return await asyncio.to_thread(_with_metrics, outcome, line.endpoint)
    except CloudError as error:
        pulumi.log.warn(f"the metrics of {_short(name)} cannot be read: {error}", resource)
        return outcome


def standing(
    connect: Callable[[], Endpoint | None], name: str, *, base_output_directory: str | None
) -> dict[str, Any] | None:
    """For a preview: the outcome of a job that has ended, else None. Looks once, and never complains."""
    try:
        endpoint = connect()
        record = None if endpoint is None else CUSTOM_JOB.get(endpoint, name)
        if endpoint is None or record is None or not record.state.is_terminal:
            return None
        return _with_metrics(_outcome(record, base_output_directory), endpoint)
    except (CloudError, LauncherError):
        return None


def _reached(until: Wait, record: JobRecord) -> bool:
    return until == "none" or (until == "running" and record.state.name == "JOB_STATE_RUNNING")


def _judge(resource: pulumi.Resource, watched: Watched, policy: WaitPolicy, *, ours: bool) -> None:
    """Fail or warn, as the end of the wait deserves."""
    record: JobRecord = watched.record
    label = f"custom job {record.job_id}"
    if watched.timed_out and policy.until != "none":
        pulumi.log.warn(
            f"{label} is {_state(record)} after {policy.timeout:g} s; not waiting any longer. "
            f"`vertex-training logs {record.job_id} --follow` shows what it does.",
            resource,
        )
    elif record.state.is_terminal and record.state.name != "JOB_STATE_SUCCEEDED":
        reason = record.error.message if record.error else "no reason was given"
        message = f"{label} {_state(record)}: {reason}"
        if "vertex-training logs" not in reason:
            message += f"\nLogs: vertex-training logs {record.job_id}"
        if policy.until != "none" and (ours or not watched.first_was_terminal):
            raise pulumi.RunError(message)
        pulumi.log.warn(
            f"{message}\nIt ended before this deployment; another run_token runs it again; so may `rerun`.",
            resource,
        )


class Metrics(dict[str, Any]):
    """The contents of metrics.json; what is not there is None, so that a program can export it regardless."""

    def __missing__(self, name: str) -> None:
        return None


_NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("state", "job", "error", "start_time", "end_time", "model_directory")),
    "metrics": Metrics(),
}


def _outcome(record: JobRecord, base_output_directory: str | None) -> dict[str, Any]:
    """All but the metrics."""
    succeeded = record.state.name == "JOB_STATE_SUCCEEDED"
    return {
        **_NOTHING,
        "state": _state(record),
        "job": record.job_id,
        "error": record.error.message if record.error else None,
        "start_time": record.start_time,
        "end_time": record.end_time,
        "model_directory": f"{base_output_directory}model/" if base_output_directory and succeeded else None,
    }


def _with_metrics(outcome: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    """The outcome with what the training program left in its model directory, if that is JSON."""
    if outcome["model_directory"] is None:
        return outcome
    address = uris.parse(outcome["model_directory"] + METRICS_OBJECT)
    try:
        found = json.loads(objects.read(endpoint, address.bucket, address.name))
    except (NotFound, ValueError):
        return outcome
    return {**outcome, "metrics": Metrics(found) if isinstance(found, dict) else found}


class _Line:
    """The line to the service, made anew when it breaks."""

    def __init__(self, connect: Callable[[], Endpoint], endpoint: Endpoint) -> None:
        self._connect = connect
        self.endpoint = endpoint

    async def ask(self, name: str) -> JobRecord:
        try:
            return await asyncio.to_thread(CUSTOM_JOB.get, self.endpoint, name)
        except Unavailable:
            self.endpoint = await asyncio.to_thread(self._connect)
            raise


async def _sleep(seconds: float, name: str) -> None:
    """The pause between two looks; it ends the wait after Ctrl-C, and when the deployment was killed."""
    if await interrupted_within(seconds):
        raise pulumi.RunError(f"interrupted; {_short(name)} goes on")
    if not await asyncio.to_thread(plugin.engine_is_alive, plugin.engine_address()):
        raise pulumi.RunError(f"the deployment was killed; {_short(name)} goes on")


class _Progress:
    """The row of one job: its state and its replicas, said once for each change."""

    def __init__(self, resource: pulumi.Resource) -> None:
        self._resource = resource
        self._said = ""
        self._began = time.monotonic()
        self._announced = False

    @property
    def saw_it(self) -> bool:
        """Whether the job was there at any look."""
        return bool(self._said)

    async def show(self, endpoint: Endpoint, record: JobRecord) -> None:
        # The engine's log wants the program's own thread; only the question goes to another one.
        replicas = await asyncio.to_thread(_replicas, endpoint, record)
        line = _state(record).lower() + _counts(replicas)
        if line != self._said:
            self._said = line
            pulumi.log.info(line, self._resource, ephemeral=True)
        if not self._announced and time.monotonic() - self._began > ANNOUNCE_SECONDS:
            self._announced = True
            pulumi.log.info(_announcement(record.job_id), self._resource)

    def trouble(self, error: CloudError) -> None:
        pulumi.log.info(f"asking again: {error}", self._resource, ephemeral=True)


def _announcement(job_id: str) -> str:
    """Said while it can still be heard: after Ctrl-C the engine listens no more."""
    return (
        f"waiting for custom job {job_id}. Ctrl-C leaves it running: `pulumi up` joins it again, "
        f"`vertex-training cancel {job_id}` stops it."
    )


def _replicas(endpoint: Endpoint, record: JobRecord) -> Sequence[ReplicaState]:
    """The replicas of a job that has not ended; none where only Google knows them."""
    if record.state.is_terminal:
        return ()
    try:
        return emulator_view.replicas(endpoint, record.job_id) or ()
    except CloudError:
        return ()


def _counts(replicas: Sequence[ReplicaState]) -> str:
    """` 3/4: chief 1/1, worker 1/2, evaluator 1/1`, running of all, the roles in the order of the pools."""
    if not replicas:
        return ""
    roles: dict[str, list[bool]] = {}
    for replica in replicas:
        roles.setdefault(replica.role, []).append(replica.state == "running")
    running = sum(map(sum, roles.values()))
    parts = [f"{role} {sum(up)}/{len(up)}" for role, up in roles.items()]
    return f" {running}/{len(replicas)}: {', '.join(parts)}"


def _state(record: JobRecord) -> str:
    return record.state.name.removeprefix("JOB_STATE_")


def _short(name: str) -> str:
    return "custom job " + name.rpartition("/")[2]
