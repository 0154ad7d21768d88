"""The search space of a study: every parameter with its path, and the number of points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass

from vertex_training.fields.schema import child
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import shown
from vertex_training.study.study import ConditionalParameterSpec, ParameterSpec, StudySpec

EPSILON = 1e-10
"""Two numbers of a DISCRETE parameter that are nearer than this are the same.

Source: v1 reference, `DiscreteValueSpec`.
"""

TYPES = ("double", "integer", "categorical", "discrete")

Value = float | str


@dataclass(frozen=True, kw_only=True)
class Node:
    """A parameter, its path, and the values that its ancestors must have for it to be active."""

    path: str
    spec: ParameterSpec
    needs: tuple[tuple[str, frozenset[Value]], ...] = ()


def walk(
    parameters: Sequence[ParameterSpec], path: str, *, needs: tuple[tuple[str, frozenset[Value]], ...] = ()
) -> Iterator[Node]:
    """Yield every parameter, parents before their conditional parameters; `path` leads to the list."""
    for i, spec in enumerate(parameters):
        yield from _below(spec, f"{path}[{i}]", needs)


def _below(spec: ParameterSpec, path: str, needs: tuple[tuple[str, frozenset[Value]], ...]) -> Iterator[Node]:
    yield Node(path=path, spec=spec, needs=needs)
    for i, condition in enumerate(spec.conditional_parameter_specs):
        below = f"{path}.conditional_parameter_specs[{i}].parameter_spec"
        yield from _below(
            condition.parameter_spec, below, (*needs, (path, frozenset(condition_values(condition))))
        )


def study_names(spec: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and id of every known parameter and metric in a spec of any kind."""
    if isinstance(spec, StudySpec):
        for node in walk(spec.parameters, child(path, "parameters")):
            if node.spec.parameter_id != NOT_KNOWN:
                yield node.path, node.spec.parameter_id
        for i, metric in enumerate(spec.metrics):
            if metric.metric_id != NOT_KNOWN:
                yield f"{child(path, 'metrics')}[{i}]", metric.metric_id
    elif is_dataclass(spec) and not isinstance(spec, type):
        for item in fields(spec):
            yield from study_names(getattr(spec, item.name), child(path, item.name))


def types_of(spec: ParameterSpec) -> tuple[str, ...]:
    """Return the types of a parameter's value specs; a valid parameter has exactly one.

    They are "double", "integer", "categorical" and "discrete".
    """
    return tuple(name for name in TYPES if getattr(spec, f"{name}_value_spec") is not None)


def conditions_of(condition: ConditionalParameterSpec) -> tuple[str, ...]:
    """Return the types of parents that a condition names; a valid condition names exactly one."""
    fields = {
        "integer": condition.parent_int_values,
        "categorical": condition.parent_categorical_values,
        "discrete": condition.parent_discrete_values,
    }
    return tuple(name for name, value in fields.items() if value is not None)


def condition_values(condition: ConditionalParameterSpec) -> tuple[Value, ...]:
    """Return the values of the parent for which a conditional parameter is active."""
    for values in (
        condition.parent_int_values,
        condition.parent_categorical_values,
        condition.parent_discrete_values,
    ):
        if values is not None:
            return values.values
    return ()


def same(one: Value, other: Value) -> bool:
    """Return whether the service treats two values of one parameter as the same."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) < EPSILON


def exclude_each_other(one: Node, other: Node) -> bool:
    """Return whether no trial has both parameters, since an ancestor would need two values at once."""
    wanted = dict(one.needs)
    return any(
        path in wanted and not any(same(a, b) for a in values for b in wanted[path])
        for path, values in other.needs
    )


def points(parameters: Sequence[ParameterSpec]) -> int | None:
    """Return the number of different trials, or None if a DOUBLE parameter makes it infinite.

    Conditional parameters count only for the values that activate them.
    """
    return _product([_points_of(spec) for spec in parameters])


MOST_POINTS = 10**15
"""Larger numbers of points are not printed: they may have thousands of digits."""


def points_in_words(number: int) -> str:
    """Return the number of points for a message: "12", "more than 10^15"."""
    return str(number) if number <= MOST_POINTS else "more than 10^15"


def _points_of(spec: ParameterSpec) -> int | None:
    values, plain = _values_of(spec)
    if values is None:
        return None
    below = [
        (condition_values(condition), _points_of(condition.parameter_spec))
        for condition in spec.conditional_parameter_specs
    ]
    total = plain
    for value in values:
        number = _product([count for wanted, count in below if any(same(value, each) for each in wanted)])
        if number is None:
            return None
        total += number
    return total


def _product(numbers: Sequence[int | None]) -> int | None:
    total = 1
    for number in numbers:
        if number is None:
            return None
        total *= number
    return total


def _values_of(spec: ParameterSpec) -> tuple[tuple[Value, ...] | None, int]:
    """Return the values that a condition may name, and the number of other values."""
    if spec.categorical_value_spec is not None:
        return tuple(dict.fromkeys(spec.categorical_value_spec.values)), 0
    if spec.discrete_value_spec is not None:
        return tuple(dict.fromkeys(spec.discrete_value_spec.values)), 0
    if spec.integer_value_spec is not None:
        bounds = spec.integer_value_spec
        size = max(0, bounds.max_value - bounds.min_value + 1)
        named = {
            value
            for condition in spec.conditional_parameter_specs
            for value in condition_values(condition)
            if isinstance(value, int) and bounds.min_value <= value <= bounds.max_value
        }
        return tuple(sorted(named)), size - len(named)
    bound = spec.double_value_spec
    if bound is not None and bound.min_value == bound.max_value:
        return (bound.min_value,), 0
    return None, 0


def is_finite(*values: float) -> bool:
    """Return whether all of these numbers are finite."""
    return all(math.isfinite(value) for value in values)


def number_text(value: float) -> str:
    """Format a number for a message, with the digits that a double has."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def value_text(value: Value) -> str:
    """Format a value of a parameter for a message: a number, or a quoted text."""
    return shown(value) if isinstance(value, str) else number_text(value)
