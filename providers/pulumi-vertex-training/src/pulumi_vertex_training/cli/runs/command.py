"""`runs`: list the runs of a resource with their reasons, states, metrics and models."""

from __future__ import annotations

import argparse
import functools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.costs import words
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.identity import REASON_LABEL, RUN_LABEL
from pulumi_vertex_training.runs.lineage.lineage import Lineage
from pulumi_vertex_training.runs.monitoring import live_jobs
from pulumi_vertex_training.runs.policies.rerun import words_of
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import status as status_view
from pulumi_vertex_training.views.jobs.resources import History
from pulumi_vertex_training.views.jobs.rungs import rung_in_words
from pulumi_vertex_training.views.lineage import lineage_of
from pulumi_vertex_training.views.metrics import metrics
from pulumi_vertex_training.views.runs import comparison, history, spending
from pulumi_vertex_training.views.runs.history import Result, changes_since, result_of
from pulumi_vertex_training.views.runs.metric_rows import is_plain, metric_text
from pulumi_vertex_training.views.runs.resumes import Resume, resumes_of
from pulumi_vertex_training.views.runs.resumes import document as document_of_resumes
from pulumi_vertex_training.views.study_view import why_ended
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output
from vertex_training.cost.runs import Spent
from vertex_training.fields.document import json_of

_HEADINGS = ("RUN", "CREATED", "STATE", "RAN FOR", "COST")
_GAP = 2


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run with its number, its results, the changes of its spec since the run before, and its cost."""

    number: str
    record: JobRecord
    result: Result
    changes: tuple[str, ...] = ()
    spent: Spent | None = None
    resumes: tuple[Resume, ...] = ()
    lineage: Lineage | None = None

    @property
    def code(self) -> str:
        return str(self.record.labels.get(REASON_LABEL, ""))

    @property
    def why(self) -> str:
        """The reason in words, with the changes if the spec changed; "" if it is not known."""
        said = words_of(self.code)
        if self.code == "spec" and self.changes:
            said += f": {'; '.join(self.changes)}"
        return said

    def logs(self, endpoint: Endpoint) -> str:
        """Return the command that prints the logs."""
        return f"vertex-training logs {of_job(endpoint, self.record.name)}"


@dataclass(frozen=True, kw_only=True)
class Runs(Answer):
    """The runs of a resource, newest first; with a `comparison`, people see only that.

    `now` is the service's time.
    """

    endpoint: Endpoint
    found: History
    runs: Sequence[Run]
    now: datetime
    comparison: comparison.Comparison | None = None

    def document(self) -> dict[str, Any]:
        resource = self.found.resource
        return {
            "endpoint": job_lookup.endpoint_json(self.endpoint),
            "resource": {
                **json_of(resource, "name kind is_schedule"),
                "project": resource.project or None,
                "stack": resource.stack or None,
            },
            "runs": [
                {
                    **job_lookup.summary(run.record),
                    **json_of(run.result, "metrics model_directory model"),
                    "run": run.number,
                    "key": run.record.labels[RUN_LABEL],
                    "reason": run.code or None,
                    "why": run.why or None,
                    "changes": list(run.changes),
                    "rung": rung_in_words(run.record) or None,
                    "duration": status_view.clock_duration(run.record, self.now),
                    "cost": spending.document(run.spent),
                    "resumes": document_of_resumes(run.resumes),
                    "lineage": json_of(run.lineage),
                    "logs": run.logs(self.endpoint),
                }
                for run in self.runs
            ],
            "cost": spending.document(self.cost),
            **({"comparison": comparison.document(self.comparison)} if self.comparison else {}),
        }

    @property
    def cost(self) -> Spent | None:
        """The cost of all runs."""
        return spending.sum_of(run.spent for run in self.runs)

    def show(self, output: Output) -> None:
        output.paragraph(f"{self.found.resource} ({self.endpoint})")
        output.gap()
        if self.comparison is not None:
            comparison.show(self.comparison, output)
            return
        _show_table(self.runs, self.now, output)
        if self.cost is not None:
            output.gap()
            prices = spending.at_prices(self.endpoint)
            output.paragraph(f"Cost of these runs{prices}: {words.spent(self.cost)}.")
            spending.show_gaps(self.cost, output)
        for run in self.runs:
            output.gap()
            output.paragraph(f"Run {run.number}" + (f": {run.why}" if run.why else ""), style="bold")
            facts = [
                ("rung", rung_in_words(run.record)),
                ("error", why_ended(run.record)),
                *(("resumed", one.words) for one in run.resumes),
                ("files", run.result.model_directory or ""),
                ("model", run.result.model or ""),
                ("logs", run.logs(self.endpoint)),
            ]
            output.pairs([(name, value) for name, value in facts if value])
        if self.found.declarations > 1:
            output.note(
                f"These are runs of {self.found.declarations} declarations: the resource was destroyed and "
                "declared again, or stacks of two backends have the same names."
            )


def list_runs(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `runs`. Raises InputError, also for a run to compare that does not exist."""
    if (options.name is None) == (options.by is None):
        raise InputError("Give either the NAME of a resource, or --by LABEL for all jobs.", path="NAME")
    endpoint = target.resolve(target.of_options(options))
    if options.by is not None:
        return spending.by_label(endpoint, options.by)
    found = history.find(endpoint, job_lookup.wanted_of(options, options.name, path="NAME"))
    runs, now = _runs(endpoint, found), live_jobs.now(endpoint, found.records)
    compared = None
    if options.compare is not None:
        chosen = comparison.choose([_side(run, now) for run in runs], options.compare)
        compared = comparison.compare(call_each(functools.partial(_with_curves, endpoint), chosen))
    return Runs(endpoint=endpoint, found=found, runs=runs, now=now, comparison=compared)


