"""Early stopping of a running trial, the end of a study, and the failure of its job.

The rules are from the comments of the three messages for automated stopping in `StudySpec`. They refer to one
objective, so a study with several objectives stops no trial early.

"The policy first computes an overestimate of the objective value at max_num_steps according to the slope of
the incomplete objective value curve. No prediction can be made if the curve is completely flat. If the
overestimation is worse than the best objective value of the completed trials, this pending trial will be
early-stopped, but a last measurement will be added to the pending trial with max_num_steps and predicted
objective value from the autoregression model" (`ConvexAutomatedStoppingSpec`). The autoregression here is of
first order over the differences of a curve. The learning rate, which the service uses, too, is not used.

"Builds a Gaussian Process Regressor to predict the final objective value of a Trial based on the already
completed Trials and the intermediate measurements of the current Trial. Early stopping is requested if there
is very low probability to exceed the optimal value found so far" (`DecayCurveAutomatedStoppingSpec`). The
service's constants are not public; those here are the emulator's own.

Source: the comments of `StudySpec.StudyStoppingConfig`; "the first few rules (minimum_runtime_constraint,
min_num_trials) will prevent other stopping rules from being evaluated until they are met".
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from vertex_emulator.jobs.tuning.study.measurements import Measurement, Trial
from vertex_emulator.jobs.tuning.study.study import Metric, Study
from vertex_emulator.server.rpc.descriptors import DynamicMessage


@dataclass(frozen=True)
class Curve:
    """Values `y` at increasing positions `x`; higher is better."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def at(self, x: float) -> float:
        """Return the value at `x`, linearly interpolated, and constant beyond the ends."""
        right = bisect.bisect_left(self.x, x)
        if right == 0:
            return self.y[0]
        if right == len(self.x):
            return self.y[-1]
        span = self.x[right] - self.x[right - 1]
        share = (x - self.x[right - 1]) / span
        return self.y[right - 1] * (1 - share) + self.y[right] * share

    def thinned(self, count: int) -> Curve:
        """Return the curve with at most `count` points, including the last."""
        if len(self.x) <= count:
            return self
        picked = sorted({round(i * (len(self.x) - 1) / (count - 1)) for i in range(count)})
        return Curve(tuple(self.x[i] for i in picked), tuple(self.y[i] for i in picked))


def curve(metric: Metric, trial: Trial, *, use_elapsed: bool) -> Curve:
    """Return the measured values of the metric; of several values at one position, the last."""
    points = {
        each.at(use_elapsed=use_elapsed): metric.gain(each.metrics[metric.id])
        for each in trial.measurements
        if metric.id in each.metrics
    }
    places = sorted(points)
    return Curve(tuple(places), tuple(points[place] for place in places))


def best_final(metric: Metric, completed: Sequence[Trial]) -> float:
    """Return the best final value of the completed trials, at least one."""
    return max(each.final_gain(metric) for each in completed)


DEFAULT_MEASUREMENTS = 5


@dataclass(frozen=True, kw_only=True)
class ConvexRule:
    """The fields of a `ConvexAutomatedStoppingSpec`.

    With `use_elapsed`, `max_steps` and `min_steps` are seconds. None means that the rule derives the value.
    """

    max_steps: float | None = None
    min_steps: float | None = None
    min_measurements: int = DEFAULT_MEASUREMENTS
    use_elapsed: bool = False
    update_all: bool = False


def read_convex_rule(spec: DynamicMessage) -> ConvexRule:
    """Return the rule of a `ConvexAutomatedStoppingSpec`, in which 0 means unset."""
    return ConvexRule(
        max_steps=float(spec.max_step_count) or None,
        min_steps=float(spec.min_step_count) or None,
        min_measurements=spec.min_measurement_count or DEFAULT_MEASUREMENTS,
        use_elapsed=spec.use_elapsed_duration,
        update_all=spec.update_all_stopped_trials,
    )


