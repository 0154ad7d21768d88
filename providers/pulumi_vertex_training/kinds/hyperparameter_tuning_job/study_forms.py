"""Short forms of what a study has: parameters by type, metrics by goal."""

from __future__ import annotations

from collections.abc import Sequence
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
)
from vertex_training.findings.words import nearest, one_of

Scale = Literal["linear", "log", "reverse_log"]

SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"}


@dataclass(frozen=True)
class Conditional:
    """A parameter under a condition, as `when` makes it."""

    values: Sequence[Input[Any]]
    parameter: Input[ParameterSpecArgs]


def when(values: Sequence[Input[Any]], parameter: Input[ParameterSpecArgs]) -> Conditional:
    """A parameter that a trial has only where its parent has one of these values."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise pulumi.RunError(f"when: {values!r} is no list of values of the parent; write [{values!r}]")
    return Conditional(values, parameter)


def double_parameter(
    parameter_id: Input[str], min_value: Input[float], max_value: Input[float], *, scale: Scale | None = None
) -> ParameterSpecArgs:
    """Any number between two bounds, both included. `scale` "log" is for what is tried by orders of
    magnitude, such as a learning rate.
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
    """Any whole number between two bounds, both included."""
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
    """One of some texts."""
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
    """One of some numbers, listed in increasing order."""
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
    """A metric that is to shrink."""
    return MetricSpecArgs(metric_id=metric_id, goal="MINIMIZE")


def maximize(metric_id: Input[str]) -> MetricSpecArgs:
    """A metric that is to grow."""
    return MetricSpecArgs(metric_id=metric_id, goal="MAXIMIZE")


def _scale(scale: str | None) -> str | None:
    if scale is None or scale in SCALES.values():
        return scale
    if scale not in SCALES:
        hint = nearest(str(scale), SCALES) or f"use {one_of(list(SCALES))}"
        raise pulumi.RunError(f"scale is {scale!r}; {hint}")
    return SCALES[scale]
