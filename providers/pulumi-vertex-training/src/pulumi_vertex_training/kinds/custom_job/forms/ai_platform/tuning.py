"""The hyperparameters of a training input of legacy AI Platform, and their conversion to a study.

Source: AI Platform Training and Prediction API, v1, `GoogleCloudMlV1__HyperparameterSpec` and its messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import PREFIX
from vertex_training.fields.decode import decode
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown
from vertex_training.job.rules.job_spec import below
from vertex_training.replica_environment.job_variables import METRIC_TAG
from vertex_training.study.study import (
    CategoricalValueSpec,
    DiscreteValueSpec,
    DoubleValueSpec,
    IntegerValueSpec,
    MedianAutomatedStoppingSpec,
    MetricSpec,
    ParameterSpec,
    StudySpec,
)

PATH = f"{PREFIX}.hyperparameters"

TYPES = ("DOUBLE", "INTEGER", "CATEGORICAL", "DISCRETE")

_SPEC = "AI Platform Training API v1, HyperparameterSpec"

NEEDED = Rule(
    name="legacy-tuning",
    says="a tuning job has hyperparameters",
    source="AI Platform Training API v1, TrainingInput.hyperparameters",
)
TYPE = Rule(
    name="legacy-parameter-type",
    says=f"a hyperparameter has one of the types {one_of(TYPES)}",
    source="AI Platform Training API v1, ParameterSpec.type",
)
BOUNDS = Rule(
    name="legacy-parameter-bounds",
    says="a hyperparameter has the bounds or the values of its type",
    source="AI Platform Training API v1, ParameterSpec",
)
RESUMED = Rule(
    name="legacy-resumed-tuning",
    says="a study of Vertex AI has no trials of an earlier one",
    source=f"{_SPEC}.resumePreviousJobId",
    level="warning",
)
EARLY_STOPPING = Rule(
    name="legacy-early-stopping",
    says="early stopping of trials becomes the median rule",
    source="ours: AI Platform did not document its rule, and Vertex AI has three",
    level="warning",
)
METRIC = Rule(
    name="legacy-metric-tag",
    says="a metric without a tag has the default tag of cloudml-hypertune",
    source=f"{_SPEC}.hyperparameterMetricTag",
    level="warning",
)


@dataclass(frozen=True, kw_only=True)
class LegacyParameter:
    """One hyperparameter, with the bounds or the values of its type."""

    parameter_name: str = ""
    type: str = ""
    min_value: float | None = field(default=None, metadata={"presence": True})
    max_value: float | None = field(default=None, metadata={"presence": True})
    categorical_values: tuple[str, ...] = ()
    discrete_values: tuple[float, ...] = ()
    scale_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """The search of a tuning job. A count of 0 leaves the choice to the service, which was one trial."""

    goal: str | None = None
    params: tuple[LegacyParameter, ...] = ()
    max_trials: int = 0
    max_parallel_trials: int = 0
    max_failed_trials: int = 0
    hyperparameter_metric_tag: str | None = None
    resume_previous_job_id: str | None = None
    enable_trial_early_stopping: bool = False
    algorithm: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The study of a tuning job and its counts, with the findings. `study` is None if it cannot be made.

    `origins` maps the API's paths to the document's.
    """

    study: StudySpec | None
    max_trial_count: int = 1
    parallel_trial_count: int = 1
    max_failed_trial_count: int = 0
    problems: tuple[Problem, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


def convert_hyperparameters(value: Mapping[str, Any] | None) -> Tuning:
    """Convert the hyperparameters of a training input to a study. Never raises."""
    if value is None:
        problem = NEEDED.broken(
            PATH,
            "are missing, so this is no tuning job; give them, or use "
            'vt.CustomJob("train", **vt.from_training_input(document))',
        )
        return Tuning(study=None, problems=(problem,))
    decoded = decode(Hyperparameters, value)
    problems = [*below(decoded.problems, PATH)]
    given = decoded.draft
    if given is None:
        return Tuning(study=None, problems=tuple(problems))
    problems += _remarks(given)
    parameters = []
    for position, one in enumerate(given.params):
        made, wrong = _parameter(one, f"{PATH}.params[{position}]")
        parameters.append(made)
        problems += [wrong] if wrong else []
    tag, goal = given.hyperparameter_metric_tag or METRIC_TAG, given.goal or "MAXIMIZE"
    study = StudySpec(
        metrics=(MetricSpec(metric_id=tag, goal=goal),),
        parameters=tuple(parameters),
        algorithm=None if given.algorithm == "ALGORITHM_UNSPECIFIED" else given.algorithm or None,
        median_automated_stopping_spec=MedianAutomatedStoppingSpec()
        if given.enable_trial_early_stopping
        else None,
    )
    return Tuning(
        study=study,
        max_trial_count=given.max_trials or 1,
        parallel_trial_count=given.max_parallel_trials or 1,
        max_failed_trial_count=given.max_failed_trials,
        problems=tuple(problems),
        origins=dict(_origins(given)),
    )


def _parameter(one: LegacyParameter, path: str) -> tuple[ParameterSpec, Problem | None]:
    """Return a parameter of a study, and what is wrong with it."""
    name = one.type.upper()
    scale = None if one.scale_type in (None, "", "NONE") else one.scale_type
    plain = ParameterSpec(parameter_id=one.parameter_name, scale_type=scale)
    if name not in TYPES:
        hint = nearest(name, TYPES) if name else ""
        return plain, TYPE.broken(
            f"{path}.type",
            f"{shown(one.type) if one.type else 'is missing'}; "
            f"{f'{hint} G' if hint else 'g'}ive {one_of(TYPES)}",
        )
    if name in ("DOUBLE", "INTEGER"):
        low, high = one.min_value, one.max_value
        if low is None or high is None:
            missing = "min_value" if low is None else "max_value"
            return plain, BOUNDS.broken(
                f"{path}.{missing}", f"is missing; a parameter of type {name} has minValue and maxValue"
            )
        if name == "DOUBLE":
            bounds = DoubleValueSpec(min_value=low, max_value=high)
            return _with(plain, double_value_spec=bounds), None
        if low != int(low) or high != int(high):
            wrong = "min_value" if low != int(low) else "max_value"
            return plain, BOUNDS.broken(
                f"{path}.{wrong}",
                f"{getattr(one, wrong):g} is not a whole number; give one, or the type DOUBLE",
            )
        whole = IntegerValueSpec(min_value=int(low), max_value=int(high))
        return _with(plain, integer_value_spec=whole), None
    field_name = "categorical_values" if name == "CATEGORICAL" else "discrete_values"
    if not getattr(one, field_name):
        written = "categoricalValues" if name == "CATEGORICAL" else "discreteValues"
        return plain, BOUNDS.broken(
            f"{path}.{field_name}", f"is empty; a parameter of type {name} has {written}"
        )
    if name == "CATEGORICAL":
        choice = CategoricalValueSpec(values=one.categorical_values)
        return _with(plain, categorical_value_spec=choice), None
    return _with(plain, discrete_value_spec=DiscreteValueSpec(values=one.discrete_values)), None


def _with(plain: ParameterSpec, **spec: Any) -> ParameterSpec:
    return ParameterSpec(parameter_id=plain.parameter_id, scale_type=plain.scale_type, **spec)


def _remarks(given: Hyperparameters) -> Iterator[Problem]:
    if not given.hyperparameter_metric_tag:
        yield METRIC.broken(
            f"{PATH}.hyperparameter_metric_tag",
            f"is missing, so the id of the metric is {METRIC_TAG}; report the metric under it with "
            "hypertune.HyperTune(), or give the tag under which the program reports it",
        )
    if given.resume_previous_job_id:
        yield RESUMED.broken(
            f"{PATH}.resume_previous_job_id",
            f"{given.resume_previous_job_id} is left out: a study of Vertex AI starts without earlier trials",
        )
    if given.enable_trial_early_stopping:
        yield EARLY_STOPPING.broken(
            f"{PATH}.enable_trial_early_stopping",
            "true becomes median_automated_stopping_spec; decay_curve_stopping_spec and "
            "convex_automated_stopping_spec are the other rules",
        )


def _origins(given: Hyperparameters) -> Iterator[tuple[str, str]]:
    yield "study_spec", PATH
    yield "study_spec.metrics", f"{PATH}.hyperparameter_metric_tag"
    yield "study_spec.metrics[0].metric_id", f"{PATH}.hyperparameter_metric_tag"
    yield "study_spec.metrics[0].goal", f"{PATH}.goal"
    yield "study_spec.parameters", f"{PATH}.params"
    yield "study_spec.algorithm", f"{PATH}.algorithm"
    yield "max_trial_count", f"{PATH}.max_trials"
    yield "parallel_trial_count", f"{PATH}.max_parallel_trials"
    yield "max_failed_trial_count", f"{PATH}.max_failed_trials"
    for position, one in enumerate(given.params):
        new, old = f"study_spec.parameters[{position}]", f"{PATH}.params[{position}]"
        kind = one.type.lower()
        yield new, old
        yield f"{new}.parameter_id", f"{old}.parameter_name"
        for name in ("min_value", "max_value"):
            yield f"{new}.{kind}_value_spec.{name}", f"{old}.{name}"
        yield f"{new}.{kind}_value_spec.values", f"{old}.{kind}_values"
