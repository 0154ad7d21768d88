"""Typed arguments of a tuning job, as the API's messages or in short forms; dictionaries are accepted too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi
from pulumi import Input

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.program.job_args import (
    PscInterfaceConfigArgs,
    SchedulingArgs,
    WorkerPool,
    arguments_class,
    with_image_names,
)
from pulumi_vertex_training.program.references import ServiceAccountLike, service_account_email
from vertex_training.findings.words import nearest, one_of


@arguments_class
class SafetyMetricConfigArgs:
    """The limits of a safety metric.

    They are a threshold between safe and unsafe values, and the fraction of trials, 0 to 1, that should be
    safe.
    """

    safety_threshold: Input[float] | None = None
    desired_min_safe_trials_fraction: Input[float] | None = None


@arguments_class
class MetricSpecArgs:
    """A number that trials report under the tag `metric_id`; `goal` is MAXIMIZE or MINIMIZE."""

    metric_id: Input[str]
    goal: Input[str]
    safety_config: Input[SafetyMetricConfigArgs] | None = None


@arguments_class
class DoubleValueSpecArgs:
    """Any number between two bounds, both included."""

    min_value: Input[float]
    max_value: Input[float]
    default_value: Input[float] | None = None


@arguments_class
class IntegerValueSpecArgs:
    """Any whole number between two bounds, both included."""

    min_value: Input[int]
    max_value: Input[int]
    default_value: Input[int] | None = None


@arguments_class
class CategoricalValueSpecArgs:
    """One text of a list."""

    values: Input[Sequence[Input[str]]]
    default_value: Input[str] | None = None


@arguments_class
class DiscreteValueSpecArgs:
    """One number of a list in increasing order, of at most 1,000."""

    values: Input[Sequence[Input[float]]]
    default_value: Input[float] | None = None


@arguments_class
class DiscreteValueConditionArgs:
    """Values of a discrete parent."""

    values: Input[Sequence[Input[float]]]


@arguments_class
class IntValueConditionArgs:
    """Values of an integer parent."""

    values: Input[Sequence[Input[int]]]


@arguments_class
class CategoricalValueConditionArgs:
    """Values of a categorical parent."""

    values: Input[Sequence[Input[str]]]


@arguments_class
class ConditionalParameterSpecArgs:
    """A parameter that a trial has only if its parent has one of the values.

    Exactly one of the conditions is given.
    """

    parameter_spec: Input[ParameterSpecArgs]
    parent_discrete_values: Input[DiscreteValueConditionArgs] | None = None
    parent_int_values: Input[IntValueConditionArgs] | None = None
    parent_categorical_values: Input[CategoricalValueConditionArgs] | None = None


@arguments_class
class ParameterSpecArgs:
    """A value that each trial gets as the argument `--<parameter_id>`, with exactly one of the value specs.

    `double_parameter` and the other functions of this module are shorter.
    """

    parameter_id: Input[str]
    double_value_spec: Input[DoubleValueSpecArgs] | None = None
    integer_value_spec: Input[IntegerValueSpecArgs] | None = None
    categorical_value_spec: Input[CategoricalValueSpecArgs] | None = None
    discrete_value_spec: Input[DiscreteValueSpecArgs] | None = None
    scale_type: Input[str] | None = None
    conditional_parameter_specs: Input[Sequence[Input[ConditionalParameterSpecArgs]]] | None = None


@arguments_class
class DecayCurveAutomatedStoppingSpecArgs:
    """A rule that stops trials whose predicted final value is unlikely to be better than the best so far."""

    use_elapsed_duration: Input[bool] | None = None


@arguments_class
class MedianAutomatedStoppingSpecArgs:
    """A rule that stops trials that are worse than the median of completed trials."""

    use_elapsed_duration: Input[bool] | None = None


@arguments_class
class ConvexAutomatedStoppingSpecArgs:
    """A rule that stops trials whose overestimated final value is worse than the best so far.

    Counts are of steps, or of seconds with `use_elapsed_duration`.
    """

    max_step_count: Input[int] | None = None
    min_step_count: Input[int] | None = None
    min_measurement_count: Input[int] | None = None
    learning_rate_parameter_name: Input[str] | None = None
    use_elapsed_duration: Input[bool] | None = None
    update_all_stopped_trials: Input[bool] | None = None


@arguments_class
class StudyTimeConstraintArgs:
    """A duration such as "3600s", or a time in RFC 3339; exactly one of them is given."""

    max_duration: Input[str] | None = None
    end_time: Input[str] | None = None


@arguments_class
class StudyStoppingConfigArgs:
    """Limits that end the study before its last trial.

    With `should_stop_asap`, running trials are stopped as well.
    """

    should_stop_asap: Input[bool] | None = None
    minimum_runtime_constraint: Input[StudyTimeConstraintArgs] | None = None
    maximum_runtime_constraint: Input[StudyTimeConstraintArgs] | None = None
    min_num_trials: Input[int] | None = None
    max_num_trials: Input[int] | None = None
    max_num_trials_no_progress: Input[int] | None = None
    max_duration_no_progress: Input[str] | None = None


@arguments_class
class StudySpecArgs:
    """The metrics and parameters of the search, and its algorithm.

    `algorithm` is GRID_SEARCH or RANDOM_SEARCH; the default is Bayesian optimization.
    `measurement_selection_type` is LAST_MEASUREMENT (default) or BEST_MEASUREMENT.
    """

    metrics: Input[Sequence[Input[MetricSpecArgs]]]
    parameters: Input[Sequence[Input[ParameterSpecArgs]]]
    algorithm: Input[str] | None = None
    observation_noise: Input[str] | None = None
    measurement_selection_type: Input[str] | None = None
    decay_curve_stopping_spec: Input[DecayCurveAutomatedStoppingSpecArgs] | None = None
    median_automated_stopping_spec: Input[MedianAutomatedStoppingSpecArgs] | None = None
    convex_automated_stopping_spec: Input[ConvexAutomatedStoppingSpecArgs] | None = None
    study_stopping_config: Input[StudyStoppingConfigArgs] | None = None


@arguments_class
class TrialJobSpecArgs:
    """The job of each trial: the fields of a custom job without its name."""

    worker_pool_specs: Input[Sequence[Input[WorkerPool]]]
    scheduling: Input[SchedulingArgs] | None = None
    service_account: ServiceAccountLike | None = None
    network: Input[str] | None = None
    reserved_ip_ranges: Input[Sequence[Input[str]]] | None = None
    psc_interface_config: Input[PscInterfaceConfigArgs] | None = None
    base_output_directory: Input[str] | None = None
    persistent_resource_id: PersistentResource | Input[str] | None = None
    protected_artifact_location_id: Input[str] | None = None
    tensorboard: Input[str] | None = None
    enable_web_access: Input[bool] | None = None
    enable_dashboard_access: Input[bool] | None = None
    experiment: Input[str] | None = None
    experiment_run: Input[str] | None = None
    models: Input[Sequence[Input[str]]] | None = None


_NAMED: Mapping[str, Callable[[Any], Any]] = {
    "worker_pool_specs": with_image_names,
    "workerPoolSpecs": with_image_names,
    "service_account": service_account_email,
    "serviceAccount": service_account_email,
}
"""Fields that accept resources, in either spelling, and the function that returns their names."""


def with_names(job_spec: Any) -> Any:
    """Replace images and a service account that are resources by their names in the job of a trial."""
    if isinstance(job_spec, pulumi.Output):
        return job_spec.apply(with_names)
    if isinstance(job_spec, Mapping):
        return {key: _NAMED.get(key, _as_it_is)(value) for key, value in job_spec.items()}
    if isinstance(job_spec, TrialJobSpecArgs):
        for key in ("worker_pool_specs", "service_account"):
            value = pulumi.get(job_spec, key)
            if value is not None:
                pulumi.set(job_spec, key, _NAMED[key](value))
    return job_spec


def _as_it_is(value: Any) -> Any:
    return value


Scale = Literal["linear", "log", "reverse_log"]

SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"}


@dataclass(frozen=True)
class Conditional:
    """A parameter with a condition, as `when` returns it."""

    values: Sequence[Input[Any]]
    parameter: Input[ParameterSpecArgs]


def when(values: Sequence[Input[Any]], parameter: Input[ParameterSpecArgs]) -> Conditional:
    """Make a parameter conditional: a trial has it only if its parent has one of these values."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise pulumi.RunError(f"when: {values!r} is not a list of values of the parent; write [{values!r}]")
    return Conditional(values, parameter)


