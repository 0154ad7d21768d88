"""Progress of a job on the row of its resource, and its log in the output, while a deployment waits.

A row has little space on a terminal: about 28 characters of 100 columns are left for it. So the line is
short, with the important first: `running 4/4 45% 2m05s, 3m10s left, loss 0.25`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import itertools
import threading
from collections.abc import Sequence
from datetime import datetime, timezone

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.core.running.declaration import Counts, JobResourceType
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments.run_options import WaitPolicy
from pulumi_vertex_training.program.links import cancel_command, job_command
from pulumi_vertex_training.program.messages import masked
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.runs.logs import CLOUD_LOG_PACE, LOCAL_LOG_PACE, LogLines, RunLog, stream
from pulumi_vertex_training.runs.progress import Report, duration, latest_report, metrics_in_words
from vertex_emulator.kernel import machine_clock
from vertex_training.fields import timestamps
from vertex_training.fields.resource_names import resource_id

ANNOUNCE_SECONDS = 3.0
"""Delay before the effect of Ctrl-C is announced. If it cancels the job, there is no delay."""

_SECONDS_BETWEEN_LINES = 29.0
_SECONDS_BETWEEN_FIRST_LINES = 10.0
_FIRST_LINES_SECONDS = 60.0
_CLOUD_SECONDS_BETWEEN_LINES = 5.0
"""On Google Cloud the pace of the wait keeps two lines apart; the next poll may be 29 seconds away."""

_LOCAL_SECONDS_BETWEEN_READS, _CLOUD_SECONDS_BETWEEN_READS = 1.0, 15.0


class Progress:
    """Progress of a job: a line on its row for each change, and for the time that passes."""

    def __init__(
        self,
        resource: pulumi.Resource,
        policy: WaitPolicy,
        declared: JobResourceType,
        base_output_directory: str | None = None,
    ) -> None:
        """Begin with nothing shown. The program may report how far it is in the directory of its run."""
        self._resource = resource
        self._policy = policy
        self._declared = declared
        self._reports = _Reports(base_output_directory)
        self._shown: object = None
        self._shown_at = 0.0
        self._trouble = ""
        self._began = machine_clock.monotonic()
        self._announced = not policy.waits

    @property
    def saw_it(self) -> bool:
        """True once the job has been found."""
        return self._shown is not None

    async def show(self, endpoint: Endpoint, record: JobRecord) -> None:
        """Show the progress if it changed, if the last line is old, or if an error is on the row."""
        # The engine's log needs the program's own thread, so only the query runs in another one.
        counts = await asyncio.to_thread(self._declared.progress, endpoint, record)
        waits = self._policy.waits and not record.state.is_terminal
        report = self._reports.latest(endpoint) if waits else None
        percent = report.percent if report else None
        now = (record.state, counts, percent)
        if now != self._shown or self._trouble or (waits and self._is_old(endpoint)):
            self._shown, self._shown_at, self._trouble = now, machine_clock.monotonic(), ""
            messages.info(line(record, counts, report), self._resource, ephemeral=True)
        due = self._policy.cancels or machine_clock.monotonic() - self._began > ANNOUNCE_SECONDS
        if due and not self._announced and not record.state.is_terminal:
            self._announced = True
            words = announcement(self._declared.noun, record.name, self._policy)
            # On the stack's row, because the job's row changes. After Ctrl-C it is printed to stay.
            messages.info(words, None, ephemeral=True)
            interruption.announce(self, words)

    def trouble(self, error: CloudError) -> None:
        """Show an error of the service, once while it stays the same."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            messages.info(f"retrying: {error}", self._resource, ephemeral=True)

    def end(self) -> None:
        """Forget what Ctrl-C would do: the wait is over."""
        interruption.withdraw(self)

    def _is_old(self, endpoint: Endpoint) -> bool:
        now = machine_clock.monotonic()
        if not endpoint.is_emulator:
            most = _CLOUD_SECONDS_BETWEEN_LINES
        elif now - self._began < _FIRST_LINES_SECONDS:
            most = _SECONDS_BETWEEN_FIRST_LINES
        else:
            most = _SECONDS_BETWEEN_LINES
        return now - self._shown_at >= most


