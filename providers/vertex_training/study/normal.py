"""The normal form of a study: what two declarations of the same search have in common.

What is the same to the service has one spelling, what vanishes on the wire is dropped. The normal form of a
normal form is itself. Nothing is refused here: a wrong value stays as it is, for `specs.study_rules` to see.
"""

from __future__ import annotations

from dataclasses import replace

from vertex_training.fields import durations, timestamps
from vertex_training.study.study import (
    ConditionalParameterSpec,
    ConvexAutomatedStoppingSpec,
    ParameterSpec,
    StudySpec,
    StudyStoppingConfig,
    StudyTimeConstraint,
)


def normal_study(study: StudySpec) -> StudySpec:
    """The study in normal form.

    LAST_MEASUREMENT is what a study without a measurement selection has (Vertex AI API,
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
    """An empty one stays: it says which rule stops trials."""
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
