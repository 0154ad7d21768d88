"""Wait for a job in the call that submits it.

A deployment that waits for a job which has ended without success fails: the one that submitted it and every
later one, until the job runs again with success, `wait` is `none`, or it is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.running.outcome import recorded_outcome
from pulumi_vertex_training.core.running.output import wait_words
from pulumi_vertex_training.core.running.output.latest_reports import LatestReports
from pulumi_vertex_training.core.running.output.log_stream import LogStream
from pulumi_vertex_training.core.running.output.progress_line import line
from pulumi_vertex_training.core.running.output.rows_below import RowsBelow
from pulumi_vertex_training.core.running.provider import facts
from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.core.state.hidden_input import RESULTS
from pulumi_vertex_training.package.waits.waiting import Interrupted, Link, Wait, Waited
from pulumi_vertex_training.printed_commands import own_command
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.monitoring.progress import Report
from pulumi_vertex_training.runs.monitoring.replica_reports import Straggler
from pulumi_vertex_training.runs.monitoring.waits import NOT_STARTED, wait_of
from pulumi_vertex_training.runs.policies.run_status import ENDED, LastRun, LookupResult, last_run
from vertex_emulator import LauncherError, machine_clock

_SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True, kw_only=True)
class WaitOptions:
    """How a deployment waits for a job. It is no part of the job: a change runs nothing again."""

    wait: Literal["none", "running", "done"] = "running"
    """Event that a deployment waits for: `none`, `running` or `done`. A deployment that waits for a job which
    has ended without success fails, until the job runs again with success.
    """
    wait_timeout: float = 24 * 3600.0
    """Longest wait in seconds. After it the deployment continues with a warning."""
    on_interrupt: Literal["leave", "cancel"] = "leave"
    """Treatment of the job if the deployment is interrupted while it waits: `leave` or `cancel`."""
    stream_logs: bool = False
    """Show the job's log in the output of a deployment that waits for it. Replicas may print secrets."""

    @property
    def waits(self) -> bool:
        return self.wait != "none"


_LARGE = "trials"
"""The result that no state keeps: `getHyperparameterTuningJob` has it."""


def results_of(declared: JobResourceType) -> tuple[str, ...]:
    """Return the outputs of a job that has ended."""
    return (*RESULTS, *(name for name in declared.no_results if name != _LARGE))


@dataclass(frozen=True, kw_only=True)
class JobWait(Wait):
    """A wait for a job. Its outputs are revealed. `joins`: an earlier deployment submitted the job."""

    declared: JobResourceType
    options: WaitOptions
    joins: bool = False

    changed = ("state", "end_time", "error", *RESULTS)

    @property
    def title(self) -> str:
        job = self.id.rpartition("/")[2]
        return f"{self.declared.resource(self.outputs)}: {self.declared.noun} {job}"

    def is_due(self) -> bool:
        if not self.options.waits:
            return False
        state, place = self.outputs.get("state"), target_of(self.outputs)
        recorded = last_run(state, LookupResult.NO_ANSWER)
        if recorded in ENDED:
            return recorded is not LastRun.SUCCEEDED
        found = job_cache_of(self.declared.gateway.collection).record(place, self.id) if place else None
        if isinstance(found, JobRecord):
            return found.state.is_terminal or not self._reached(found)
        return self.options.wait == "done" or _live_state(state) is not JobState.JOB_STATE_RUNNING

    def recorded(self) -> Waited:
        ended = last_run(self.outputs.get("state"), LookupResult.NO_ANSWER)
        if not self.options.waits or ended not in ENDED or ended is LastRun.SUCCEEDED:
            return Waited(outputs=dict(self.outputs))
        reason = self.outputs.get("error") or "the service gives no reason"
        failure = f"{self.title} {ended.name}: {reason}\n{self._again()}"
        return Waited(outputs=dict(self.outputs), failure=failure)

    def refreshed(self) -> Waited:
        waited = self.recorded()
        if (
            last_run(self.outputs.get("state"), LookupResult.NO_ANSWER) not in ENDED
            or "metrics" in self.outputs
        ):
            return waited
        try:
            endpoint = endpoint_of(self.outputs).of(self.id)
            found = self._results(endpoint, self.declared.gateway.get(endpoint, self.id))
        except CloudError:
            return waited  # the service has no record any more
        return replace(waited, outputs={**waited.outputs, **found})

    def run(self) -> Waited:
        if not self.options.waits:
            return Waited(outputs=dict(self.outputs))
        link = Link(self.outputs, self.id)
        row = _Row(self, link)
        try:
            watched = link.watch(
                lambda endpoint: self.declared.gateway.get(endpoint, self.id),
                reached=self._reached,
                timeout=self.options.wait_timeout,
                on_record=row.report,
                wait=self,
                finish=row.finish if self.options.stream_logs else None,
            )
        except Interrupted:
            self.print_line(self._interrupted(link.endpoint))
            return Waited(outputs=dict(self.outputs))
        except NotFound:
            gone = f"{self.title} was deleted while this deployment waited for it. `pulumi up` runs it again"
            return Waited(outputs=dict(self.outputs), failure=gone)
        except (CloudError, LauncherError) as error:
            return Waited(outputs=dict(self.outputs), failure=f"{self.title}: {error}")
        record = watched.record
        ended = self._results(link.endpoint, record) if record.state.is_terminal else {}
        outputs = {**self.outputs, **facts(self.declared, record), **ended}
        logs = f"{own_command(None)} logs {of_job(link.endpoint, self.id)}"
        if record.state.is_terminal and record.state is not JobState.JOB_STATE_SUCCEEDED:
            words, _ = wait_words.failure(
                link.endpoint,
                record,
                title=self.title,
                logs=logs,
                with_lines=not row.log_was_shown,
                mask=SECRETS.masked,
            )
            return Waited(outputs=outputs, failure=f"{words}\n{self._again()}")
        if not record.state.is_terminal:
            if watched.timed_out:
                self.warn(wait_words.timed_out(record, self.options.wait_timeout, logs))
            else:
                self.print_line(f"{record.state.word.lower()}. {wait_words.follow(logs)}")
        return Waited(outputs=outputs)

    def _reached(self, record: JobRecord) -> bool:
        return self.options.wait == "running" and record.state is JobState.JOB_STATE_RUNNING

    def _interrupted(self, endpoint: Endpoint) -> str:
        """Cancel the job if that is declared. Return what became of it, first: rows are short."""
        if self.options.on_interrupt != "cancel":
            stop = f"{own_command(None)} cancel {of_job(endpoint, self.id)} --yes"
            return f"keeps running; interrupted: {wait_words.leaves(stop)}"
        try:
            return f"{wait_words.cancel(self.declared.gateway, endpoint, self.id)} (onInterrupt); interrupted"
        except CloudError as error:
            return f"warning: keeps running; interrupted, and could not be cancelled: {error}"

    def _results(self, endpoint: Endpoint, record: JobRecord) -> dict[str, Any]:
        """Return the outputs of a job that has ended, nothing if they cannot be read."""
        try:
            found = recorded_outcome(endpoint, record, self.declared)
        except CloudError as error:
            self.warn(f"{self.title}: its results cannot be read: {error}")
            return {}
        return {name: found[name] for name in results_of(self.declared)}

    def _again(self) -> str:
        again = self.again(otherwise="set wait: none")
        return f"Deployments fail until the job succeeds (wait: {self.options.wait}). {again}"


