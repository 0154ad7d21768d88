"""The log of a job on the output of a deployment that waits for it, whichever host waits."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import threading
from collections.abc import Callable, Sequence

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.logs import CLOUD_LOG_PACE, LOCAL_LOG_PACE, LogLines, RunLog, stream
from vertex_emulator import machine_clock

MAX_ENTRIES_PER_READ = 5000
"""Further entries are read by the next read, so that the rest of the program never waits for long."""

_LOOP_TURNS = 20
_CLOUD_SECONDS_BETWEEN_LOG_READS = 1.5
"""Keeps all streams of a process together below Cloud Logging's limit of 60 reads a minute."""


class LogStream:
    """The log of a job that is streamed from `begin` to `finish`.

    `label` begins each line, and `command` prints the whole log. `show` prints a line, and `mask` removes
    secrets from a message.
    """

    def __init__(
        self, *, label: str, command: str, show: Callable[[str], None], mask: Callable[[str], str]
    ) -> None:
        self._label = label
        self._command = command
        self._show = show
        self._mask = mask
        self._lines = LogLines(label=label, command=command)
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
        timeouts = self._endpoint.timeouts
        if job_ended:
            local = self._endpoint.is_emulator
            self._drain_seconds = timeouts.drain_emulator if local else timeouts.drain_google
        self._finished.set()
        done, _ = await asyncio.wait({self._task}, timeout=self._drain_seconds + timeouts.drain_answer)
        if not done:  # the service does not respond
            self._lines.complete = False
            self._task.cancel()
        # The program sends its lines to the engine in tasks of its own: let them run.
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
            await _READS.acquire()
        entries = await asyncio.to_thread(
            lambda: list(itertools.islice(log.poll(endpoint), MAX_ENTRIES_PER_READ))
        )
        # Before lines are split and cut: a part of a secret is not recognised.
        return [dataclasses.replace(entry, message=self._mask(entry.message)) for entry in entries]


def _see(log: RunLog, endpoint: Endpoint, record: JobRecord, *, from_now: bool) -> None:
    with contextlib.suppress(CloudError):  # the next poll tries it again
        log.see(endpoint, record, from_now=from_now)


class _RateLimit:
    """Lets one caller through at a fixed interval. Safe for threads: each wait may have an event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0
        self._lock = threading.Lock()

    async def acquire(self) -> None:
        with self._lock:
            now = machine_clock.monotonic()
            mine = max(self._next, now)
            self._next = mine + self._seconds
        await asyncio.sleep(mine - now)


_READS = _RateLimit(_CLOUD_SECONDS_BETWEEN_LOG_READS)