def stops_by_convex_rule(metric: Metric, trial: Trial, completed: Sequence[Trial], rule: ConvexRule) -> bool:
    """Return whether even the overestimate is worse than the best of the completed trials."""
    now = curve(metric, trial, use_elapsed=rule.use_elapsed)
    end = _end(metric, completed, rule)
    if end is None or len(completed) <= rule.min_measurements or len(now.x) < rule.min_measurements:
        return False
    least = end / 10 if rule.min_steps is None else rule.min_steps
    if now.x[-1] <= least or now.x[-1] >= end or len(set(now.y)) == 1:
        return False
    return overestimate(now, end, rule) < best_final(metric, completed)


def overestimate(now: Curve, end: float, rule: ConvexRule) -> float:
    """Return the value at the end if the curve continued with its last slope; a convex curve rises less."""
    x, y = now.x[-rule.min_measurements :], now.y[-rule.min_measurements :]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((each - mean_x) ** 2 for each in x)
    rise = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope = max(rise / spread if spread else 0.0, 0.0)
    return max(now.y) + slope * (end - now.x[-1])


def last_measurement(
    metric: Metric, trial: Trial, completed: Sequence[Trial], rule: ConvexRule
) -> Measurement | None:
    """Return the measurement that is added to a stopped trial, with the predicted final value."""
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


def _end(metric: Metric, completed: Sequence[Trial], rule: ConvexRule) -> float | None:
    if rule.max_steps is not None:
        return rule.max_steps
    curves = [curve(metric, each, use_elapsed=rule.use_elapsed) for each in completed if not each.stopped]
    return max((each.x[-1] for each in curves if each.x), default=None)


def _persistence(curves: Sequence[Curve]) -> float:
    """Return the ratio of a curve's increments to the previous ones, between 0 and 1, by least squares."""
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


MIN_COMPLETED = 3
MIN_MEASUREMENTS = 2
VERY_LOW = 0.05
_POINTS = 24


def is_hopeless(metric: Metric, trial: Trial, completed: Sequence[Trial], *, use_elapsed: bool) -> bool:
    """Return whether the trial is very unlikely to exceed the best of the completed trials."""
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
    """Return mean and standard deviation of the value at `end` of an incomplete curve.

    Its difference from the mean of the completed curves is a Gaussian process: a constant, and a part that
    decays with distance. Their total variance equals the completed curves'.
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
    """Solve a positive definite system by Cholesky decomposition."""
    size = len(matrix)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(max(rest, 1e-300)) if i == j else rest / lower[j][j]
    forward: list[float] = []
    for i in range(size):
        forward.append((right[i] - sum(lower[i][k] * forward[k] for k in range(i))) / lower[i][i])
    solution = [0.0] * size
    for i in reversed(range(size)):
        solution[i] = (forward[i] - sum(lower[k][i] * solution[k] for k in range(i + 1, size))) / lower[i][i]
    return solution


def _above(level: float, mean: float, deviation: float) -> float:
    """Return the probability of a value above the level."""
    return 0.5 * math.erfc((level - mean) / (deviation * math.sqrt(2.0)))


def stops_early(study: Study, trial: Trial, others: Sequence[Trial]) -> bool:
    """Return whether the running trial is stopped early. `others` are all other trials."""
    spec, metric = study.message, study.objective
    rule = spec.WhichOneof("automated_stopping_spec") if spec is not None else None
    if rule is None or metric is None or not trial.gains(metric):
        return False
    completed = [each for each in others if each.completed]
    if rule == "median_automated_stopping_spec":
        use_elapsed = spec.median_automated_stopping_spec.use_elapsed_duration
        return below_median(metric, trial, completed, use_elapsed=use_elapsed)
    if rule == "decay_curve_stopping_spec":
        use_elapsed = spec.decay_curve_stopping_spec.use_elapsed_duration
        return is_hopeless(metric, trial, completed, use_elapsed=use_elapsed)
    return stops_by_convex_rule(
        metric, trial, completed, read_convex_rule(spec.convex_automated_stopping_spec)
    )


def below_median(metric: Metric, trial: Trial, completed: Sequence[Trial], *, use_elapsed: bool) -> bool:
    """Return whether the trial's best value is strictly below the median of the completed trials.

    The value of a completed trial is the average of what it had reported by the same time or step.
    """
    now = trial.measurements[-1].at(use_elapsed=use_elapsed)
    averages = []
    for other in completed:
        values = [
            metric.gain(each.metrics[metric.id])
            for each in other.measurements
            if metric.id in each.metrics and each.at(use_elapsed=use_elapsed) <= now
        ]
        if values:
            averages.append(statistics.fmean(values))
    return bool(averages) and max(trial.gains(metric)) < statistics.median(averages)


MANY_FAILURES = 5
"""Number of failed trials at which the job fails if they outnumber the succeeded ones.

