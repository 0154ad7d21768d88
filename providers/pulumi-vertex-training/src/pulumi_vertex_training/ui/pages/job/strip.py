"""The strip on top of a job's page: progress, last metrics, cost and replicas as large numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pulumi_vertex_training.runs.monitoring.progress import duration
from pulumi_vertex_training.ui.pages.curves.chart import number_in_words
from pulumi_vertex_training.ui.source.job import Job
from pulumi_vertex_training.ui.source.tuning import Tuning
from pulumi_vertex_training.views.study_view import ENDED

_MOST_METRICS = 4


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A number with its name. `unit` follows it in small type; `under` are a few words below.

    With `since` the figure is the age of that moment, with `before` that moment's age is below. `percent`
    draws a bar, `state` colours the words below.
    """

    name: str
    figure: str = ""
    unit: str = ""
    under: str = ""
    since: str = ""
    before: str = ""
    percent: int | None = None
    state: str = ""


def tiles(job: Job) -> tuple[Tile, ...]:
    """Return the tiles of a job, those that change most first."""
    results = _trials(job.tuning) if job.tuning else _metrics(job)
    return (*_progress(job), *results, *_cost(job), *_replicas(job))


def _progress(job: Job) -> Iterator[Tile]:
    row, report = job.row, job.report
    if row.ended:
        seconds = job.seconds
        ran = duration(seconds) if seconds is not None else "not started"
        yield Tile(name="Ran for", figure=ran, before=row.ended)
    elif report is not None and report.percent is not None:
        left = f"{duration(report.seconds_left)} left" if report.seconds_left else ""
        yield Tile(name="Progress", figure=str(report.percent), unit="%", under=left, percent=report.percent)
    elif row.started:
        step = f"step {report.step:g}" if report is not None and report.step is not None else ""
        yield Tile(name="Running for", since=row.started, under=step)
    else:
        yield Tile(name="Waiting for", since=row.created)


def _trials(tuning: Tuning) -> Iterator[Tile]:
    """Yield the result of the best trial, then the number of trials that have ended."""
    best, objective = tuning.best, tuning.objective
    value = best.metrics.get(objective.metric_id) if best and objective else None
    if best and objective and value is not None:
        figure = number_in_words(value)
        yield Tile(name=f"Best {objective.metric_id}", figure=figure, under=f"trial {best.id}")
    ended = sum(one.state in ENDED for one in tuning.trials)
    under = ", ".join(f"{count} {name}" for name, count in tuning.counts)
    yield Tile(name="Trials", figure=str(ended), unit=f"/{tuning.spec.max_trial_count}", under=under)


def _metrics(job: Job) -> Iterator[Tile]:
    """Yield the results, such as the values of metrics.json, then the last value of each curve, each once."""
    names: set[str] = set()
    source = job.metrics.source
    under = f"in {source}" if source == "metrics.json" else source
    for name, text in job.metrics.values:
        try:
            value = float(text)
        except ValueError:  # a list or an object: it is in the table of values
            continue
        if len(names) < _MOST_METRICS:
            names.add(name)
            yield Tile(name=name, figure=number_in_words(value), under=under)
    for curve in job.metrics.curves:
        if curve.metric in names or not curve.points or len(names) >= _MOST_METRICS:
            continue
        names.add(curve.metric)
        step, value = curve.points[-1]
        yield Tile(name=curve.metric, figure=number_in_words(value), under=f"step {number_in_words(step)}")


def _cost(job: Job) -> Iterator[Tile]:
    if not job.cost.hourly:
        return
    rate = f"{job.cost.hourly}/h on Google Cloud" if "$" in job.cost.hourly else job.cost.hourly
    name = "Cost" if job.record.state.is_terminal else "Cost so far"
    yield Tile(name=name, figure=job.cost.so_far or "$0", under=rate)


def _replicas(job: Job) -> Iterator[Tile]:
    states = Counter(replica.state for pool in job.pools for replica in pool.replicas)
    whole = states.total()
    if not whole:
        return
    if set(states) == {"not reported"}:
        yield Tile(name="Replicas", figure=str(whole), under="states are not reported")
        return
    wanted = "succeeded" if job.record.state.is_terminal else "running"
    others = [(state, count) for state, count in states.most_common() if state != wanted]
    worst = "failed" if states["failed"] else next((state for state, _ in others), wanted)
    under = ", ".join(f"{count} {state}" for state, count in others) or wanted
    yield Tile(name="Replicas", figure=str(states[wanted]), unit=f"/{whole}", under=under, state=worst)
