"""The rules of the end of a study: trial budgets, time budgets, no progress."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.fields import durations, timestamps
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.study.study import StudyStoppingConfig, StudyTimeConstraint

_CONFIG = "Vertex AI API, StudySpec.StudyStoppingConfig"

CONSTRAINT = Rule(
    name="study-time",
    says="a time constraint is either a duration or a time in RFC 3339",
    source="Vertex AI API, StudyTimeConstraint",
)
NO_PROGRESS_TIME = Rule(
    name="study-no-progress-time",
    says="the time without progress is a positive duration",
    source=f"{_CONFIG}.max_duration_no_progress",
)
TRIALS = Rule(
    name="study-trials",
    says="the trial limits of a study are at least 1, and its minimum is not negative",
    source=_CONFIG,
)
ORDER = Rule(
    name="study-stopping-order",
    says="the minimum of a stopping condition is not above its maximum",
    source=f"{_CONFIG}.minimum_runtime_constraint",
)
NO_CONDITION = Rule(
    name="study-stopping-condition",
    says="a stopping config has at least one condition that ends the study",
    source="Vertex AI API, StudySpec.study_stopping_config",
    level="warning",
)
SINGLE_OBJECTIVE = Rule(
    name="no-progress-single",
    says="the limits without progress need a single metric to improve",
    source=f"{_CONFIG}.max_num_trials_no_progress",
    level="warning",
)

_ENDS = (
    "maximum_runtime_constraint",
    "max_num_trials",
    "max_num_trials_no_progress",
    "max_duration_no_progress",
)


def stopping_problems(
    config: StudyStoppingConfig, path: str, *, objectives: int, metrics: str
) -> Iterator[Problem]:
    """Yield every finding about the end of a study.

    `objectives` is the number of metrics to improve, and `metrics` the path of the metrics.
    """
    for name in ("minimum_runtime_constraint", "maximum_runtime_constraint"):
        if (constraint := getattr(config, name)) is not None:
            yield from _constraint_problems(constraint, f"{path}.{name}")
    for name, least in (("min_num_trials", 0), ("max_num_trials", 1), ("max_num_trials_no_progress", 1)):
        number = getattr(config, name)
        if number is not None and number < least:
            yield TRIALS.broken(
                f"{path}.{name}",
                f"{number} is not a number of trials; give at least {least}, or leave it out",
            )
    idle = config.max_duration_no_progress
    if idle and (fault := durations.problem_with(idle)):
        yield NO_PROGRESS_TIME.broken(f"{path}.max_duration_no_progress", fault)
    yield from _order_problems(config, path)
    if all(getattr(config, name) is None for name in _ENDS):
        yield NO_CONDITION.broken(
            path, f"has no condition that ends the study; give one of {', '.join(_ENDS)}, or leave it out"
        )
    for name in ("max_num_trials_no_progress", "max_duration_no_progress"):
        if objectives > 1 and getattr(config, name) is not None:
            yield SINGLE_OBJECTIVE.broken(
                f"{path}.{name}",
                f"has no effect with {objectives} metrics to improve; leave it out",
                rests_on=(f"{path}.{name}", f"{metrics}.*"),
            )


def _constraint_problems(constraint: StudyTimeConstraint, path: str) -> Iterator[Problem]:
    length, moment = constraint.max_duration, constraint.end_time
    if bool(length) == bool(moment):
        given = "has max_duration and end_time" if length else "is empty"
        yield CONSTRAINT.broken(path, f"{given}; give exactly one of max_duration and end_time")
    if length and (fault := durations.problem_with(length)):
        yield CONSTRAINT.broken(f"{path}.max_duration", fault)
    if moment and not timestamps.is_moment(moment):
        yield CONSTRAINT.broken(
            f"{path}.end_time",
            f"{shown(moment)} is not a time; write it in RFC 3339, for example 2027-01-31T12:00:00Z",
        )


def _order_problems(config: StudyStoppingConfig, path: str) -> Iterator[Problem]:
    least, most = config.min_num_trials, config.max_num_trials
    if least is not None and most is not None and most < least:
        yield ORDER.broken(
            f"{path}.min_num_trials",
            f"{least} is more than max_num_trials {most}, which could not end the study; give at most {most}",
            rests_on=(f"{path}.min_num_trials", f"{path}.max_num_trials"),
        )
    first, last = config.minimum_runtime_constraint, config.maximum_runtime_constraint
    if first is None or last is None:
        return
    for name, later in (
        ("max_duration", _is_longer(first.max_duration, last.max_duration)),
        ("end_time", timestamps.is_before(last.end_time or "", first.end_time or "")),
    ):
        if later:
            below = f"{path}.minimum_runtime_constraint.{name}"
            other = f"{path}.maximum_runtime_constraint.{name}"
            yield ORDER.broken(
                below,
                f"{getattr(first, name)} is more than {getattr(last, name)} in maximum_runtime_constraint, "
                "which could not end the study; swap them",
                rests_on=(below, other),
            )


def _is_longer(first: str | None, second: str | None) -> bool:
    if not first or not second or durations.problem_with(first) or durations.problem_with(second):
        return False
    return float(first[:-1]) > float(second[:-1])
