"""Runs of one resource side by side: their facts and metrics, and the differences of their specs in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.failure import InputError
from pulumi_vertex_training.views.output import Output
from pulumi_vertex_training.views.runs.history import changes_since
from vertex_training.fields import timestamps
from vertex_training.findings.words import did_you_mean

_LISTED = 8


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the runs: its number, its job, its metrics, and other facts by their names."""

    number: str
    record: JobRecord
    metrics: Mapping[str, Any]
    facts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs in the order of the comparison; the first is the base. `changes` has an entry for each other."""

    runs: tuple[Side, ...]
    changes: tuple[tuple[str, ...], ...]

    @property
    def metrics(self) -> dict[str, tuple[object, ...]]:
        """The metrics of all runs by name, None for a run without it, in the order of their first use."""
        names = dict.fromkeys(name for run in self.runs for name in run.metrics)
        return {name: tuple(run.metrics.get(name) for run in self.runs) for name in names}


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
    base = runs[0]
    return Comparison(
        runs=tuple(runs), changes=tuple(changes_since(base.record, run.record) for run in runs[1:])
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
                "secondsMore": _difference(_seconds(base), _seconds(run)),
                "metricsMore": {
                    name: _difference(values[0], values[position])
                    for name, values in comparison.metrics.items()
                },
            }
            for position, (run, changes) in enumerate(
                zip(comparison.runs[1:], comparison.changes, strict=True), start=1
            )
        ],
    }


def metric_rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Return name and cells of each metric that is a number or a text, with the differences to the base."""
    return [
        (name, [metric_text(each[0]), *(_with_difference(each[0], value) for value in each[1:])])
        for name, each in comparison.metrics.items()
        if any(is_plain(value) for value in each)
    ]


def show(comparison: Comparison, output: Output) -> None:
    """Print a table with a column for each run, then the changes of the specs."""
    runs = comparison.runs
    rows = []
    for name in dict.fromkeys(name for run in runs for name in run.facts):
        values = [run.facts.get(name, "") for run in runs]
        if any(values):
            rows.append([name, *values])
    rows += [[name, *cells] for name, cells in metric_rows(comparison)]
    output.table(["RUN", *(run.number for run in runs)], rows)
    for run, changes in zip(runs[1:], comparison.changes, strict=True):
        output.line()
        output.paragraph(f"Run {run.number}, compared with run {runs[0].number}", style="bold")
        for change in changes or ("the same declaration",):
            output.paragraph(change, indent=2)


def _seconds(run: Side) -> float | None:
    """Return the seconds from start to end of a run, None before its end."""
    start, end = run.record.start_time, run.record.end_time
    if not start or not end:
        return None
    return (timestamps.parse(end) - timestamps.parse(start)).total_seconds()


def _difference(old: object, new: object) -> float | None:
    """Return the difference of two numbers, rounded to what doubles can show; None for anything else."""
    if isinstance(old, bool) or isinstance(new, bool):
        return None
    if not isinstance(old, (int, float)) or not isinstance(new, (int, float)):
        return None
    try:
        difference = float(new) - float(old)
    except OverflowError:  # JSON has whole numbers of any size
        return None
    return float(f"{difference:.12g}") if math.isfinite(difference) else None


def _with_difference(old: object, new: object) -> str:
    difference = _difference(old, new)
    if not difference:
        return metric_text(new)
    return f"{metric_text(new)} ({difference:+.4g})"


def is_plain(value: object) -> bool:
    """Return whether a metric is a number or a text, which a table can show."""
    return isinstance(value, (bool, int, float, str))


def metric_text(value: object) -> str:
    """Return a metric as a cell, "" for one that is not a number or text."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if is_plain(value) else ""
