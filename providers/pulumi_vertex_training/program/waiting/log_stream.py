"""Stream the log of a job in the output of the deployment that waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Sequence

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.program_secrets import masked
from pulumi_vertex_training.program.shell_command import job_command
from pulumi_vertex_training.runs.log_sources import RunLog
from pulumi_vertex_training.runs.streaming import CLOUD_LOG_PACE, LOCAL_LOG_PACE, LogLines, stream

MAX_ENTRIES_PER_READ = 5000
"""Further entries are read by the next read, so that the rest of the program never waits for long."""

_LOCAL_DRAIN_SECONDS, _CLOUD_DRAIN_SECONDS = 5.0, 30.0
_ANSWER_SECONDS = 15.0
_LOOP_TURNS = 20
_CLOUD_SECONDS_BETWEEN_READS = 1.5
"""Keeps all streams of a program together below Cloud Logging's limit of 60 reads a minute."""


class LogStream:
    """A log that is streamed from `begin` to `finish`."""

    def __init__(self, resource: pulumi.Resource, label: str, job_id: str) -> None:
        self._resource = resource
        self._label = label
        self._job_id = job_id
        self._command = job_command("logs", job_id)
        self._lines = LogLines(label=label, command=self._command)
        self._finished = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._log: RunLog | None = None
        self._endpoint: Endpoint | None = None
        self._drain_seconds = 0.0

    @property
    def shown_in_full(self) -> bool:
        """True if the whole log was shown, known once it is finished."""
        return self._task is not None and self._drain_seconds > 0.0 and self._lines.complete

    async def begin(self, endpoint: Endpoint, record: JobRecord, *, joins: bool) -> None:
        """Show the log from its beginning, or from now on if an earlier deployment started the job.

        So a deployment that continues after an interrupted one does not repeat its lines. Call it again with
        each new record of the job, whose log may have more parts then.
        """
        self._endpoint = endpoint
        first = self._log is None
        self._log = self._log or RunLog()
        await asyncio.to_thread(_see, self._log, endpoint, record, from_now=joins and first)
        if not first:
            return
        if joins:
            self._lines.complete = False
            self._show(
                f"[{self._label}] showing the log from now on; to print all of it, run {self._command}"
            )
        local = endpoint.is_emulator
        self._task = asyncio.ensure_future(
            stream(
                self._read,
                self._lines,
                self._show,
                finished=self._finished,
                pace=LOCAL_LOG_PACE if local else CLOUD_LOG_PACE,
                quiet_looks=1 if local else 2,
                drain_seconds=lambda: self._drain_seconds,
            )
        )

    async def finish(self, *, job_ended: bool) -> None:
        """Show all entries until now and end. If the job has ended, also wait for late entries."""
        if self._task is None or self._endpoint is None:
            return
        if job_ended:
            self._drain_seconds = _LOCAL_DRAIN_SECONDS if self._endpoint.is_emulator else _CLOUD_DRAIN_SECONDS
        self._finished.set()
        done, _ = await asyncio.wait({self._task}, timeout=self._drain_seconds + _ANSWER_SECONDS)
        if not done:  # the service does not respond
            self._lines.complete = False
            self._task.cancel()
        # Pulumi sends the log lines of a resource to the engine in its own tasks: let them run.
        for _ in range(_LOOP_TURNS):
            await asyncio.sleep(0)

    def stop(self) -> None:
        """End the stream at once."""
        if self._task is not None:
            self._task.cancel()

    async def _read(self) -> Sequence[LogEntry]:
        endpoint, log = self._endpoint, self._log
        if endpoint is None or log is None:
            return ()
        if not endpoint.is_emulator:
            await _rate_limit(asyncio.get_running_loop()).acquire()
        entries = await asyncio.to_thread(
            lambda: list(itertools.islice(log.poll(endpoint), MAX_ENTRIES_PER_READ))
        )
        # Before lines are split and cut: a part of a secret is not recognised.
        return [dataclasses.replace(entry, message=masked(entry.message)) for entry in entries]

    def _show(self, line: str) -> None:
        messages.info(line, self._resource)


def _see(log: RunLog, endpoint: Endpoint, record: JobRecord, *, from_now: bool) -> None:
    with contextlib.suppress(CloudError):  # the next poll tries it again
        log.see(endpoint, record, from_now=from_now)


class _RateLimit:
    """Lets one caller through at a fixed interval."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    async def acquire(self) -> None:
        loop = asyncio.get_running_loop()
        mine = max(self._next, loop.time())
        self._next = mine + self._seconds
        await asyncio.sleep(mine - loop.time())


@functools.lru_cache(maxsize=1)
def _rate_limit(_loop: asyncio.AbstractEventLoop) -> _RateLimit:
    return _RateLimit(_CLOUD_SECONDS_BETWEEN_READS)
