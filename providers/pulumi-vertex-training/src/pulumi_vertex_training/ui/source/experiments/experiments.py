"""Experiments as their pages show them: the list, and one experiment with its runs as a table and curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.ui.source.experiments import contexts, time_series
from pulumi_vertex_training.ui.source.experiments.contexts import Experiment, Run
from pulumi_vertex_training.ui.source.tuning import Cell, value_in_words
from pulumi_vertex_training.views.curve import Curve
from pulumi_vertex_training.views.runs import metric_rows
from pulumi_vertex_training.views.study_view import job_key
from vertex_training.study.trials import Value

SHOWN = 100
"""Experiments in the list, and runs of one experiment."""

MOST_COLUMNS = 40

_JOB = re.compile(r"projects/[^/]+/locations/([^/]+)/customJobs/[0-9]+")


@dataclass(frozen=True, kw_only=True)
class ExperimentRow:
    """An experiment in the list. `runs` and `board` are in words."""

    id: str
    name: str
    description: str
    runs: str
    board: str
    updated: str


@dataclass(frozen=True, kw_only=True)
class Experiments:
    """The newest experiments. `has_more` is true if there are others."""

    endpoint: Endpoint
    rows: tuple[ExperimentRow, ...]
    has_more: bool


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the table of runs: a name of the user's program, and its kind."""

    kind: Literal["parameter", "metric", "last value"]
    name: str


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run in the table. `jobs` are keys; `cells` are in the order of the columns.

    `best` has the columns in which the run is the best of all.
    """

    id: str
    name: str
    state: str
    jobs: tuple[str, ...]
    cells: tuple[tuple[Column, Cell], ...]
    created: str
    updated: str
    best: frozenset[Column] = frozenset()


@dataclass(frozen=True, kw_only=True)
class OneExperiment:
    """An experiment with its newest runs.

    `columns` differ between the runs; `same` are the parameters and metrics that are equal in all of them, as
    texts. `trouble` says why the curves could not be read.
    """

    endpoint: Endpoint
    experiment: Experiment
    board: str
    columns: tuple[Column, ...]
    same: tuple[tuple[Column, str], ...]
    has_more_columns: bool
    rows: tuple[RunRow, ...]
    has_more: bool
    curves: tuple[Curve, ...]
    trouble: str

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """The number of shown runs in each state."""
        states = [row.state for row in self.rows]
        return tuple((state, states.count(state)) for state in dict.fromkeys(states) if state)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """The kinds of the columns, each with the number of its columns."""
        kinds = [column.kind for column in self.columns]
        return tuple((kind, kinds.count(kind)) for kind in dict.fromkeys(kinds))

    @property
    def numbers(self) -> frozenset[Column]:
        """The columns that have numbers alone."""
        cells = [pair for row in self.rows for pair in row.cells]
        return frozenset(self.columns) - {column for column, cell in cells if isinstance(cell.order, str)}


def read_all(endpoint: Endpoint) -> Experiments:
    """Return the newest experiments with their runs in words. Raises CloudError."""
    found, has_more = contexts.experiments(endpoint, most=SHOWN)
    runs, has_more_runs = contexts.newest_runs(endpoint, order="update_time desc") if found else ((), False)
    below = contexts.by_experiment(runs)
    names = time_series.titles(endpoint) if any(one.board for one in found) else {}
    return Experiments(
        endpoint=endpoint,
        rows=tuple(
            ExperimentRow(
                id=one.id,
                name=one.name,
                description=one.description,
                runs=_count(below.get(one.id, ()), has_more=has_more_runs),
                board=_board(one.board, names),
                updated=max([one.updated, *(run.updated for run in below.get(one.id, ()))]),
            )
            for one in found
        ),
        has_more=has_more,
    )


def read(endpoint: Endpoint, experiment_id: str) -> OneExperiment | None:
    """Return an experiment, or None for a context of another kind. Raises CloudError."""
    found = contexts.experiment(endpoint, experiment_id)
    if found is None:
        return None
    runs, has_more = contexts.newest_runs(endpoint, parent=found.full_name, most=SHOWN)
    curves, trouble = _curves(endpoint, found, runs)
    last = {(one.source, one.metric): one.points[-1][1] for one in curves}
    every = tuple(_columns(runs, curves))
    same = {column: text for column in every if (text := _same(column, runs, last)) is not None}
    columns = tuple(column for column in every if column not in same)
    return OneExperiment(
        endpoint=endpoint,
        experiment=found,
        board=_board(found.board, time_series.titles(endpoint) if found.board else {}),
        columns=columns[:MOST_COLUMNS],
        same=tuple(same.items()),
        has_more_columns=len(columns) > MOST_COLUMNS,
        rows=tuple(_rows(endpoint, runs, columns[:MOST_COLUMNS], last)),
        has_more=has_more,
        curves=curves,
        trouble=trouble,
    )


def _count(runs: Sequence[Run], *, has_more: bool) -> str:
    """Return the number of runs in words: "3, 1 running"."""
    running = sum(run.state == "RUNNING" for run in runs)
    words = f"{len(runs)}{' or more' if has_more else ''}"
    return f"{words}, {running} running" if running else words


def _board(name: str, names: Mapping[str, str]) -> str:
    return names.get(name) or name.rpartition("/")[2]


def _curves(endpoint: Endpoint, found: Experiment, runs: Sequence[Run]) -> tuple[tuple[Curve, ...], str]:
    if not found.board:
        return (), ""
    names = [run.name for run in runs[: time_series.MOST_RUNS]]
    try:
        return time_series.curves(endpoint, found.board, found.id, names), ""
    except CloudError as error:  # on Google Cloud, a permission may be missing
        return (), str(error)


def _columns(runs: Iterable[Run], curves: Iterable[Curve]) -> Iterator[Column]:
    """Yield the columns by kind and name: the service keeps no other order."""
    every = tuple(runs)
    for name in sorted({name for run in every for name in run.parameters}):
        yield Column(kind="parameter", name=name)
    for name in sorted({name for run in every for name in run.metrics}):
        yield Column(kind="metric", name=name)
    for name in sorted({curve.metric for curve in curves}):
        yield Column(kind="last value", name=name)


def _rows(
    endpoint: Endpoint,
    runs: Sequence[Run],
    columns: Sequence[Column],
    last: Mapping[tuple[str, str], float],
) -> Iterator[RunRow]:
    jobs = contexts.jobs_of_runs(endpoint)
    best = {column: _best(column, runs, last) for column in columns if column.kind != "parameter"}
    for run in runs:
        own = [job_key(name) for name in run.jobs if _is_here(endpoint, name)]
        yield RunRow(
            id=run.id,
            name=run.name,
            state=run.state,
            jobs=tuple(dict.fromkeys([*own, *filter(None, [jobs.get(run.id)])])),
            cells=tuple((column, _cell(column, run, last)) for column in columns),
            created=run.created,
            updated=run.updated,
            best=frozenset(column for column, found in best.items() if found is run),
        )


def _best(column: Column, runs: Sequence[Run], last: Mapping[tuple[str, str], float]) -> Run | None:
    """Return the best run by a metric, None if its name does not say which values are better."""
    values = [_cell(column, run, last).order for run in runs]
    place = metric_rows.winner(values, metric_rows.better_of(column.name))
    return None if place is None else runs[place]


def _is_here(endpoint: Endpoint, job: str) -> bool:
    """Return whether a text is the name of a custom job of the shown location."""
    found = _JOB.fullmatch(job)
    return found is not None and found[1] == endpoint.location


def _same(column: Column, runs: Sequence[Run], last: Mapping[tuple[str, str], float]) -> str | None:
    """Return the value that two or more runs all have in a column, or None if they differ."""
    texts = {_cell(column, run, last).text for run in runs}
    return texts.pop() if len(runs) > 1 and len(texts) == 1 else None


def _cell(column: Column, run: Run, last: Mapping[tuple[str, str], float]) -> Cell:
    value: Value | None
    if column.kind == "parameter":
        value = run.parameters.get(column.name)
    elif column.kind == "metric":
        value = run.metrics.get(column.name)
    else:
        value = last.get((run.name, column.name))
    text = value if isinstance(value, str) else value_in_words(value)
    return Cell(name=column.name, text=text, order=value)
