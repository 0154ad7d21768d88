"""Progress of a job on the row of its resource, and its log in the output, while a deployment waits."""

from __future__ import annotations

import asyncio
import contextlib
import functools

import grpc
import pulumi
from pulumi.runtime import settings
from pulumi.runtime.proto import engine_pb2

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.running.output import wait_words
from pulumi_vertex_training.core.running.output.latest_reports import LatestReports
from pulumi_vertex_training.core.running.output.log_stream import LogStream
from pulumi_vertex_training.core.running.output.progress_line import line
from pulumi_vertex_training.core.running.output.rows_below import ANNOUNCE_SECONDS, RowsBelow
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments.run_options import WaitPolicy
from pulumi_vertex_training.program.links import cancel_command, job_command
from pulumi_vertex_training.program.messages import masked
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.runs.monitoring.waits import NOT_STARTED, wait_of
from vertex_emulator import machine_clock
from vertex_training.fields.resource_names import resource_id

_WITH_ROWS: set[str] = set()
"""The jobs of this program that have rows below the table."""

_SECONDS_BETWEEN_LINES = 29.0
_SECONDS_BETWEEN_FIRST_LINES = 10.0
_FIRST_LINES_SECONDS = 60.0
_CLOUD_SECONDS_BETWEEN_LINES = 5.0
"""On Google Cloud the pace of the wait keeps two lines apart; the next poll may be 29 seconds away."""


class Progress:
    """Progress of a job: a line on its row for each change, and for the time that passes."""

    def __init__(
        self,
        resource: pulumi.Resource,
        policy: WaitPolicy,
        declared: JobResourceType,
        base_output_directory: str | None = None,
        rows: RowsBelow | None = None,
        *,
        label: str,
    ) -> None:
        """Begin with nothing shown. The program may report how far it is in the directory of its run.

        `rows` are those of the job on a narrow terminal, None without a terminal.
        """
        self._resource = resource
        self._policy = policy
        self._declared = declared
        self._reports = LatestReports(base_output_directory)
        self._rows = rows
        self._label = label
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
        report = self._reports.latest(endpoint, record) if waits else None
        percent = report.percent if report else None
        behind = self._reports.stragglers if waits else ()
        wait = await asyncio.to_thread(wait_of, endpoint, record) if record.state.word in NOT_STARTED else ""
        now = (record.state, counts, percent, [one.replica for one in behind], wait)
        if now != self._shown or self._trouble or (waits and self._is_old(endpoint)):
            self._shown, self._shown_at, self._trouble = now, machine_clock.monotonic(), ""
            messages.info(line(record, counts, report, behind, wait=wait), self._resource, ephemeral=True)
        warnings = functools.partial(self._reports.new_warnings, endpoint, record)
        # Of a job that has ended, the last report is read.
        for words in await asyncio.to_thread(warnings) if record.state.is_terminal else warnings():
            messages.warn(f"{self._label}: {words}", self._resource)
        if waits and self._rows is not None:
            await asyncio.to_thread(self._rows.note, counts, report)
        due = self._policy.cancels or machine_clock.monotonic() - self._began > ANNOUNCE_SECONDS
        if due and not self._announced and not record.state.is_terminal:
            self._announced = True
            words = announcement(self._declared.noun, record.name, self._policy)
            # On the stack's row, because the job's row changes. After Ctrl-C it is printed to stay.
            if self._rows is None:
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


def rows_below(name: str, policy: WaitPolicy) -> RowsBelow | None:
    """Return the rows below the table for the job of a resource, None if the engine draws no table."""
    command = engine_command.of_this_process(stack_settings().timeouts)
    if not policy.waits or command is None or not command.draws_table:
        return None
    job = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::job::{name}"
    return RowsBelow(job, _show_row, cancels=policy.cancels, jobs=_WITH_ROWS)


def _show_row(urn: str, info: str) -> None:
    """Show a line on the row of a URN. `pulumi.log` takes resources only."""
    engine = settings.get_engine()
    if engine is not None:
        with contextlib.suppress(grpc.RpcError):
            engine.Log(engine_pb2.LogRequest(severity=engine_pb2.INFO, message=info, urn=urn, ephemeral=True))


def announcement(noun: str, name: str, policy: WaitPolicy) -> str:
    """Return the effect of Ctrl-C, and how to follow the job meanwhile.

    It is shown before: the engine may kill the program right after Ctrl-C.
    """
    job = f"{noun} {resource_id(name)}"
    log = "" if policy.stream_logs else f", `{job_command('logs', name)} --follow` shows its log"
    if policy.cancels:
        return f"Ctrl-C cancels it (on_interrupt): {job}{log}"
    return f"Ctrl-C leaves it running: {wait_words.leaves(cancel_command(name), job)}{log}"


def log_stream(resource: pulumi.Resource, label: str, job: str) -> LogStream:
    """Return the stream of the log of a job, by its full name, to the rows of a resource."""
    return LogStream(
        label=label,
        command=job_command("logs", job),
        show=lambda line: messages.log_line(line, resource),
        mask=masked,
    )
