"""Early stopping by a prediction of the final value: the API's decay curve rule. Pure.

"Builds a Gaussian Process Regressor to predict the final objective value of a Trial based on the already
completed Trials and the intermediate measurements of the current Trial. Early stopping is requested if there
is very low probability to exceed the optimal value found so far" (`DecayCurveAutomatedStoppingSpec`). The
service's figures are not public; those here are ours.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from vertex_emulator.tuning_jobs.study.convex import Curve, best_final, curve
from vertex_emulator.tuning_jobs.study.measurements import Trial
from vertex_emulator.tuning_jobs.study.study import Metric

MIN_COMPLETED = 3
MIN_MEASUREMENTS = 2
VERY_LOW = 0.05
_POINTS = 24


def is_hopeless(metric: Metric, trial: Trial, completed: Sequence[Trial], *, use_elapsed: bool) -> bool:
    """Whether the trial will hardly exceed the best of the completed ones."""
    now = curve(metric, trial, use_elapsed=use_elapsed).thinned(_POINTS)
    known = [
        each.thinned(_POINTS)
        for each in (
            curve(metric, other, use_elapsed=use_elapsed) for other in completed if not other.stopped
        )
        if each.x
    ]
    if len(known) < MIN_COMPLETED or len(now.x) < MIN_MEASUREMENTS:
        return False
    end = max(each.x[-1] for each in known)
    if now.x[-1] >= end:
        return False
    mean, deviation = predicted(now, known, end)
    return _above(best_final(metric, completed), mean, deviation) < VERY_LOW


def predicted(now: Curve, known: Sequence[Curve], end: float) -> tuple[float, float]:
    """Mean and standard deviation of the value at `end` of a curve that is known so far.

    Its difference from the mean of the completed curves is a Gaussian process: a constant, and a part that
    decays with distance, as large together as the completed curves differ from each other.
    """
    places = [*now.x, end]
    columns = [[each.at(place) for each in known] for place in places]
    means = [statistics.fmean(column) for column in columns]
    variance = max(statistics.fmean(statistics.pvariance(column) for column in columns), 1e-18)
    scale = max(end - min(each.x[0] for each in known), 1e-9) / 2

    def covariance(one: float, other: float) -> float:
        return variance * (0.5 + 0.5 * math.exp(-abs(one - other) / scale))

    noise = 1e-3 * variance
    matrix = [[covariance(a, b) + (noise if a == b else 0.0) for b in now.x] for a in now.x]
    across = [covariance(place, end) for place in now.x]
    weights = _solve(matrix, across)
    residuals = [value - mean for value, mean in zip(now.y, means, strict=False)]
    mean = means[-1] + sum(w * r for w, r in zip(weights, residuals, strict=True))
    left = covariance(end, end) - sum(w * k for w, k in zip(weights, across, strict=True))
    return mean, math.sqrt(max(left, 1e-12 * variance))


def _solve(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """The solution of a positive definite system, by Cholesky's factors."""
    size = len(matrix)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(max(rest, 1e-300)) if i == j else rest / lower[j][j]
    forward: list[float] = []
    for i in range(size):
        forward.append((right[i] - sum(lower[i][k] * forward[k] for k in range(i))) / lower[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (forward[i] - sum(lower[k][i] * found[k] for k in range(i + 1, size))) / lower[i][i]
    return found


def _above(level: float, mean: float, deviation: float) -> float:
    """The probability of a value above the level."""
    return 0.5 * math.erfc((level - mean) / (deviation * math.sqrt(2.0)))
