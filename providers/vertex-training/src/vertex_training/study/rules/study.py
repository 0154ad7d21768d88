"""The rules of a study: metrics, algorithm, early stopping.

The rules of its parameters are in `parameters`, of its end in `stopping`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, one_of, shown
from vertex_training.study.rules.choices import choice_problems
from vertex_training.study.rules.parameters import parameter_problems
from vertex_training.study.rules.stopping import stopping_problems
from vertex_training.study.search_space import is_finite, types_of, walk
from vertex_training.study.study import (
    ALGORITHMS,
    GOALS,
    NOISES,
    SELECTIONS,
    ConvexAutomatedStoppingSpec,
    MetricSpec,
    StudySpec,
)

_STUDY = "Vertex AI API, StudySpec"
_METRIC = f"{_STUDY}.MetricSpec"
_CONVEX = f"{_STUDY}.ConvexAutomatedStoppingSpec"

METRICS = Rule(
    name="study-metrics",
    says="a study has a metric to improve, not only safety metrics",
    source=f"{_METRIC}.safety_config",
)
METRIC_ID = Rule(name="metric-id", says="the id of a metric has no whitespace", source=f"{_METRIC}.metric_id")
METRIC_UNIQUE = Rule(
    name="metric-unique", says="the metrics of a study have different ids", source=f"{_METRIC}.metric_id"
)
METRIC_GOAL = Rule(
    name="metric-goal", says="a metric is to be maximized or minimized", source=f"{_METRIC}.goal"
)
METRIC_SAFETY = Rule(
    name="metric-safety",
    says="the threshold of a safe metric is finite and the fraction of safe trials is between 0 and 1",
    source=f"{_METRIC}.SafetyMetricConfig",
)
SEVERAL_OBJECTIVES = Rule(
    name="several-objectives",
    says="with several metrics to improve, the best trial is the best by the first of them",
    source="ours: several metrics have no single best trial, and the outputs name one",
    level="warning",
)
GRID_DOUBLE = Rule(
    name="grid-double",
    says="grid search is for integer, categorical and discrete parameters",
    source=f"{_STUDY}.Algorithm",
)
NOISE_UNUSED = Rule(
    name="observation-noise",
    says="tuning jobs do not use the observation noise, Vertex AI Vizier does",
    source=f"{_STUDY}.observation_noise",
    level="warning",
)
ONE_EARLY_STOPPING = Rule(
    name="early-stopping-one",
    says="a study has one rule for early stopping",
    source=f"{_STUDY}.automated_stopping_spec",
)
CONVEX_COUNTS = Rule(
    name="convex-counts",
    says="the counts of convex early stopping are not negative, and the minimum is not above the maximum",
    source=_CONVEX,
)
CONVEX_LEARNING_RATE = Rule(
    name="convex-learning-rate",
    says="the learning rate of convex early stopping is a parameter of the study",
    source=f"{_CONVEX}.learning_rate_parameter_name",
)

_STOPPING = ("decay_curve_stopping_spec", "median_automated_stopping_spec", "convex_automated_stopping_spec")


def study_problems(study: StudySpec, path: str = "study_spec") -> Iterator[Problem]:
    """Yield every finding about a study, in the order of its fields; `path` is its path in the resource."""
    yield from _metrics_problems(study, f"{path}.metrics")
    yield from parameter_problems(study.parameters, f"{path}.parameters")
    yield from choice_problems(study.algorithm, ALGORITHMS, f"{path}.algorithm")
    if study.algorithm == "GRID_SEARCH":
        yield from _grid_problems(study, path)
    yield from _noise_problems(study, f"{path}.observation_noise")
    yield from choice_problems(
        study.measurement_selection_type, SELECTIONS, f"{path}.measurement_selection_type"
    )
    yield from _early_stopping_problems(study, path)
    if study.study_stopping_config is not None:
        yield from stopping_problems(
            study.study_stopping_config,
            f"{path}.study_stopping_config",
            objectives=len(study.objectives),
            metrics=f"{path}.metrics",
        )


def _metrics_problems(study: StudySpec, path: str) -> Iterator[Problem]:
    if not study.metrics:
        yield METRICS.broken(path, "is empty; name the metric that the program reports")
    elif not study.objectives:
        yield METRICS.broken(
            path,
            "every metric has a safety_config, so no metric is improved; add the metric that decides which "
            "trial is best",
            rests_on=(f"{path}.*",),
        )
    if len(study.objectives) > 1:
        first, others = study.objectives[0].metric_id, len(study.objectives) - 1
        yield SEVERAL_OBJECTIVES.broken(
            path,
            f"{len(study.objectives)} metrics to improve; the best trial will be the best by {first}, the "
            f"first. Give {'the other' if others == 1 else 'the others'} a safety_config, or choose from the "
            "trials yourself",
            rests_on=(f"{path}.*",),
        )
    seen: dict[str, int] = {}
    for i, metric in enumerate(study.metrics):
        yield from _metric_problems(metric, f"{path}[{i}]")
        if metric.metric_id in seen:
            yield METRIC_UNIQUE.broken(
                f"{path}[{i}].metric_id",
                f"{shown(metric.metric_id)} is the id of {path}[{seen[metric.metric_id]}] as well; keep one",
                rests_on=(f"{path}[{i}].metric_id", f"{path}[{seen[metric.metric_id]}].metric_id"),
            )
        seen.setdefault(metric.metric_id, i)


def _metric_problems(metric: MetricSpec, path: str) -> Iterator[Problem]:
    if not metric.metric_id or re.search(r"\s", metric.metric_id):
        yield METRIC_ID.broken(
            f"{path}.metric_id",
            f"{shown(metric.metric_id)} is not a metric id; write the tag that the program reports, "
            "without whitespace",
        )
    yield from choice_problems(metric.goal, GOALS, f"{path}.goal")
    if metric.goal in ("", "GOAL_TYPE_UNSPECIFIED"):
        yield METRIC_GOAL.broken(
            f"{path}.goal", f"{shown(metric.goal)} is not a goal; write MAXIMIZE or MINIMIZE"
        )
    safety = metric.safety_config
    if safety is None:
        return
    if not is_finite(safety.safety_threshold):
        yield METRIC_SAFETY.broken(
            f"{path}.safety_config.safety_threshold",
            f"{safety.safety_threshold} is not a threshold; give a finite number",
        )
    fraction = safety.desired_min_safe_trials_fraction
    if fraction is not None and not 0 <= fraction <= 1:
        yield METRIC_SAFETY.broken(
            f"{path}.safety_config.desired_min_safe_trials_fraction",
            f"{fraction:g} is not a fraction of the trials; give a number from 0 to 1",
        )


def _grid_problems(study: StudySpec, path: str) -> Iterator[Problem]:
    for node in walk(study.parameters, f"{path}.parameters"):
        if types_of(node.spec) == ("double",):
            below = f"{node.path}.double_value_spec"
            yield GRID_DOUBLE.broken(
                below,
                f"{shown(node.spec.parameter_id)} is a double parameter, which has no grid; list its values "
                "in a discrete_value_spec, or use RANDOM_SEARCH",
                rests_on=(below, f"{path}.algorithm"),
            )


def _noise_problems(study: StudySpec, path: str) -> Iterator[Problem]:
    noise = study.observation_noise
    yield from choice_problems(noise, NOISES, path)
    if noise in ("LOW", "HIGH"):
        yield NOISE_UNUSED.broken(path, f"{noise} has no effect on a tuning job; leave it out")


def _early_stopping_problems(study: StudySpec, path: str) -> Iterator[Problem]:
    given = [name for name in _STOPPING if getattr(study, name) is not None]
    if len(given) > 1:
        yield ONE_EARLY_STOPPING.broken(
            f"{path}.{given[1]}",
            f"cannot be combined with {all_of([name for name in given if name != given[1]])}; a study has "
            "one rule for early stopping. Keep one",
            rests_on=tuple(f"{path}.{name}" for name in given),
        )
    if study.convex_automated_stopping_spec is not None:
        yield from _convex_problems(study.convex_automated_stopping_spec, study, path)


def _convex_problems(convex: ConvexAutomatedStoppingSpec, study: StudySpec, path: str) -> Iterator[Problem]:
    below = f"{path}.convex_automated_stopping_spec"
    for name in ("max_step_count", "min_step_count", "min_measurement_count"):
        if getattr(convex, name) < 0:
            yield CONVEX_COUNTS.broken(
                f"{below}.{name}",
                f"{getattr(convex, name)} is negative; give a count, or 0 to leave it to the service",
            )
    if 0 < convex.max_step_count < convex.min_step_count:
        yield CONVEX_COUNTS.broken(
            f"{below}.min_step_count",
            f"{convex.min_step_count} is more than max_step_count {convex.max_step_count}, so no trial would "
            "be stopped; give fewer",
            rests_on=(f"{below}.min_step_count", f"{below}.max_step_count"),
        )
    rate = convex.learning_rate_parameter_name
    known = [node.spec.parameter_id for node in walk(study.parameters, f"{path}.parameters")]
    if rate and rate not in known:
        hint = nearest(rate, known) or (f"use {one_of(known[:5])}" if known else "name a parameter")
        yield CONVEX_LEARNING_RATE.broken(
            f"{below}.learning_rate_parameter_name",
            f"{shown(rate)} is not a parameter of the study; {hint}",
            rests_on=(f"{below}.learning_rate_parameter_name", f"{path}.parameters.*"),
        )