class _Row:
    """The row of a job while a deployment waits: a line for each change, every ten seconds, and the log."""

    def __init__(self, wait: JobWait, link: Link) -> None:
        self._wait, self._link = wait, link
        self._reports: LatestReports | None = None
        self._rows = _rows_below(wait)
        self._shown: Any = None
        self._shown_at = 0.0
        self._log: LogStream | None = None

    @property
    def log_was_shown(self) -> bool:
        return self._log is not None and self._log.shown_in_full

    async def report(self, record: JobRecord) -> None:
        if self._wait.options.stream_logs:
            await self._stream(record)
        counts = self._wait.declared.progress(self._link.endpoint, record)
        wait = wait_of(self._link.endpoint, record) if record.state.word in NOT_STARTED else ""
        report, behind = self._report_of(record)
        percent = report.percent if report else None
        now = (record.state, counts, percent, [one.replica for one in behind], wait)
        since = machine_clock.monotonic() - self._shown_at
        if now != self._shown or (since > _SECONDS_BETWEEN_LINES and not record.state.is_terminal):
            self._shown, self._shown_at = now, machine_clock.monotonic()
            self._wait.print_line(line(record, counts, report, behind, wait=wait), passing=True)
        for words in self._reports.new_warnings(self._link.endpoint, record) if self._reports else ():
            self._wait.warn(f"{self._wait.declared.resource(self._wait.outputs)}: {words}")
        if self._rows is not None and not record.state.is_terminal:
            self._rows.note(counts, report)

    def _report_of(self, record: JobRecord) -> tuple[Report | None, Sequence[Straggler]]:
        """Return the latest report of the program, and the replicas that are behind."""
        if record.state.is_terminal:
            return None, ()
        if self._reports is None:
            self._reports = LatestReports(self._wait.declared.spec.directory_of(record.wire))
        return self._reports.latest(self._link.endpoint, record), self._reports.stragglers

    async def finish(self, record: JobRecord) -> None:
        """Show the rest of the log."""
        if self._log is not None:
            await self._log.finish(job_ended=record.state.is_terminal)

    async def _stream(self, record: JobRecord) -> None:
        """Begin to show the log. If an earlier deployment saw the job end, it is not shown again."""
        wait = self._wait
        name = wait.declared.log_of(record)
        if self._log is None and (name is None or (wait.joins and record.state.is_terminal)):
            return
        self._log = self._log or LogStream(
            label=wait.declared.resource(wait.outputs),
            command=f"{own_command(None)} logs {of_job(self._link.endpoint, name or wait.id)}",
            show=wait.print_line,
            mask=SECRETS.masked,
        )
        await self._log.begin(self._link.endpoint, record, joins=wait.joins)


def _rows_below(wait: JobWait) -> RowsBelow | None:
    """Return the rows below the table for a job, None if the engine draws no table."""
    command = engine_command.of_this_process(OPERATION.settings.timeouts)
    if command is None or not command.draws_table:
        return None

    def show(urn: str, info: str) -> None:
        OPERATION.print_on(urn, info, passing=True)

    jobs = OPERATION.part(_jobs_with_rows)
    return RowsBelow(wait.urn, show, cancels=wait.options.on_interrupt == "cancel", jobs=jobs)


def _jobs_with_rows() -> set[str]:
    return set()


def _live_state(recorded: object) -> JobState | None:
    word = str(recorded).rpartition("STATE_")[2]
    return next((state for state in JobState if state.word == word), None)