def double_parameter(
    parameter_id: Input[str], min_value: Input[float], max_value: Input[float], *, scale: Scale | None = None
) -> ParameterSpecArgs:
    """Return a parameter of any number between two bounds, both included.

    The `scale` "log" is for orders of magnitude, such as those of a learning rate.
    """
    return ParameterSpecArgs(
        parameter_id=parameter_id,
        double_value_spec=DoubleValueSpecArgs(min_value=min_value, max_value=max_value),
        scale_type=_scale(scale),
    )


def integer_parameter(
    parameter_id: Input[str],
    min_value: Input[int],
    max_value: Input[int],
    *,
    scale: Scale | None = None,
    conditions: Sequence[Conditional] = (),
) -> ParameterSpecArgs:
    """Return a parameter of any whole number between two bounds, both included."""
    return ParameterSpecArgs(
        parameter_id=parameter_id,
        integer_value_spec=IntegerValueSpecArgs(min_value=min_value, max_value=max_value),
        scale_type=_scale(scale),
        conditional_parameter_specs=[
            ConditionalParameterSpecArgs(
                parameter_spec=one.parameter, parent_int_values=IntValueConditionArgs(values=one.values)
            )
            for one in conditions
        ]
        or None,
    )


def categorical_parameter(
    parameter_id: Input[str], values: Input[Sequence[Input[str]]], *, conditions: Sequence[Conditional] = ()
) -> ParameterSpecArgs:
    """Return a parameter that is one text of a list."""
    return ParameterSpecArgs(
        parameter_id=parameter_id,
        categorical_value_spec=CategoricalValueSpecArgs(values=values),
        conditional_parameter_specs=[
            ConditionalParameterSpecArgs(
                parameter_spec=one.parameter,
                parent_categorical_values=CategoricalValueConditionArgs(values=one.values),
            )
            for one in conditions
        ]
        or None,
    )


