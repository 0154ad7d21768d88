"""`runs`: list the runs of a resource with their reasons, states, metrics and models."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli import target
from pulumi_vertex_training.cli.jobs import lookup as job_lookup
from pulumi_vertex_training.cli.jobs import status as status_view
from pulumi_vertex_training.cli.jobs.resources import History
from pulumi_vertex_training.cli.runs import comparison, history, spending
from pulumi_vertex_training.cli.runs.history import Result, changes_since, result_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.costs import words
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.identity import REASON_LABEL, RUN_LABEL
from pulumi_vertex_training.runs.policies.rerun import words_of
from pulumi_vertex_training.views.failure import InputError
from pulumi_vertex_training.views.output import Output
from pulumi_vertex_training.views.study_view import why_failed
from vertex_training.cost.runs import Spent

_AT_ONCE = 8
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


def list_runs(options: argparse.Namespace, output: Output) -> None:
    """Run the command `runs`."""
    if (options.name is None) == (options.by is None):
        raise InputError("Give either the NAME of a resource, or --by LABEL for all jobs.", path="NAME")
    endpoint = target.resolve(target.of_options(options))
    if options.by is not None:
        spending.show(endpoint, options.by, output)
        return
    found = history.find(endpoint, job_lookup.wanted_of(options, options.name, path="NAME"))
    runs = _runs(endpoint, found)
    if options.compare is not None:
        _compare(endpoint, found, runs, options.compare, output)
        return
    if output.as_json:
        output.document(_document(endpoint, found, runs))
        return
    _show(endpoint, found, runs, output)


def _compare(
    endpoint: Endpoint, found: History, runs: Sequence[Run], chosen: Sequence[str], output: Output
) -> None:
    """Print the chosen runs side by side. Raises InputError for a run that does not exist."""
    sides = [_side(run) for run in runs]
    compared = comparison.compare(comparison.choose(sides, chosen))
    if output.as_json:
        output.document({**_document(endpoint, found, runs), "comparison": comparison.document(compared)})
        return
    output.paragraph(f"{found.resource} ({endpoint})")
    output.line()
    comparison.show(compared, output)


def _side(run: Run) -> comparison.Side:
    facts = {
        "created": status_view.moment(run.record.create_time),
        "state": run.record.state.word,
        "ran for": status_view.duration(run.record),
        "cost": words.spent(run.spent),
        "reason": words_of(run.code),
    }
    return comparison.Side(number=run.number, record=run.record, metrics=run.result.metrics, facts=facts)


def _runs(endpoint: Endpoint, found: History) -> list[Run]:
    """Return the runs, newest first, with their results, which are read in parallel."""
    numbers = found.numbers()
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        results = list(pool.map(lambda record: result_of(endpoint, record), found.records))
    costs = spending.costs_of(endpoint, found.records)
    older: Sequence[JobRecord | None] = (*found.records[1:], None)
    return [
        Run(
            number=numbers[record.name],
            record=record,
            result=result,
            changes=changes_since(before, record) if before else (),
            spent=spent,
        )
        for record, result, before, spent in zip(found.records, results, older, costs, strict=True)
    ]


def _document(endpoint: Endpoint, found: History, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the JSON, see docs/reference/json.md."""
    resource = found.resource
    return {
        "endpoint": job_lookup.endpoint_json(endpoint),
        "resource": {
            "name": resource.name,
            "project": resource.project or None,
            "stack": resource.stack or None,
            "kind": resource.kind,
            "isSchedule": resource.is_schedule,
        },
        "runs": [
            {
                **job_lookup.summary(run.record),
                "run": run.number,
                "key": run.record.labels[RUN_LABEL],
                "reason": run.code or None,
                "why": run.why or None,
                "changes": list(run.changes),
                "duration": status_view.duration(run.record) or None,
                "cost": spending.document(run.spent),
                "metrics": dict(run.result.metrics),
                "modelDirectory": run.result.model_directory,
                "model": run.result.model,
                "logs": run.logs(endpoint),
            }
            for run in runs
        ],
        "cost": spending.document(spending.sum_of(run.spent for run in runs)),
    }


def _show(endpoint: Endpoint, found: History, runs: Sequence[Run], output: Output) -> None:
    output.paragraph(f"{found.resource} ({endpoint})")
    output.line()
    rows = [
        [run.number, status_view.moment(run.record.create_time), run.record.state.word,
         status_view.duration(run.record), words.spent(run.spent)]
        for run in runs
    ]  # fmt: skip
    metrics = _metric_columns([run.result.metrics for run in runs])
    shown = metrics if not output.terminal else _that_fit(metrics, rows)
    table = [[*row, *(cells[position] for _, cells in shown)] for position, row in enumerate(rows)]
    output.table([*_HEADINGS, *(name for name, _ in shown)], table, state_column=2)
    if left := [name for name, _ in metrics[len(shown) :]]:
        noun = "metric" if len(left) == 1 else "metrics"
        output.note(f"{len(left)} more {noun}: {', '.join(left)}; --json has all of them.")
    if (whole := spending.sum_of(run.spent for run in runs)) is not None:
        output.line()
        output.paragraph(f"Cost of these runs{spending.at_prices(endpoint)}: {words.spent(whole)}.")
        spending.show_gaps(whole, output)
    for run in runs:
        output.line()
        output.paragraph(f"Run {run.number}" + (f": {run.why}" if run.why else ""), style="bold")
        error = run.record.error
        facts = [
            ("error", why_failed(error.message) if error and run.record.state.word != "CANCELLED" else ""),
            ("files", run.result.model_directory or ""),
            ("model", run.result.model or ""),
            ("logs", run.logs(endpoint)),
        ]
        output.pairs([(name, value) for name, value in facts if value])
    if found.declarations > 1:
        output.note(
            f"These are runs of {found.declarations} declarations: the resource was destroyed and declared "
            "again, or stacks of two backends have the same names."
        )


def _metric_columns(each: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return name and cells of each metric that is a number or a text, in the order of their first use."""
    names = dict.fromkeys(name for metrics in each for name, value in metrics.items() if _is_plain(value))
    return [(name, [_text(metrics.get(name)) for metrics in each]) for name in names]


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


def _is_plain(value: object) -> bool:
    return isinstance(value, (bool, int, float, str))


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if _is_plain(value) else ""
