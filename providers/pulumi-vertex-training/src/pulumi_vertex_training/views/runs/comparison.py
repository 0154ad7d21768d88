"""Runs of one resource side by side: their facts and metrics, and the differences of their specs in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.views.curve import Point
from pulumi_vertex_training.views.runs.argument_values import ArgumentRow, differing
from pulumi_vertex_training.views.runs.history import changes_since
from pulumi_vertex_training.views.runs.metric_rows import Metric, difference, metrics_of, rows_of
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output
from vertex_training.fields import timestamps
from vertex_training.findings.words import did_you_mean

_LISTED = 8


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the runs: its number, its job, its metrics, and other facts by their names.

    `metrics` are its results, and `curves` the points of what it has reported, by name.
    """

    number: str
    record: JobRecord
    metrics: Mapping[str, Any]
    curves: Mapping[str, Sequence[Point]]
    facts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs in the order of the comparison; the first is the base.

    `changes` has an entry for each other run; `other_changes` lacks the changes of arguments.
    """

    runs: tuple[Side, ...]
    changes: tuple[tuple[str, ...], ...]
    other_changes: tuple[tuple[str, ...], ...]

    @property
    def arguments(self) -> tuple[ArgumentRow, ...]:
        """The arguments that differ."""
        return differing([run.record for run in self.runs])

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of all runs, in the order of their first use."""
        return metrics_of([run.metrics for run in self.runs], [run.curves for run in self.runs])


def choose(runs: Sequence[Side], chosen: Sequence[str]) -> list[Side]:
    """Return the runs to compare, of runs with the newest first. Raises InputError.

    Without a choice these are the last two, the older one first. One run is compared with the newest one, and
    the newest with the one before.
    """
    if len(runs) < 2:
        raise InputError(
            f"There is only one run, {runs[0].number}, so there is nothing to compare.", path="--compare"
        )
    picked = [_named(runs, text) for text in chosen]
    repeated = [run.number for position, run in enumerate(picked) if run in picked[:position]]
    if repeated:
        raise InputError(f"Run {repeated[0]} is named twice. Name each run once.", path="--compare")
    if len(picked) > 1:
        return picked
    if not picked or picked[0] is runs[0]:
        return [runs[1], runs[0]]
    return [picked[0], runs[0]]


def compare(runs: Sequence[Side]) -> Comparison:
    """Compare the runs with the first of them."""
    base = runs[0].record
    return Comparison(
        runs=tuple(runs),
        changes=tuple(changes_since(base, run.record) for run in runs[1:]),
        other_changes=tuple(changes_since(base, run.record, arguments=False) for run in runs[1:]),
    )


def _named(runs: Sequence[Side], text: str) -> Side:
    """Return a run by its number, also after the resource's name and a slash, or by its job's id or name."""
    for run in runs:
        if text in (run.number, run.record.job_id, run.record.name):
            return run
    number = text.rpartition("/")[2]
    for run in runs:
        if number == run.number:
            return run
    known = [run.number for run in runs]
    listed = ", ".join(known[:_LISTED]) + (
        f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    )
    hint = did_you_mean(text, [*known, *(run.record.job_id for run in runs)])
    raise InputError(f"There is no run {text!r}.{hint} Runs: {listed}.", path="--compare")


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON, see docs/reference/json.md."""
    base = comparison.runs[0]
    return {
        "base": base.number,
        "runs": [
            {
                "run": run.number,
                "changes": list(changes),
                "secondsMore": difference(_seconds(base), _seconds(run)),
                "metricsMore": {
                    metric.name: difference(metric.last[0], metric.last[position])
                    for metric in comparison.metrics
                },
            }
            for position, (run, changes) in enumerate(
                zip(comparison.runs[1:], comparison.changes, strict=True), start=1
            )
        ],
        "arguments": [
            {"flag": row.flag, "pools": list(row.pools), "values": list(row.values)}
            for row in comparison.arguments
        ],
        "metrics": [
            {
                "name": metric.name,
                "better": metric.better,
                "last": list(metric.last),
                "best": [None if best is None else best[1] for best in metric.best],
                "bestStep": [None if best is None else best[0] for best in metric.best],
            }
            for metric in comparison.metrics
        ],
    }


def show(comparison: Comparison, output: Output) -> None:
    """Print a table with a column for each run, then the other changes of the specs."""
    runs = comparison.runs
    rows = [[row.name, *row.cells] for row in comparison.arguments]
    metrics = rows_of(comparison.metrics)
    for row in metrics:
        rows.append(
            [row.name, *(f"{cell} *" if row.winner == n else cell for n, cell in enumerate(row.cells))]
        )
    for name in dict.fromkeys(name for run in runs for name in run.facts):
        values = [run.facts.get(name, "") for run in runs]
        if any(values):
            rows.append([name, *values])
    output.table(["RUN", *(run.number for run in runs)], rows)
    if any(row.winner is not None for row in metrics):
        output.gap()
        output.paragraph("* the best of these runs, by the name of the metric", style="dim")
    for run, changes in zip(runs[1:], comparison.other_changes, strict=True):
        if changes or not comparison.arguments:
            output.gap()
            output.paragraph(f"Run {run.number}, compared with run {runs[0].number}", style="bold")
            for change in changes or ("the same declaration",):
                output.paragraph(change, indent=2)


def _seconds(run: Side) -> float | None:
    """Return the seconds from start to end of a run, None before its end."""
    start, end = run.record.start_time, run.record.end_time
    if not start or not end:
        return None
    return (timestamps.parse(end) - timestamps.parse(start)).total_seconds()
