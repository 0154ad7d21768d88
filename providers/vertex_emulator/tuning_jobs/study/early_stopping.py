"""Whether a running trial is stopped early. Pure.

Source of the rules: the comments of `StudySpec`'s three messages for automated stopping. They speak of one
objective, so a study with several stops no trial early.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from vertex_emulator.tuning_jobs.study import convex
from vertex_emulator.tuning_jobs.study.measurements import Trial
from vertex_emulator.tuning_jobs.study.study import Metric, Study


def stops(study: Study, trial: Trial, others: Sequence[Trial]) -> bool:
    """Whether the trial, which runs, is to be stopped. `others` are all other trials."""
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
        return convex.is_hopeless(metric, trial, completed, use_elapsed=use_elapsed)
    return convex.stops(metric, trial, completed, convex.read(spec.convex_automated_stopping_spec))


def below_median(metric: Metric, trial: Trial, completed: Sequence[Trial], *, use_elapsed: bool) -> bool:
    """Whether the trial's best value is strictly worse than the median of what the completed trials had
    reached on the average by then.
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
