"""`watch`: one job with its replicas, its progress and the end of its log, until it has ended."""

from __future__ import annotations

import argparse
import functools
from dataclasses import dataclass, field
from datetime import datetime, timezone

from pulumi_vertex_training.cli.jobs.commands import reason_of
from pulumi_vertex_training.cli.live import screen, watch_view
from pulumi_vertex_training.cli.live.reading import endpoint_again, seconds_between
from pulumi_vertex_training.cli.live.snapshot import Snapshot, SnapshotReader
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.logs import SERVICE, ShownMessages
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import status as status_view
from vertex_emulator import machine_clock
from vertex_training.command_line.errors import FAILED, CommandError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of

_INTERRUPTED = 130
_PROGRESS_SECONDS = 5.0
"""The least time between two lines about progress alone."""


def watch(options: argparse.Namespace, output: Output) -> int:
    """Run the command `watch`. Return 0 if the job succeeded, 1 if it ended otherwise, 130 before its end."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, job_lookup.wanted_of(options, options.job)).record
    live = screen.is_live(as_json=output.as_json)
    again, seconds = endpoint_again(options, endpoint), seconds_between(options, endpoint)
    read = SnapshotReader(again, record, recent=watch_view.RECENT if live else None)
    if live:
        return _on_screen(endpoint, read, seconds, output, times=options.times)
    lines = _Lines(output=output, tasks=status_view.tasks(endpoint, record), times=options.times)
    return _in_lines(endpoint, read, lines, seconds)


def _on_screen(
    endpoint: Endpoint, read: SnapshotReader, seconds: float, output: Output, *, times: bool
) -> int:
    first = read()
    while first.record.state.is_terminal and not first.is_last:
        first = read()
    frame, ended = screen.Frame(value=first), first.is_last
    if not ended:
        reader = screen.Reader(read, first=first, seconds=seconds, done=lambda one: one.is_last)
        frame, ended = screen.show(reader, functools.partial(watch_view.draw, times=times))
    watch_view.print_last(frame, times=times)
    record = frame.value.record
    if not ended and not record.state.is_terminal:
        output.note(
            f"Job {record.job_id} is still {record.state.word}. Watch it again: "
            f"vertex-training watch {of_job(endpoint, record.name)}"
        )
        return _INTERRUPTED
    return _end(endpoint, record, output)


def _in_lines(endpoint: Endpoint, read: SnapshotReader, lines: _Lines, seconds: float) -> int:
    """Print each change until the job has ended. Read a service that is down again for a while."""
    outage = endpoint.timeouts.outage
    silent_since: float | None = None
    while True:
        try:
            snapshot = read()
        except (CloudError, CommandError) as error:
            now = machine_clock.monotonic()
            silent_since = silent_since if silent_since is not None else now
            if not lines.shown or not screen.passes(error) or now - silent_since >= outage:
                raise
        else:
            silent_since = None
            lines.show(snapshot)
            if snapshot.is_last:
                return _end(endpoint, snapshot.record, lines.output)
        machine_clock.sleep(seconds)


@dataclass(kw_only=True)
class _Lines:
    """The lines of a watch in a pipe: the state when it changes, and the whole log.

    `tasks` are the names of the replicas in the log. `shown` is true after the first line.
    """

    output: Output
    tasks: list[str]
    times: bool = False
    shown: bool = False
    _milestones: object = None
    _words: str = ""
    _words_at: float = 0.0
    _numbers: dict[str, int] = field(default_factory=dict)
    _messages: ShownMessages = field(default_factory=lambda: ShownMessages(is_brief=True))

    def show(self, snapshot: Snapshot) -> None:
        """Print what changed since the snapshot before."""
        now = machine_clock.monotonic()
        changed = snapshot.milestones != self._milestones
        old = now - self._words_at >= _PROGRESS_SECONDS
        if changed or snapshot.is_last or (old and snapshot.words != self._words):
            self._milestones, self._words, self._words_at = snapshot.milestones, snapshot.words, now
            if self.output.as_json:
                kind = "end" if snapshot.is_last else "state"
                self.output.document_line({"type": kind, **snapshot.document()})
            elif not snapshot.is_last:
                self.output.line(f"==> {snapshot.words}")
        for entry in snapshot.new:
            if self.output.as_json:
                self.output.document_line({"type": "log", **json_of(entry)})
            elif (message := self._messages.of(entry)) is not None:
                self._log_line(entry, message)
        self.shown = True

    def _log_line(self, entry: LogEntry, message: str) -> None:
        self._numbers = self._numbers or {one: number for number, one in enumerate(self.tasks)}
        task = entry.task or SERVICE
        self.output.log_line(
            task=task,
            severity=entry.severity,
            message=message,
            width=max(map(len, self.tasks)),
            number=self._numbers.setdefault(task, len(self._numbers)),
            time=status_view.time_of_day(entry.timestamp) if self.times else "",
        )


def _end(endpoint: Endpoint, record: JobRecord, output: Output) -> int:
    """Print how the job ended. Return the exit code."""
    if not output.as_json:
        ran = status_view.duration(record, datetime.now(timezone.utc))
        output.line(
            f"Job {record.job_id} ({record.display_name}): {record.state.word}"
            f"{f' after {ran}' if ran else ''}.{reason_of(endpoint, record)}"
        )
    return 0 if record.state is JobState.JOB_STATE_SUCCEEDED else FAILED
