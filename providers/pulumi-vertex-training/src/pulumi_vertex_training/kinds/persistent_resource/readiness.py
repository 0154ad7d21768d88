"""Wait in the program's process until a persistent resource runs, and show its progress in its row.

As for jobs (`completion`), the wait is not in the provider process, which serves all resources of a stack
with four threads.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound, Unavailable
from pulumi_vertex_training.core import waiting
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.kinds.persistent_resource import gateway
from pulumi_vertex_training.kinds.persistent_resource.gateway import READINESS, ResourceRecord, ResourceState
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.waiting.interruption import Interrupted, pause, unless_interrupted
from pulumi_vertex_training.program.waiting.waits import Wait, WaitFailed, WaitResult, held, replace_command
from pulumi_vertex_training.runs.monitoring.watching import CLOUD_PACE, LOCAL_PACE, watch
from vertex_emulator import LauncherError


async def ready(
    resource: pulumi.Resource,
    connect: Callable[[], Endpoint],
    name: str,
    *,
    timeout: float,
    wait: Wait | None = None,
) -> str:
    """Wait until the persistent resource runs, and return its id.

    `connect` returns the endpoint; it is called again if the endpoint does not answer. `wait` is the entry in
    the waits of the program. Raises `pulumi.RunError` if the resource is gone, is being deleted, or has
    failed, now or in an earlier deployment; the error is on its row at once, as a job's (`completion`).
    A timeout is a warning.
    """
    poll = _Wait(resource, connect, name)
    wait = wait or Wait(name=poll.resource_id)
    return await held(_ready(poll, wait, timeout=timeout, engine=engine_address()), resource, wait)


async def _ready(poll: _Wait, wait: Wait, *, timeout: float, engine: str | None) -> str:
    title = poll.title if wait.name == poll.resource_id else f"{wait.name}: {poll.title}"
    try:
        endpoint = await poll.begin()
        watched = await watch(
            poll.poll,
            reached=READINESS.is_ready,
            pace=LOCAL_PACE if endpoint.is_emulator else CLOUD_PACE,
            timeout=timeout,
            on_record=poll.show,
            on_error=poll.trouble,
            least_answer=endpoint.timeouts.least_answer,
            sleep=functools.partial(pause, engine=engine, timeouts=endpoint.timeouts),
        )
    except NotFound:
        raise WaitFailed(waiting.gone(title), state="GONE") from None
    except Interrupted:
        raise pulumi.RunError(messages.in_shell(waiting.interrupted(title))) from None
    except (CloudError, LauncherError) as error:
        raise WaitFailed(str(error), state="UNKNOWN") from None
    record: ResourceRecord = watched.record
    word = record.state.word
    if failure := READINESS.failure(record):
        message = f"{title} {failure}"
        if record.state is ResourceState.ERROR:
            urn = await poll.resource.urn.future() if poll.resource else "URN"
            message = f"{message}.\nTo create it again: {replace_command(str(urn))}"
        raise WaitFailed(message, state=word)
    wait.end(WaitResult.SUCCEEDED if READINESS.is_ready(record) else WaitResult.CONTINUES, word)
    if watched.timed_out:
        messages.warn(waiting.timed_out(title, word, timeout), poll.resource)
    return poll.resource_id


class _Wait:
    """The state of a wait: its endpoint, and the lines that were shown last."""

    def __init__(self, resource: pulumi.Resource, connect: Callable[[], Endpoint], name: str) -> None:
        self.resource = resource
        self._connect = connect
        self._name = name
        self._endpoint: Endpoint | None = None
        self._shown = ""
        self._trouble = ""

    @property
    def resource_id(self) -> str:
        """The id of the persistent resource."""
        return self._name.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The name of the resource in messages."""
        return f"persistent resource {self.resource_id}"

    async def begin(self) -> Endpoint:
        """Connect to the endpoint, also again after a failure."""
        self._endpoint = await asyncio.to_thread(self._connect)
        return self._endpoint

    async def poll(self) -> ResourceRecord:
        """Fetch the resource. Reconnect if the endpoint is unavailable."""
        endpoint = self._endpoint or await self.begin()
        try:
            return await unless_interrupted(asyncio.to_thread(gateway.get, endpoint.polled, self._name))
        except Unavailable:
            await self.begin()
            raise

    async def show(self, record: ResourceRecord) -> None:
        """Show the state in the row of the resource if it has changed."""
        line = READINESS.line(record)
        is_news = line != self._shown and not (READINESS.is_ready(record) and not self._shown)
        if is_news or self._trouble:
            self._shown, self._trouble = line, ""
            messages.info(line, self.resource, ephemeral=True)

    def trouble(self, error: CloudError) -> None:
        """Show a transient error in the row of the resource."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            messages.info(f"retrying: {error}", self.resource, ephemeral=True)
