"""`top`: the live jobs of a project and location, in a table that follows them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cli.live import screen
from pulumi_vertex_training.cli.live.bar import bar
from pulumi_vertex_training.cli.live.overview import Job, Overview, OverviewReader
from pulumi_vertex_training.cli.live.reading import endpoint_again, seconds_between
from pulumi_vertex_training.costs import words
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring.progress import duration
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import stack_filter
from pulumi_vertex_training.views.jobs.stack_filter import StackFilter
from pulumi_vertex_training.views.runs import spending
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.output import STATE_STYLES, Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_HEADINGS = ("NAME", "STACK", "KIND", "STATE", "REPLICAS", "AGE", "COST", "ID", "PROGRESS")
_WIDE = 100
"""From so many columns on, the table has the ids, the kinds, the stacks and bars."""
_LINES_AROUND = 5
"""Lines above and below the rows of the table."""
_FEWEST_ROWS = 1


def top(options: argparse.Namespace, output: Output) -> Answer | None:
    """Run the command `top`: a view on a terminal, else the table or document of this moment."""
    endpoint = target.resolve(target.of_options(options))
    stack = stack_filter.of_options(options)
    read = OverviewReader(endpoint_again(options, endpoint), kind=options.kind, stack=stack)
    first = read()
    if screen.is_live(as_json=output.as_json):
        screen.show(screen.Reader(read, first=first, seconds=seconds_between(options, endpoint)), _draw)
        return None
    return LiveJobs(overview=first, stack=stack)


@dataclass(frozen=True, kw_only=True)
class LiveJobs(Answer):
    """The live jobs of this moment."""

    overview: Overview
    stack: StackFilter | None = None

    def document(self) -> dict[str, Any]:
        overview = self.overview
        return {
            "endpoint": job_lookup.endpoint_json(overview.endpoint),
            "time": overview.time.isoformat().replace("+00:00", "Z"),
            "jobs": [
                {
                    **job.document,
                    "ageSeconds": round(job.age(overview.time)),
                    "cost": spending.document(job.spent),
                    "declaredReplicas": job.declared or None,
                    "replicas": job.replicas and [json_of(one, "name role state") for one in job.replicas],
                }
                for job in overview.jobs
            ],
        }

    def show(self, output: Output) -> None:
        overview, endpoint = self.overview, self.overview.endpoint
        if overview.jobs:
            output.table(_HEADINGS, [_row(overview, job) for job in overview.jobs], optional=("STACK",))
            return
        of_stack = f" of {self.stack}" if self.stack else ""
        output.note(f"No live jobs{of_stack} ({endpoint}).{target.location_hint(endpoint.location)}")


def _row(overview: Overview, job: Job) -> tuple[str, ...]:
    record = job.record
    return (
        record.display_name,
        job.stack,
        gateway_of(record.name).noun,
        record.state.word,
        job.replicas_in_words,
        duration(job.age(overview.time)),
        words.spent(job.spent),
        record.job_id,
        job.details,
    )


def _draw(frame: screen.Frame[Overview], console: Console) -> RenderableType:
    """Return the view, as high as the terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    overview = frame.value
    most = max(console.height - _LINES_AROUND - bool(frame.trouble), _FEWEST_ROWS)
    shown = overview.jobs if len(overview.jobs) <= most else overview.jobs[: most - 1]
    head = Table.grid(expand=True)
    head.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    head.add_column(no_wrap=True, justify="right")
    clock = overview.time.astimezone().strftime("%H:%M:%S")
    head.add_row(Text(visible(f"{overview.summary} ({overview.endpoint})"), "bold"), Text(clock, "dim"))
    parts: list[RenderableType] = [head, Text("")]
    if shown:
        parts.append(_table(overview, shown, console))
    if len(shown) < len(overview.jobs):
        parts.append(Text(f"and {len(overview.jobs) - len(shown)} more", "dim"))
    if frame.trouble:
        parts.append(Text(visible(f"retrying: {frame.trouble}"), "yellow", no_wrap=True, overflow="ellipsis"))
    last = "q ends this view. To follow one job: vertex-training watch NAME"
    parts += [Text(""), Text(last, "dim", no_wrap=True, overflow="ellipsis")]
    return Group(*parts)


def _table(overview: Overview, jobs: Sequence[Job], console: Console) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    wide = console.width >= _WIDE
    stacks = {job.stack for job in jobs}
    left_out = () if wide else ("KIND", "ID")
    if not any(stacks) or (not wide and len(stacks) == 1):
        left_out = (*left_out, "STACK")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=True)
    for heading in _HEADINGS:
        if heading in left_out:
            continue
        flexible = {"NAME": 2, "STACK": 1, "PROGRESS": 3}.get(heading)
        table.add_column(
            heading,
            no_wrap=True,
            overflow="ellipsis",
            ratio=flexible,
            justify="right" if heading in ("AGE", "COST") else "left",
        )
    for job in jobs:
        cells = []
        for heading, text in zip(_HEADINGS, _row(overview, job), strict=True):
            if heading in left_out:
                continue
            style = STATE_STYLES.get(text.upper(), "") if heading == "STATE" else ""
            if heading == "PROGRESS" and wide and job.report and job.report.percent is not None:
                cells.append(bar(job.report.percent, 10, console).append(f" {visible(text)}"))
            else:
                cells.append(Text(visible(text), style))
        table.add_row(*cells, style="dim" if job.record.state.is_terminal else None)
    return table