def _side(run: Run, now: datetime) -> comparison.Side:
    facts = {
        "created": status_view.moment(run.record.create_time),
        "state": run.record.state.word,
        "ran for": status_view.duration(run.record, now),
        "cost": words.spent(run.spent),
        "reason": words_of(run.code),
    }
    return comparison.Side(
        number=run.number, record=run.record, metrics=run.result.metrics, curves={}, facts=facts
    )


def _with_curves(endpoint: Endpoint, side: comparison.Side) -> comparison.Side:
    return replace(side, curves=metrics.by_name(metrics.read(endpoint, side.record).curves))


def _runs(endpoint: Endpoint, found: History) -> list[Run]:
    """Return the runs, newest first, with their results, which are read in parallel."""
    numbers = found.numbers()
    results = call_each(lambda record: result_of(endpoint, record), found.records)
    lineages = call_each(lambda record: lineage_of(endpoint, record), found.records)
    costs = spending.costs_of(endpoint, found.records)
    resumed = resumes_of(endpoint, found.records)
    older: Sequence[JobRecord | None] = (*found.records[1:], None)
    return [
        Run(
            number=numbers[record.name],
            record=record,
            result=result,
            changes=changes_since(before, record) if before else (),
            spent=spent,
            resumes=resumed.get(record.name, ()),
            lineage=lineage,
        )
        for record, result, lineage, before, spent in zip(
            found.records, results, lineages, older, costs, strict=True
        )
    ]


def _show_table(runs: Sequence[Run], now: datetime, output: Output) -> None:
    rows = [
        [run.number, status_view.moment(run.record.create_time), run.record.state.word,
         status_view.duration(run.record, now), words.spent(run.spent)]
        for run in runs
    ]  # fmt: skip
    columns = _metric_columns([run.result.metrics for run in runs])
    shown = columns if not output.terminal else _that_fit(columns, rows)
    table = [[*row, *(cells[position] for _, cells in shown)] for position, row in enumerate(rows)]
    output.table([*_HEADINGS, *(name for name, _ in shown)], table)
    if left := [name for name, _ in columns[len(shown) :]]:
        noun = "metric" if len(left) == 1 else "metrics"
        output.note(f"{len(left)} more {noun}: {', '.join(left)}; --json has all of them.")


def _metric_columns(each: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return name and cells of each metric that is a number or a text, in the order of their first use."""
    plain = (name for values in each for name, value in values.items() if is_plain(value))
    return [(name, [metric_text(values.get(name)) for values in each]) for name in dict.fromkeys(plain)]


def _that_fit(
    columns: Sequence[tuple[str, list[str]]], rows: Sequence[Sequence[str]]
) -> list[tuple[str, list[str]]]:
    """Return the first columns that fit on the terminal next to the rows."""
    used = sum(max(map(len, cells)) + _GAP for cells in zip(_HEADINGS, *rows, strict=True))
    fitting = []
    for name, cells in columns:
        used += max(len(name), *map(len, cells)) + _GAP
        if used > shutil.get_terminal_size().columns:
            break
        fitting.append((name, cells))
    return fitting
