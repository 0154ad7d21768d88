"""The end of a study, and the failure of its job.

Source: the comments of `StudySpec.StudyStoppingConfig`; "the first few rules (minimum_runtime_constraint,
min_num_trials) will prevent other stopping rules from being evaluated until they are met".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vertex_emulator.tuning_jobs.study.measurements import Trial
from vertex_emulator.tuning_jobs.study.study import Study

MANY_FAILURES = 5
"""Number of failed trials at which the job fails if they outnumber the succeeded ones.

The service's limits for failed trials are not documented; this one is the emulator's own. The job also fails
if more than half of its trials failed.
"""


def stop_reason(study: Study, trials: Sequence[Trial], *, count: int, created: int, now: int) -> str | None:
    """Return the rule of `study_stopping_config` by which the study stops, or None if it continues.

    `count` is the number of trials for `max_num_trials`. The times are in microseconds since 1970.
    """
    if study.message is None or not study.message.HasField("study_stopping_config"):
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


def _passed(constraint: Any, created: int, now: int) -> bool:
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
