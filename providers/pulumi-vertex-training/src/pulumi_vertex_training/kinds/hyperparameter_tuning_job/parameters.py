"""Short forms of parameters and metrics, and the names of resources in the job of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi
from pulumi import Input

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.args import (
    CategoricalValueConditionArgs,
    CategoricalValueSpecArgs,
    ConditionalParameterSpecArgs,
    DiscreteValueConditionArgs,
    DiscreteValueSpecArgs,
    DoubleValueSpecArgs,
    IntegerValueSpecArgs,
    IntValueConditionArgs,
    MetricSpecArgs,
    ParameterSpecArgs,
    TrialJobSpecArgs,
)
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.arguments.references import service_account_email
from pulumi_vertex_training.program.arguments.worker_pools import with_names_and_counts

_NAMED: Mapping[str, Callable[[Any], Any]] = {
    "worker_pool_specs": with_names_and_counts,
    "workerPoolSpecs": with_names_and_counts,
    "service_account": service_account_email,
    "serviceAccount": service_account_email,
}
"""Fields that accept resources, in either spelling, and the function that returns their names."""


def with_names(job_spec: object) -> Any:
    """Replace images and a service account that are resources by their names in the job of a trial."""
    if isinstance(job_spec, pulumi.Output):
        return job_spec.apply(with_names)
    if isinstance(job_spec, Mapping):
        return {key: _NAMED[key](value) if key in _NAMED else value for key, value in job_spec.items()}
    if isinstance(job_spec, TrialJobSpecArgs):
        for key in ("worker_pool_specs", "service_account"):
            value = pulumi.get(job_spec, key)
            if value is not None:
                pulumi.set(job_spec, key, _NAMED[key](value))
    return job_spec


Scale = Literal["linear", "log", "reverse_log"]

SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"}


@dataclass(frozen=True)
class Conditional:
    """A parameter with a condition, as `when` returns it."""

    values: Sequence[Input[Any]]
    parameter: Input[ParameterSpecArgs]


@checked_call
def when(values: Sequence[Input[Any]], parameter: Input[ParameterSpecArgs]) -> Conditional:
    """Make a parameter conditional: a trial has it only if its parent has one of these values."""
    return Conditional(values, parameter)


@checked_call
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


@checked_call
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


@checked_call
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


@checked_call
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


@checked_call
def minimize(metric_id: Input[str]) -> MetricSpecArgs:
    """Return a metric to minimize."""
    return MetricSpecArgs(metric_id=metric_id, goal="MINIMIZE")


@checked_call
def maximize(metric_id: Input[str]) -> MetricSpecArgs:
    """Return a metric to maximize."""
    return MetricSpecArgs(metric_id=metric_id, goal="MAXIMIZE")


def _scale(scale: str | None) -> str | None:
    """Return the API's name of a scale. The check of the tuning job reports any other word, with its path."""
    return None if scale is None else SCALES.get(scale, scale)