def discrete_parameter(
    parameter_id: Input[str],
    values: Input[Sequence[Input[float]]],
    *,
    scale: Scale | None = None,
    conditions: Sequence[Conditional] = (),
) -> ParameterSpecArgs:
    """Return a parameter that is one number of a list in increasing order."""
    return ParameterSpecArgs(
        parameter_id=parameter_id,
        discrete_value_spec=DiscreteValueSpecArgs(values=values),
        scale_type=_scale(scale),
        conditional_parameter_specs=[
            ConditionalParameterSpecArgs(
                parameter_spec=one.parameter,
                parent_discrete_values=DiscreteValueConditionArgs(values=one.values),
            )
            for one in conditions
        ]
        or None,
    )


def minimize(metric_id: Input[str]) -> MetricSpecArgs:
    """Return a metric to minimize."""
    return MetricSpecArgs(metric_id=metric_id, goal="MINIMIZE")


def maximize(metric_id: Input[str]) -> MetricSpecArgs:
    """Return a metric to maximize."""
    return MetricSpecArgs(metric_id=metric_id, goal="MAXIMIZE")


def _scale(scale: str | None) -> str | None:
    if scale is None or scale in SCALES.values():
        return scale
    if scale not in SCALES:
        hint = nearest(str(scale), SCALES) or f"use {one_of(list(SCALES))}"
        raise pulumi.RunError(f"scale is {scale!r}; {hint}")
    return SCALES[scale]
