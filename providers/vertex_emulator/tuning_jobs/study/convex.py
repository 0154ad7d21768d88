"""Early stopping by an overestimate of the final value: the API's convex rule. Pure.

"The policy first computes an overestimate of the objective value at max_num_steps according to the slope of
the incomplete objective value curve. No prediction can be made if the curve is completely flat. If the
overestimation is worse than the best objective value of the completed trials, this pending trial will be
early-stopped, but a last measurement will be added to the pending trial with max_num_steps and predicted
objective value from the autoregression model" (`ConvexAutomatedStoppingSpec`). The autoregression here is of
first order over the differences of a curve. The learning rate, which the service reads too, is not used.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from vertex_emulator.tuning_jobs.study.measurements import Measurement, Trial
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


DEFAULT_MEASUREMENTS = 5


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The message; `max_steps` and `min_steps` are seconds with `use_elapsed`; None: to be found out."""

    max_steps: float | None = None
    min_steps: float | None = None
    min_measurements: int = DEFAULT_MEASUREMENTS
    use_elapsed: bool = False
    update_all: bool = False


def read(spec: Any) -> Rule:
    """The rule of a `ConvexAutomatedStoppingSpec`. In it 0 means that nothing is said."""
    return Rule(
        max_steps=float(spec.max_step_count) or None,
        min_steps=float(spec.min_step_count) or None,
        min_measurements=spec.min_measurement_count or DEFAULT_MEASUREMENTS,
        use_elapsed=spec.use_elapsed_duration,
        update_all=spec.update_all_stopped_trials,
    )


def stops(metric: Metric, trial: Trial, completed: Sequence[Trial], rule: Rule) -> bool:
    """Whether even the overestimate is worse than the best of the completed trials."""
    now = curve(metric, trial, use_elapsed=rule.use_elapsed)
    end = _end(metric, completed, rule)
    if end is None or len(completed) <= rule.min_measurements or len(now.x) < rule.min_measurements:
        return False
    least = end / 10 if rule.min_steps is None else rule.min_steps
    if now.x[-1] <= least or now.x[-1] >= end or len(set(now.y)) == 1:
        return False
    return overestimate(now, end, rule) < best_final(metric, completed)


def overestimate(now: Curve, end: float, rule: Rule) -> float:
    """The value at the end if the curve went on as straight as it last rose: a convex curve rises less."""
    x, y = now.x[-rule.min_measurements :], now.y[-rule.min_measurements :]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((each - mean_x) ** 2 for each in x)
    rise = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope = max(rise / spread if spread else 0.0, 0.0)
    return max(now.y) + slope * (end - now.x[-1])


def last_measurement(
    metric: Metric, trial: Trial, completed: Sequence[Trial], rule: Rule
) -> Measurement | None:
    """What is added to a trial that is stopped: the value that is predicted for the end."""
    now = curve(metric, trial, use_elapsed=rule.use_elapsed)
    end = _end(metric, completed, rule)
    if end is None or len(now.x) < 2 or now.x[-1] >= end:
        return None
    curves = [now]
    if rule.update_all:
        curves += [
            curve(metric, each, use_elapsed=rule.use_elapsed) for each in completed if not each.stopped
        ]
    gain = min(_extrapolated(now, end, _persistence(curves)), overestimate(now, end, rule))
    last = trial.measurements[-1]
    return Measurement(
        metrics={**last.metrics, metric.id: metric.gain(gain)},
        step=last.step if rule.use_elapsed else round(end),
        elapsed=end if rule.use_elapsed else last.elapsed,
    )


def _end(metric: Metric, completed: Sequence[Trial], rule: Rule) -> float | None:
    if rule.max_steps is not None:
        return rule.max_steps
    curves = [curve(metric, each, use_elapsed=rule.use_elapsed) for each in completed if not each.stopped]
    return max((each.x[-1] for each in curves if each.x), default=None)


def _persistence(curves: Sequence[Curve]) -> float:
    """How much of a curve's rise is left in its next one, between 0 and 1, by least squares."""
    products = squares = 0.0
    for each in curves:
        rises = [b - a for a, b in pairwise(each.y)]
        products += sum(a * b for a, b in pairwise(rises))
        squares += sum(a * a for a in rises[:-1])
    return min(max(products / squares, 0.0), 0.99) if squares else 0.0


def _extrapolated(now: Curve, end: float, persistence: float) -> float:
    step = (now.x[-1] - now.x[0]) / (len(now.x) - 1)
    count = max(round((end - now.x[-1]) / step), 1) if step > 0 else 1
    rise = now.y[-1] - now.y[-2]
    return now.y[-1] + rise * persistence * (1 - persistence**count) / (1 - persistence)
