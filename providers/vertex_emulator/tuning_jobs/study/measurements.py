"""The trials so far and what they measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vertex_emulator.tuning_jobs.study.study import Metric, Parameters, Study

MAX_MEASUREMENTS = 200
"""Of one trial; of more, every other one is forgotten, but for the last."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One value of one metric; `elapsed` is in seconds since the trial began."""

    metric: str
    value: float
    step: int = 0
    elapsed: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The values at one point of the training; `elapsed` is in seconds since the trial began."""

    metrics: Mapping[str, float]
    step: int = 0
    elapsed: float = 0.0

    def at(self, *, use_elapsed: bool) -> float:
        """Where on the x axis it is."""
        return self.elapsed if use_elapsed else float(self.step)


def add(measurements: Sequence[Measurement], reports: Iterable[Report]) -> tuple[Measurement, ...]:
    """The measurements with the reports in them, in the order in which they were made.

    A program reports one metric a line: reports of one step belong together until a metric comes again.
    """
    found = list(measurements)
    for one in reports:
        last = found[-1] if found else None
        if last is not None and last.step == one.step and one.metric not in last.metrics:
            found[-1] = replace(last, metrics={**last.metrics, one.metric: one.value})
        else:
            elapsed = max(one.elapsed, last.elapsed if last is not None else 0.0)
            found.append(Measurement(metrics={one.metric: one.value}, step=one.step, elapsed=elapsed))
    while len(found) > MAX_MEASUREMENTS:
        found = [*found[:-1][::2], found[-1]]
    return tuple(found)


def in_order(measurements: Sequence[Measurement]) -> list[Measurement]:
    """As the API tells them: strictly ordered by step and elapsed time, of equal ones the last."""
    by_place = {(each.step, round(each.elapsed, 6)): each for each in measurements}
    return [by_place[place] for place in sorted(by_place)]


def final(study: Study, measurements: Sequence[Measurement]) -> Measurement | None:
    """The measurement that counts for the trial; None where a metric of the study was never reported.

    The last, or the best (`measurement_selection_type`). Where a metric is missing in the last one, its last
    value counts. With several objectives the best is the last that is not worse in all than another.
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
    """One trial, from 1. `final` is there when it has succeeded; without it and ended it was infeasible.

    `end` is in microseconds since 1970. `stopped`: what stopped it, a "rule" early, or the "job".
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
        """Whether it has succeeded."""
        return self.ended and self.final is not None

    @property
    def infeasible(self) -> bool:
        """Whether it has failed or did not report its metrics."""
        return self.ended and self.final is None

    @property
    def failed(self) -> bool:
        """Whether it is infeasible by itself."""
        return self.infeasible and not self.stopped

    def gains(self, metric: Metric) -> list[float]:
        """What it has measured of the metric, as values of which more is better."""
        return [
            metric.gain(each.metrics[metric.id]) for each in self.measurements if metric.id in each.metrics
        ]

    def final_gain(self, metric: Metric) -> float:
        """The final value of a trial that has succeeded, as one of which more is better."""
        assert self.final is not None  # noqa: S101 - of completed trials only
        return metric.gain(self.final.metrics[metric.id])