The service's limits for failed trials are not documented; this one is the emulator's own. The job also fails
if more than half of its trials failed.
"""


def stop_reason(study: Study, trials: Sequence[Trial], *, count: int, created: int, now: int) -> str | None:
    """Return the rule of `study_stopping_config` by which the study stops, or None if it continues.

    `count` is the number of trials for `max_num_trials`. The times are in microseconds since 1970.
    """
    if not study.message.HasField("study_stopping_config"):
        return None
    config = study.message.study_stopping_config
    completed = sum(each.completed for each in trials)
    if config.HasField("minimum_runtime_constraint") and not _passed(
        config.minimum_runtime_constraint, created, now
    ):
        return None
    if config.HasField("min_num_trials") and completed < config.min_num_trials.value:
        return None
    if config.HasField("maximum_runtime_constraint") and _passed(
        config.maximum_runtime_constraint, created, now
    ):
        return "maximum_runtime_constraint"
    if config.HasField("max_num_trials") and count >= config.max_num_trials.value:
        return "max_num_trials"
    return _without_progress(study, trials, created=created, now=now)


def _passed(constraint: DynamicMessage, created: int, now: int) -> bool:
    which = constraint.WhichOneof("constraint")
    if which == "max_duration":
        return bool(now - created >= constraint.max_duration.ToMicroseconds())
    if which == "end_time":
        return bool(now >= constraint.end_time.ToMicroseconds())
    return which is None


def _without_progress(study: Study, trials: Sequence[Trial], *, created: int, now: int) -> str | None:
    """Return the rule about progress that stops the study.

    It applies to a single objective only, as in the API.
    """
    config, metric = study.message.study_stopping_config, study.objective
    if metric is None:
        return None
    best: float | None = None
    since, improved = 0, created
    for each in sorted((each for each in trials if each.ended), key=lambda one: (one.end, one.number)):
        gain = each.final_gain(metric) if each.completed else None
        if gain is not None and (best is None or gain > best):
            best, since, improved = gain, 0, each.end
        else:
            since += 1
    if config.HasField("max_num_trials_no_progress") and since >= config.max_num_trials_no_progress.value:
        return "max_num_trials_no_progress"
    if (
        config.HasField("max_duration_no_progress")
        and now - improved >= config.max_duration_no_progress.ToMicroseconds()
    ):
        return "max_duration_no_progress"
    return None


def too_many_failed(trials: Sequence[Trial], *, max_trials: int, max_failed: int) -> bool:
    """Return whether the job fails because of failed trials; `max_failed` is 0 if unset.

    "If the first trial of your job fails, Vertex AI ends the job immediately"; later, when the number of
    failed trials or their ratio to successful ones "has grown too high" (documentation, "Create a
    hyperparameter tuning job", failed trials).
    """
    failed = sum(each.failed for each in trials)
    if max_failed:
        return failed >= max_failed
    if trials and trials[0].failed:
        return True
    succeeded = sum(each.completed for each in trials)
    return 2 * failed > max_trials or (failed >= MANY_FAILURES and failed > succeeded)
