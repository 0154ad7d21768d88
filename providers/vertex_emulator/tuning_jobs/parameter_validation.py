"""The service's own checks of a study's parameters (the comments of `StudySpec.ParameterSpec`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from vertex_emulator.rpc.methods import Violation
from vertex_emulator.tuning_jobs.study.study import EPSILON, Value, condition_values, enum_name, kind_of, same

_REQUIRED = "Required field is not set."
_MAX_VALUES = 1000
_MAX_DEPTH = 10
_CONDITIONS = {
    "parent_int_values": "INTEGER",
    "parent_discrete_values": "DISCRETE",
    "parent_categorical_values": "CATEGORICAL",
}


def parameter_faults(spec: Any) -> Iterator[Violation]:
    """What is wrong with the parameters of a `StudySpec` message."""
    if not spec.parameters:
        yield Violation("study_spec.parameters", _REQUIRED)
    grid = enum_name(spec, "algorithm") == "GRID_SEARCH"
    above: set[str] = set()
    for index, parameter in enumerate(spec.parameters):
        path = f"study_spec.parameters[{index}]"
        if parameter.parameter_id in above:
            yield _not_unique(parameter, path)
        yield from _faults(parameter, path, frozenset(above), grid=grid, depth=1)
        above.update(_names(parameter))


def _names(parameter: Any) -> Iterator[str]:
    yield parameter.parameter_id
    for each in parameter.conditional_parameter_specs:
        yield from _names(each.parameter_spec)


def _not_unique(parameter: Any, path: str) -> Violation:
    return Violation(
        f"{path}.parameter_id", f"{parameter.parameter_id!r} must be unique amongst all parameters."
    )


def _faults(
    parameter: Any, path: str, above: frozenset[str], *, grid: bool, depth: int
) -> Iterator[Violation]:
    name = parameter.parameter_id
    if not name:
        yield Violation(f"{path}.parameter_id", _REQUIRED)
    elif any(letter.isspace() for letter in name):
        yield Violation(f"{path}.parameter_id", f"{name!r} must not contain whitespaces.")
    which, kind = parameter.WhichOneof("parameter_value_spec"), kind_of(parameter)
    if which is None:
        yield Violation(
            path,
            "One of `double_value_spec`, `integer_value_spec`, `categorical_value_spec` and "
            "`discrete_value_spec` must be set.",
        )
        return
    if grid and kind == "DOUBLE":
        yield Violation(
            f"{path}.double_value_spec",
            f"GRID_SEARCH needs every parameter to be INTEGER, CATEGORICAL or DISCRETE; {name!r} is DOUBLE.",
        )
    values = getattr(parameter, which)
    listed = kind in ("CATEGORICAL", "DISCRETE")
    yield from (_list_faults if listed else _range_faults)(values, f"{path}.{which}")
    yield from _scale_faults(parameter, kind, values, path)
    if depth > _MAX_DEPTH:
        yield Violation(path, f"Conditional parameters can be at most {_MAX_DEPTH} deep.")
        return
    yield from _condition_faults(parameter, path, above | {name}, grid=grid, depth=depth)


def _range_faults(values: Any, path: str) -> Iterator[Violation]:
    low, high = values.min_value, values.max_value
    if not (math.isfinite(low) and math.isfinite(high)):
        yield Violation(path, f"The bounds must be finite numbers, not {low} and {high}.")
    elif low > high:
        yield Violation(f"{path}.max_value", f"max_value {high} is less than min_value {low}.")


def _list_faults(values: Any, path: str) -> Iterator[Violation]:
    found = list(values.values)
    if not found:
        yield Violation(f"{path}.values", _REQUIRED)
    elif len(found) > _MAX_VALUES:
        yield Violation(f"{path}.values", f"The list should not contain more than {_MAX_VALUES} values.")
    elif isinstance(found[0], str):
        if len(set(found)) < len(found):
            yield Violation(f"{path}.values", "The values must be unique.")
    elif not all(math.isfinite(each) for each in found):
        yield Violation(f"{path}.values", "The values must be finite numbers.")
    elif any(b - a < EPSILON for a, b in pairwise(found)):
        yield Violation(
            f"{path}.values", "The list should be in increasing order and its values at least 1e-10 apart."
        )


def _scale_faults(parameter: Any, kind: str | None, values: Any, path: str) -> Iterator[Violation]:
    scale = enum_name(parameter, "scale_type")
    if scale == "SCALE_TYPE_UNSPECIFIED":
        return
    if kind == "CATEGORICAL":
        yield Violation(f"{path}.scale_type", "Leave it unset for CATEGORICAL parameters.")
        return
    least = min(values.values, default=1.0) if kind == "DISCRETE" else values.min_value
    if scale in ("UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE") and not least > 0:
        yield Violation(
            f"{path}.scale_type",
            f"With {scale} the entire feasible space must be strictly positive; it begins at {least}.",
        )


def _condition_faults(
    parameter: Any, path: str, above: frozenset[str], *, grid: bool, depth: int
) -> Iterator[Violation]:
    by_name: dict[str, list[Value]] = {}
    for index, each in enumerate(parameter.conditional_parameter_specs):
        at = f"{path}.conditional_parameter_specs[{index}]"
        values = condition_values(each)
        which = each.WhichOneof("parent_value_condition")
        if which is None:
            yield Violation(
                at,
                "One of `parent_discrete_values`, `parent_int_values` and `parent_categorical_values` must "
                "be set.",
            )
        elif _CONDITIONS[which] != kind_of(parameter):
            yield Violation(
                f"{at}.{which}",
                f"The parent {parameter.parameter_id!r} is of type {kind_of(parameter)}, not "
                f"{_CONDITIONS[which]}.",
            )
        elif not values:
            yield Violation(f"{at}.{which}.values", _REQUIRED)
        elif strange := [value for value in values if not _can_be(parameter, value)]:
            yield Violation(
                f"{at}.{which}.values",
                f"{strange[0]!r} is no value that the parent {parameter.parameter_id!r} can have.",
            )
        if not each.HasField("parameter_spec"):
            yield Violation(f"{at}.parameter_spec", _REQUIRED)
            continue
        child = each.parameter_spec
        if child.parameter_id in above:
            yield _not_unique(child, f"{at}.parameter_spec")
        yield from _faults(child, f"{at}.parameter_spec", above, grid=grid, depth=depth + 1)
        for name in set(_names(child)):
            if _overlap(by_name.get(name, []), values):
                yield Violation(
                    f"{at}.parameter_spec.parameter_id",
                    f"{name!r} is there more than once for one value of the parent; parameters of one name "
                    "must have disjoint conditions.",
                )
            by_name.setdefault(name, []).extend(values)


def _can_be(parameter: Any, value: Value) -> bool:
    spec = getattr(parameter, parameter.WhichOneof("parameter_value_spec"))
    if kind_of(parameter) == "INTEGER":
        return isinstance(value, int) and spec.min_value <= value <= spec.max_value
    return any(same(value, each) for each in spec.values)


def _overlap(ones: Sequence[Value], others: Sequence[Value]) -> bool:
    return any(same(one, other) for one in ones for other in others)
