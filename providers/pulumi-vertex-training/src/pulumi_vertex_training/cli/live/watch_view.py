"""The view of `watch` on a terminal: head, replicas, and as much of the log's end as there is space for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pulumi_vertex_training.cli.live.bar import bar
from pulumi_vertex_training.cli.live.snapshot import Snapshot, states_in_words
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.runs.diagnosis.plain_text import lines_of
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.logs import SERVICE
from pulumi_vertex_training.runs.monitoring.progress import duration, in_words
from pulumi_vertex_training.views.jobs import status as status_view
from vertex_training.command_line.output import PREFIX_STYLES, STATE_STYLES
from vertex_training.fields import timestamps
from vertex_training.findings.words import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from pulumi_vertex_training.cli.live.screen import Frame

RECENT = 200
"""The log entries that are kept, more than a terminal has lines."""

_LAST_LINES = 12
"""Lines of the log that stay on the terminal after the view."""
_MOST_REPLICAS = 8
"""More replicas are shown as one line for each role, with those that are in trouble below."""
_MOST_IN_TROUBLE = 4
_TROUBLE = frozenset({"restarting", "failed"})
_LEAST_LOG_LINES = 3


def draw(frame: Frame[Snapshot], console: Console, *, times: bool = False) -> RenderableType:
    """Return the view, as high as the terminal."""
    from rich.console import Group
    from rich.text import Text

    snapshot = frame.value
    head = [*_head(snapshot, console), *_replicas(snapshot.replicas or ())]
    if frame.trouble:
        head.append(Text(visible(f"retrying: {frame.trouble}"), "yellow"))
    foot = [Text(""), Text("q ends this view; the job goes on.", "dim")]
    space = max(console.height - len(head) - len(foot) - 1, _LEAST_LOG_LINES)
    lines = [*head, Text(""), *_log(snapshot, space, times=times), *foot]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines[: max(console.height, 1)])


def print_last(frame: Frame[Snapshot], *, times: bool = False) -> None:
    """Print the last view to stay on the terminal, with the last lines of the log."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    snapshot = frame.value
    log = _log(snapshot, _LAST_LINES, times=times)
    for line in (*_head(snapshot, console), *_replicas(snapshot.replicas or ()), Text(""), *log):
        console.print(line, no_wrap=True, overflow="ellipsis")


def _head(snapshot: Snapshot, console: Console) -> Iterator[Text]:
    from rich.text import Text

    record, report = snapshot.record, snapshot.report
    noun = gateway_of(record.name).noun
    yield Text(visible(record.display_name), "bold").append(
        f"  {noun} {visible(record.job_id)}", "not bold dim"
    )
    state = record.state.word
    line = Text(state, STATE_STYLES.get(state, ""))
    since = record.start_time or record.create_time
    if since:
        end = timestamps.parse(record.end_time) if record.end_time else snapshot.now
        seconds = (end - timestamps.parse(since)).total_seconds()
        line.append(f" {'after' if record.state.is_terminal else 'for'} {duration(seconds)}")
    if snapshot.waits_for:
        line.append(f", waits for {visible(snapshot.waits_for)}")
    if snapshot.details:
        line.append(f", {visible(', '.join(snapshot.details))}")
    yield line
    if report is not None:
        words = visible(in_words(report))
        if report.percent is not None:
            yield bar(report.percent, max(min(console.width // 3, 40), 5), console).append(
                f" {words}", "default"
            )
        elif words:
            yield Text(words)


def _replicas(replicas: Sequence[ReplicaState]) -> Iterator[Text]:
    """Yield a line for each replica, or for each role if there are many."""
    from rich.text import Text

    if not replicas:
        return
    yield Text("")
    if len(replicas) <= _MOST_REPLICAS:
        yield from _rows(replicas)
        return
    for role, group in groupby(replicas, key=lambda one: one.role):
        members = list(group)
        yield Text(f"{visible(role)}: {visible(states_in_words(members))}")
    troubled = [one for one in replicas if one.state in _TROUBLE]
    yield from _rows(troubled[:_MOST_IN_TROUBLE])
    if len(troubled) > _MOST_IN_TROUBLE:
        yield Text(f"and {len(troubled) - _MOST_IN_TROUBLE} more of these", "dim")


def _rows(replicas: Sequence[ReplicaState]) -> Iterator[Text]:
    from rich.text import Text

    names = max((len(visible(one.name)) for one in replicas), default=0)
    roles = max((len(visible(one.role)) for one in replicas), default=0)
    for one in replicas:
        line = Text(f"{visible(one.name):<{names}}  {visible(one.role):<{roles}}  ")
        line.append(visible(one.state), STATE_STYLES.get(one.state.upper(), ""))
        if one.exit_code is not None:
            line.append(f", exit code {one.exit_code}")
        if one.attempt > 1:
            line.append(f", attempt {one.attempt}")
        yield line


def _log(snapshot: Snapshot, count: int, *, times: bool) -> list[Text]:
    """Return the last lines of the log, without control sequences of the program.

    The names of replicas are padded, and each has a colour.
    """
    from rich.text import Text

    numbers = {task: number for number, task in enumerate(snapshot.tasks)}
    width = max((len(visible(entry.task or SERVICE)) for entry in snapshot.recent), default=0)
    lines: list[Text] = []
    for entry in reversed(snapshot.recent):
        task = entry.task or SERVICE
        number = numbers.get(task, zlib.crc32(task.encode()))
        time = f"{status_view.time_of_day(entry.timestamp)} " if times else ""
        style = "red" if entry.severity in ("ERROR", "CRITICAL", "ALERT", "EMERGENCY") else ""
        for line in reversed(list(lines_of(entry.message))):
            prefix = Text(f"{time}{visible(task):<{width}} | ", PREFIX_STYLES[number % len(PREFIX_STYLES)])
            lines.append(prefix.append(visible(line), style or "default"))
            if len(lines) >= count:
                return lines[::-1]
    return lines[::-1]
