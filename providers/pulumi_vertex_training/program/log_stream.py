"""The log of a job in the output of the deployment that waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Sequence

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.log_sources import RunLog
from pulumi_vertex_training.runs.streaming import CLOUD_LOG_PACE, LOCAL_LOG_PACE, LogLines, stream

ENTRIES_OF_A_LOOK = 5000
"""What is there besides is read by the next look, so that nothing else of the program waits for long."""

_LOCAL_DRAIN_SECONDS, _CLOUD_DRAIN_SECONDS = 5.0, 30.0
_ANSWER_SECONDS = 15.0
_LOOP_TURNS = 20
_CLOUD_SECONDS_BETWEEN_LOOKS = 1.5
"""All streams of a program together stay below Cloud Logging's 60 reads a minute."""


class LogStream:
    """A log that is being shown, from `begin` to `finish`."""

    def __init__(self, resource: pulumi.Resource, label: str, job_id: str) -> None:
        self._resource = resource
        self._label = label
        self._job_id = job_id
        self._command = f"vertex-training logs {job_id}"
        self._lines = LogLines(label=label, command=self._command)
        self._finished = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._log: RunLog | None = None
        self._endpoint: Endpoint | None = None
        self._drain_seconds = 0.0

    @property
    def shown_in_full(self) -> bool:
        """Whether all of the log has been shown, once it is finished."""
        return self._task is not None and self._drain_seconds > 0.0 and self._lines.complete

    async def begin(self, endpoint: Endpoint, record: JobRecord, *, joins: bool) -> None:
        """Show the log: from its beginning, or, of a job that an earlier deployment started, from now on.

        So a deployment that goes on where another one was interrupted does not show the same lines again.
        Called again with what has become of the job, whose log may have more parts then.
        """
        self._endpoint = endpoint
        first = self._log is None
        self._log = self._log or RunLog()
        await asyncio.to_thread(_see, self._log, endpoint, record, from_now=joins and first)
        if not first:
            return
        if joins:
            self._lines.complete = False
            self._show(f"[{self._label}] the log from here on; all of it: {self._command}")
        local = endpoint.is_emulator
        self._task = asyncio.ensure_future(
            stream(
                self._look,
                self._lines,
                self._show,
                finished=self._finished,
                pace=LOCAL_LOG_PACE if local else CLOUD_LOG_PACE,
                quiet_looks=1 if local else 2,
                drain_seconds=lambda: self._drain_seconds,
            )
        )

    async def finish(self, *, job_ended: bool) -> None:
        """Show what has been logged until now and end; of a job that has ended also what is on its way."""
        if self._task is None or self._endpoint is None:
            return
        if job_ended:
            self._drain_seconds = _LOCAL_DRAIN_SECONDS if self._endpoint.is_emulator else _CLOUD_DRAIN_SECONDS
        self._finished.set()
        done, _ = await asyncio.wait({self._task}, timeout=self._drain_seconds + _ANSWER_SECONDS)
        if not done:  # the service does not answer
            self._lines.complete = False
            self._task.cancel()
        # What Pulumi is given to show for a resource it hands to the engine in tasks of its own.
        for _ in range(_LOOP_TURNS):
            await asyncio.sleep(0)

    def stop(self) -> None:
        """End it at once, if it has not ended."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> Sequence[LogEntry]:
        endpoint, log = self._endpoint, self._log
        if endpoint is None or log is None:
            return ()
        if not endpoint.is_emulator:
            await _turnstile(asyncio.get_running_loop()).acquire()
        return await asyncio.to_thread(lambda: list(itertools.islice(log.poll(endpoint), ENTRIES_OF_A_LOOK)))

    def _show(self, line: str) -> None:
        pulumi.log.info(line, self._resource)


def _see(log: RunLog, endpoint: Endpoint, record: JobRecord, *, from_now: bool) -> None:
    with contextlib.suppress(CloudError):  # the next look at the job tries it again
        log.see(endpoint, record, from_now=from_now)


class _Turnstile:
    """Lets one through every so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    async def acquire(self) -> None:
        loop = asyncio.get_running_loop()
        mine = max(self._next, loop.time())
        self._next = mine + self._seconds
        await asyncio.sleep(mine - loop.time())


@functools.lru_cache(maxsize=1)
def _turnstile(_loop: asyncio.AbstractEventLoop) -> _Turnstile:
    return _Turnstile(_CLOUD_SECONDS_BETWEEN_LOOKS)
