"""The trials of a study and their measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vertex_emulator.jobs.tuning.study.study import Metric, Parameters, Study

MAX_MEASUREMENTS = 200
"""Limit for the measurements of one trial. Above it, every second one is dropped, except for the last."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One value of one metric; `elapsed` is in seconds since the start of the trial."""

    metric: str
    value: float
    step: int = 0
    elapsed: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The values at one point of the training; `elapsed` is in seconds since the start of the trial."""

    metrics: Mapping[str, float]
    step: int = 0
    elapsed: float = 0.0

    def at(self, *, use_elapsed: bool) -> float:
        """Return the position on the x axis."""
        return self.elapsed if use_elapsed else float(self.step)


def add(measurements: Sequence[Measurement], reports: Iterable[Report]) -> tuple[Measurement, ...]:
    """Add reports to measurements, in the order of the reports.

    A program reports one metric per line: reports of one step form one measurement, until a metric is
    repeated.
    """
    rows = list(measurements)
    for one in reports:
        last = rows[-1] if rows else None
        if last is not None and last.step == one.step and one.metric not in last.metrics:
            rows[-1] = replace(last, metrics={**last.metrics, one.metric: one.value})
        else:
            elapsed = max(one.elapsed, last.elapsed if last is not None else 0.0)
            rows.append(Measurement(metrics={one.metric: one.value}, step=one.step, elapsed=elapsed))
    while len(rows) > MAX_MEASUREMENTS:
        rows = [*rows[:-1][::2], rows[-1]]
    return tuple(rows)


def in_order(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Sort measurements strictly by step and elapsed time, as in the API; of equal ones, keep the last."""
    by_place = {(each.step, round(each.elapsed, 6)): each for each in measurements}
    return [by_place[place] for place in sorted(by_place)]


def final(study: Study, measurements: Sequence[Measurement]) -> Measurement | None:
    """Return the final measurement of a trial, or None if it never reported one of the study's metrics.

    It is the last or the best measurement (`measurement_selection_type`). A metric that is missing in the
    last one has its last value. With several objectives, a later measurement is better unless it is
    dominated.
    """
    wanted = [each.id for each in study.metrics]
    merged: dict[str, float] = {}
    for each in measurements:
        merged.update(each.metrics)
    if not measurements or not set(wanted) <= set(merged):
        return None
    whole = [each for each in measurements if set(wanted) <= set(each.metrics)]
    last = replace(measurements[-1], metrics={name: merged[name] for name in wanted})
    if not study.best_measurement or not whole:
        return last
    best: Measurement = whole[0]
    for each in whole[1:]:
        if _is_better(study.objectives, each, best):
            best = each
    return replace(best, metrics={name: best.metrics[name] for name in wanted})


def _is_better(objectives: Sequence[Metric], one: Measurement, other: Measurement) -> bool:
    gains = [each.gain(one.metrics[each.id]) - each.gain(other.metrics[each.id]) for each in objectives]
    if len(gains) == 1:
        return gains[0] > 0
    return not (all(gain <= 0 for gain in gains) and any(gain < 0 for gain in gains))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial; numbers begin with 1. `final` is set if it succeeded.

    An ended trial without `final` is infeasible. `end` is in microseconds since 1970. `stopped` is "rule" if
    it was stopped early, "job" if with the job.
    """

    number: int
    parameters: Parameters
    ended: bool = False
    final: Measurement | None = None
    measurements: Sequence[Measurement] = ()
    end: int = 0
    stopped: str = ""

    @property
    def completed(self) -> bool:
        """True if the trial has succeeded."""
        return self.ended and self.final is not None

    @property
    def infeasible(self) -> bool:
        """True if the trial failed or did not report its metrics."""
        return self.ended and self.final is None

    @property
    def failed(self) -> bool:
        """True if the trial is infeasible and was not stopped."""
        return self.infeasible and not self.stopped

    def gains(self, metric: Metric) -> list[float]:
        """Return the measured values of the metric, converted so that higher is better."""
        return [
            metric.gain(each.metrics[metric.id]) for each in self.measurements if metric.id in each.metrics
        ]

    def final_gain(self, metric: Metric) -> float:
        """Return the final value of a succeeded trial, converted so that higher is better."""
        assert self.final is not None  # noqa: S101 - the trial is completed
        return metric.gain(self.final.metrics[metric.id])
