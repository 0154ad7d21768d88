"""A study: what is tuned, what is measured, and by which rules trials are chosen and stopped. Pure.

Source of all rules: the API's message `StudySpec` with its comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Value: TypeAlias = "float | int | str"
"""Of a parameter: int for INTEGER, str for CATEGORICAL, float for the two others."""

Parameters: TypeAlias = Mapping[str, Value]
Kind: TypeAlias = Literal["DOUBLE", "INTEGER", "CATEGORICAL", "DISCRETE"]
Scale: TypeAlias = Literal["LINEAR", "LOG", "REVERSE_LOG"]

EPSILON = 1e-10
"""Discrete values that are nearer than this are one value."""

_KINDS: Mapping[str | None, Kind] = {
    "double_value_spec": "DOUBLE",
    "integer_value_spec": "INTEGER",
    "categorical_value_spec": "CATEGORICAL",
    "discrete_value_spec": "DISCRETE",
}
_SCALES: Mapping[str, Scale] = {"UNIT_LOG_SCALE": "LOG", "UNIT_REVERSE_LOG_SCALE": "REVERSE_LOG"}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A parameter that is there only while its parent has one of the values."""

    values: tuple[Value, ...]
    parameter: Parameter


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What is tuned. `low` and `high`, both included, of DOUBLE and INTEGER; `values` of the others."""

    id: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    values: tuple[Value, ...] = ()
    scale: Scale = "LINEAR"
    conditions: tuple[Condition, ...] = ()

    def active(self, value: Value) -> list[tuple[int, Parameter]]:
        """The parameters that are there while this one has that value, with their positions."""
        return [
            (position, each.parameter)
            for position, each in enumerate(self.conditions)
            if any(same(value, other) for other in each.values)
        ]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What is measured. `threshold`: it is no objective, its value only has to be this good."""

    id: str
    maximize: bool = True
    threshold: float | None = None

    def better(self, value: float, other: float) -> bool:
        """Whether `value` is better than `other`."""
        return value > other if self.maximize else value < other

    def gain(self, value: float) -> float:
        """The value as one of which more is better."""
        return value if self.maximize else -value


@dataclass(frozen=True, kw_only=True)
class Study:
    """A `StudySpec` as the searches and rules read it; `message` is the whole of it."""

    metrics: tuple[Metric, ...]
    parameters: tuple[Parameter, ...]
    algorithm: Literal["BAYESIAN", "GRID", "RANDOM"] = "BAYESIAN"
    best_measurement: bool = False
    message: Any = None

    @property
    def objectives(self) -> tuple[Metric, ...]:
        """The metrics that are optimized; the others are safety metrics."""
        return tuple(each for each in self.metrics if each.threshold is None)

    @property
    def objective(self) -> Metric | None:
        """The objective where there is one alone."""
        return self.objectives[0] if len(self.objectives) == 1 else None


def same(one: Value, other: Value) -> bool:
    """Whether two values of a parameter are one."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) < EPSILON


def choose(parameters: Sequence[Parameter], pick: Callable[[Parameter, str], Value]) -> dict[str, Value]:
    """A value for every parameter and for those that become active by it, in the order of the study.

    `pick` gets a parameter and its path, which tells apart parameters of one name below different values.
    """
    chosen: dict[str, Value] = {}

    def visit(parameter: Parameter, path: str) -> None:
        value = pick(parameter, path)
        chosen[parameter.id] = value
        for position, child in parameter.active(value):
            visit(child, f"{path}/{position}/{child.id}")

    for parameter in parameters:
        visit(parameter, parameter.id)
    return chosen


def every(parameters: Sequence[Parameter]) -> Iterator[Parameter]:
    """All parameters, those below a condition too."""
    for parameter in parameters:
        yield parameter
        yield from every([each.parameter for each in parameter.conditions])


def read(spec: Any) -> Study:
    """The study of a `StudySpec` message that breaks no rule."""
    return Study(
        metrics=tuple(_metric(each) for each in spec.metrics),
        parameters=tuple(_parameter(each) for each in spec.parameters),
        algorithm={"GRID_SEARCH": "GRID", "RANDOM_SEARCH": "RANDOM"}.get(  # type: ignore[arg-type]
            enum_name(spec, "algorithm"), "BAYESIAN"
        ),
        best_measurement=enum_name(spec, "measurement_selection_type") == "BEST_MEASUREMENT",
        message=spec,
    )


def enum_name(message: Any, field: str) -> str:
    """The name of the value of an enum field."""
    kind = message.DESCRIPTOR.fields_by_name[field].enum_type
    value = kind.values_by_number.get(getattr(message, field))
    return value.name if value is not None else str(getattr(message, field))


def kind_of(spec: Any) -> Kind | None:
    """The kind of a `ParameterSpec` message."""
    return _KINDS.get(spec.WhichOneof("parameter_value_spec"))


def condition_values(condition: Any) -> tuple[Value, ...]:
    """The parent's values that a `ConditionalParameterSpec` message lists."""
    which = condition.WhichOneof("parent_value_condition")
    return tuple(getattr(condition, which).values) if which else ()


def _metric(spec: Any) -> Metric:
    threshold = spec.safety_config.safety_threshold if spec.HasField("safety_config") else None
    return Metric(id=spec.metric_id, maximize=enum_name(spec, "goal") != "MINIMIZE", threshold=threshold)


def _parameter(spec: Any) -> Parameter:
    which = spec.WhichOneof("parameter_value_spec")
    values = getattr(spec, which)
    listed = which in ("categorical_value_spec", "discrete_value_spec")
    return Parameter(
        id=spec.parameter_id,
        kind=_KINDS[which],
        low=0.0 if listed else values.min_value,
        high=0.0 if listed else values.max_value,
        values=tuple(values.values) if listed else (),
        scale=_SCALES.get(enum_name(spec, "scale_type"), "LINEAR"),
        conditions=tuple(
            Condition(values=condition_values(each), parameter=_parameter(each.parameter_spec))
            for each in spec.conditional_parameter_specs
        ),
    )
