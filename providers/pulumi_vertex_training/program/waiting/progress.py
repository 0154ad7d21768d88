"""Progress of a job on the row of its resource, while a deployment waits for the job.

A row has little space on a terminal: about 28 characters of 100 columns are left for it. So the line is
short, with the important first: `running 4/4 45% 2m05s, 3m10s left, loss 0.25`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from datetime import datetime, timezone

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.running.declaration import Counts, JobResourceType
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments.run_options import WaitPolicy
from pulumi_vertex_training.program.shell_command import job_command
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.runs.progress import Report, duration, latest_report, metrics_in_words
from vertex_training.fields import timestamps

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
        self._began = time.monotonic()
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
            self._shown, self._shown_at, self._trouble = now, time.monotonic(), ""
            messages.info(line(record, counts, report), self._resource, ephemeral=True)
        due = self._policy.cancels or time.monotonic() - self._began > ANNOUNCE_SECONDS
        if due and not self._announced and not record.state.is_terminal:
            self._announced = True
            words = announcement(self._declared.noun, record.job_id, self._policy)
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
        now = time.monotonic()
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
        now = time.monotonic()
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


def announcement(noun: str, job_id: str, policy: WaitPolicy) -> str:
    """Return the effect of Ctrl-C. It is shown before: the engine may kill the program right after Ctrl-C."""
    if policy.cancels:
        return f"Ctrl-C cancels it (on_interrupt): {noun} {job_id}"
    return (
        f"Ctrl-C leaves it running: `pulumi up` joins it again, `{job_command('cancel', job_id)}` stops "
        f"{noun} {job_id}"
    )
