"""Curves of one metric over steps or time. Pure."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from vertex_emulator.tuning_jobs.study.past import Trial
from vertex_emulator.tuning_jobs.study.study import Metric


@dataclass(frozen=True)
class Curve:
    """Values at growing places `x`, of which more is better."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def at(self, x: float) -> float:
        """The value there, between two points by a straight line, beyond the ends as at the end."""
        right = bisect.bisect_left(self.x, x)
        if right == 0:
            return self.y[0]
        if right == len(self.x):
            return self.y[-1]
        span = self.x[right] - self.x[right - 1]
        share = (x - self.x[right - 1]) / span
        return self.y[right - 1] * (1 - share) + self.y[right] * share

    def thinned(self, count: int) -> Curve:
        """The same with at most so many points, the last among them."""
        if len(self.x) <= count:
            return self
        picked = sorted({round(i * (len(self.x) - 1) / (count - 1)) for i in range(count)})
        return Curve(tuple(self.x[i] for i in picked), tuple(self.y[i] for i in picked))


def curve(metric: Metric, trial: Trial, *, use_elapsed: bool) -> Curve:
    """What the trial has measured of the metric; of several values at one place, the last."""
    points = {
        each.at(use_elapsed=use_elapsed): metric.gain(each.metrics[metric.id])
        for each in trial.measurements
        if metric.id in each.metrics
    }
    places = sorted(points)
    return Curve(tuple(places), tuple(points[place] for place in places))


def best_final(metric: Metric, completed: Sequence[Trial]) -> float:
    """The best final value of the completed trials, of which there is one at least."""
    return max(each.final_gain(metric) for each in completed)