class _Reports:
    """The latest report of a run, read in a thread that nothing waits for. Errors are passed over."""

    def __init__(self, base_output_directory: str | None) -> None:
        self._directory = base_output_directory
        self._latest: Report | None = None
        self._thread: threading.Thread | None = None
        self._due = 0.0

    def latest(self, endpoint: Endpoint) -> Report | None:
        """Return what was read last. Begin to read again if that is due."""
        now = machine_clock.monotonic()
        reads = self._thread is not None and self._thread.is_alive()
        if self._directory and now >= self._due and not reads:
            local = endpoint.is_emulator
            self._due = now + (_LOCAL_SECONDS_BETWEEN_READS if local else _CLOUD_SECONDS_BETWEEN_READS)
            # A daemon: a read without an answer must not hold up the end of the program.
            self._thread = threading.Thread(target=self._read, args=(endpoint,), daemon=True)
            self._thread.start()
        return self._latest

    def _read(self, endpoint: Endpoint) -> None:
        with contextlib.suppress(CloudError):
            self._latest = latest_report(endpoint, self._directory) or self._latest


def line(record: JobRecord, counts: Counts, report: Report | None) -> str:
    """Return the row of a job, such as `running 4/4 45% 2m05s, 3m10s left, worker 2/2 done, loss 0.25`."""
    state = record.state.word.lower()
    if record.state.is_terminal:
        return state
    head = [state, counts.short]
    if report and report.percent is not None:
        head.append(f"{report.percent}%")
    if record.start_time and not record.end_time:
        since = datetime.now(timezone.utc) - timestamps.parse(record.start_time)
        head.append(duration(since.total_seconds()))
    parts = [" ".join(filter(None, head))]
    if report and report.percent is None and report.step is not None:
        parts.append(f"step {report.step:g}")
    if report and report.seconds_left:
        parts.append(f"{duration(report.seconds_left)} left")
    parts += [counts.details, metrics_in_words(report) if report else ""]
    return ", ".join(filter(None, parts))


def announcement(noun: str, name: str, policy: WaitPolicy) -> str:
    """Return the effect of Ctrl-C, and how to follow the job meanwhile.

    It is shown before: the engine may kill the program right after Ctrl-C.
    """
    job = f"{noun} {resource_id(name)}"
    log = "" if policy.stream_logs else f", `{job_command('logs', name)} --follow` shows its log"
    if policy.cancels:
        return f"Ctrl-C cancels it (on_interrupt): {job}{log}"
    cancel = cancel_command(name)
    return f"Ctrl-C leaves it running: `pulumi up` joins it again, `{cancel}` stops {job}{log}"


def how_to_follow(name: str) -> str:
    """Return the sentence about a job that this deployment leaves in training."""
    return f"To follow its log, run `{job_command('logs', name)} --follow`."


MAX_ENTRIES_PER_READ = 5000
"""Further entries are read by the next read, so that the rest of the program never waits for long."""

_LOOP_TURNS = 20
_CLOUD_SECONDS_BETWEEN_LOG_READS = 1.5
"""Keeps all streams of a program together below Cloud Logging's limit of 60 reads a minute."""


class LogStream:
    """The log of a job, by its full name, that is streamed from `begin` to `finish`."""

    def __init__(self, resource: pulumi.Resource, label: str, job: str) -> None:
        self._resource = resource
        self._label = label
        self._job_id = resource_id(job)
        self._command = job_command("logs", job)
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
        timeouts = self._endpoint.timeouts
        if job_ended:
            local = self._endpoint.is_emulator
            self._drain_seconds = timeouts.drain_emulator if local else timeouts.drain_google
        self._finished.set()
        done, _ = await asyncio.wait({self._task}, timeout=self._drain_seconds + timeouts.drain_answer)
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
        messages.log_line(line, self._resource)


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
    return _RateLimit(_CLOUD_SECONDS_BETWEEN_LOG_READS)
