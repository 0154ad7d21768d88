"""The spec of a tuning job, with the study and the job of each trial, and its normal form.

The API has these fields in `HyperparameterTuningJob`, and in the inputs of a training pipeline whose task is
tuning (`trainingjob.definition.HyperparameterTuningJobSpec`).

The normal form has one spelling for all values that the service treats as equal, and omits what the wire
drops. It is idempotent. Nothing is rejected here: a wrong value stays as it is, and `study.rules` reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from vertex_training.fields import durations, timestamps
from vertex_training.fields.effects import CHANGES, replaces
from vertex_training.job import job_spec
from vertex_training.job.job_spec import JobSpec
from vertex_training.study.study import (
    ConditionalParameterSpec,
    ConvexAutomatedStoppingSpec,
    ParameterSpec,
    StudySpec,
    StudyStoppingConfig,
    StudyTimeConstraint,
)


def normal_study(study: StudySpec) -> StudySpec:
    """Return the study in normal form.

    LAST_MEASUREMENT is the default measurement selection (Vertex AI API,
    `StudySpec.MeasurementSelectionType`).
    """
    return replace(
        study,
        parameters=tuple(map(_normal_parameter, study.parameters)),
        algorithm=_set(study.algorithm, "ALGORITHM_UNSPECIFIED"),
        observation_noise=_set(study.observation_noise, "OBSERVATION_NOISE_UNSPECIFIED"),
        measurement_selection_type=_set(
            study.measurement_selection_type, "MEASUREMENT_SELECTION_TYPE_UNSPECIFIED", "LAST_MEASUREMENT"
        ),
        convex_automated_stopping_spec=study.convex_automated_stopping_spec
        and _normal_convex(study.convex_automated_stopping_spec),
        study_stopping_config=study.study_stopping_config and _normal_stopping(study.study_stopping_config),
    )


def _set(value: str | None, *same_as_none: str) -> str | None:
    return None if value in ("", *same_as_none) else value


def _normal_parameter(parameter: ParameterSpec) -> ParameterSpec:
    return replace(
        parameter,
        scale_type=_set(parameter.scale_type, "SCALE_TYPE_UNSPECIFIED"),
        conditional_parameter_specs=tuple(map(_normal_condition, parameter.conditional_parameter_specs)),
    )


def _normal_condition(condition: ConditionalParameterSpec) -> ConditionalParameterSpec:
    return replace(condition, parameter_spec=_normal_parameter(condition.parameter_spec))


def _normal_convex(convex: ConvexAutomatedStoppingSpec) -> ConvexAutomatedStoppingSpec:
    """Normalise a convex stopping spec; an empty one stays, since it selects the rule."""
    return replace(
        convex,
        learning_rate_parameter_name=convex.learning_rate_parameter_name or None,
        update_all_stopped_trials=convex.update_all_stopped_trials or None,
    )


def _normal_stopping(config: StudyStoppingConfig) -> StudyStoppingConfig | None:
    normal = replace(
        config,
        should_stop_asap=config.should_stop_asap or None,
        minimum_runtime_constraint=config.minimum_runtime_constraint
        and _normal_constraint(config.minimum_runtime_constraint),
        maximum_runtime_constraint=config.maximum_runtime_constraint
        and _normal_constraint(config.maximum_runtime_constraint),
        max_duration_no_progress=durations.normal(config.max_duration_no_progress or "") or None,
    )
    return None if normal == StudyStoppingConfig() else normal


def _normal_constraint(constraint: StudyTimeConstraint) -> StudyTimeConstraint | None:
    normal = replace(
        constraint,
        max_duration=durations.normal(constraint.max_duration or "") or None,
        end_time=timestamps.normal(constraint.end_time or "") or None,
    )
    return None if normal == StudyTimeConstraint() else normal


_TRIALS = {CHANGES: replaces("the number of trials of {noun}")}


@dataclass(frozen=True, kw_only=True)
class TuningSpec:
    """Trials of one program with different arguments.

    With a `max_failed_trial_count` of 0 the service decides when a job with failed trials fails.
    """

    study_spec: StudySpec = field(metadata={CHANGES: replaces("a study", "once {noun} has it")})
    """Metrics, parameters, and the search for their values."""
    max_trial_count: int = field(metadata=_TRIALS)
    """Number of trials in all."""
    parallel_trial_count: int = field(metadata=_TRIALS)
    """Number of trials at the same time."""
    max_failed_trial_count: int = field(default=0, metadata=_TRIALS)
    """Number of trials that may fail before the job does. Default: the service decides."""
    trial_job_spec: JobSpec
    """Job of each trial. Each parameter is an argument of its tasks, after their own arguments."""


Tuning = TypeVar("Tuning", bound=TuningSpec)


def normalise(spec: Tuning) -> Tuning:
    """Return the normal form, equal for two specs of the same tuning in any spelling. Never raises."""
    return replace(
        spec,
        study_spec=normal_study(spec.study_spec),
        trial_job_spec=job_spec.normalise(spec.trial_job_spec),
    )


def trial_directory(base_output_directory: str, trial_id: str) -> str:
    """Return where a trial writes, gs://BUCKET/PREFIX/TRIAL/ (Vertex AI API, `CustomJobSpec`)."""
    return f"{base_output_directory.rstrip('/')}/{trial_id}/"


def model_directory(base_output_directory: str, trial_id: str) -> str:
    """Return where a trial writes its model, its AIP_MODEL_DIR."""
    return f"{trial_directory(base_output_directory, trial_id)}model/"
