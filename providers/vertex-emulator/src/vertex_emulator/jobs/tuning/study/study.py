"""A study: its parameters, metrics, algorithm and stopping rules.

The source of all rules is the API's message `StudySpec` with its comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vertex_emulator.server.rpc.descriptors import DynamicMessage

Value: TypeAlias = "float | int | str"
"""The value of a parameter: int for INTEGER, str for CATEGORICAL, float for DOUBLE and DISCRETE."""

Parameters: TypeAlias = Mapping[str, Value]
Kind: TypeAlias = Literal["DOUBLE", "INTEGER", "CATEGORICAL", "DISCRETE"]
Scale: TypeAlias = Literal["LINEAR", "LOG", "REVERSE_LOG"]

EPSILON = 1e-10
"""Discrete values with a smaller distance are equal."""

_KINDS: Mapping[str | None, Kind] = {
    "double_value_spec": "DOUBLE",
    "integer_value_spec": "INTEGER",
    "categorical_value_spec": "CATEGORICAL",
    "discrete_value_spec": "DISCRETE",
}
_SCALES: Mapping[str, Scale] = {"UNIT_LOG_SCALE": "LOG", "UNIT_REVERSE_LOG_SCALE": "REVERSE_LOG"}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A parameter that is active only while its parent has one of the values."""

    values: tuple[Value, ...]
    parameter: Parameter


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter.

    DOUBLE and INTEGER have the inclusive bounds `low` and `high`, the others have `values`.
    """

    id: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    values: tuple[Value, ...] = ()
    scale: Scale = "LINEAR"
    conditions: tuple[Condition, ...] = ()

    def active(self, value: Value) -> list[tuple[int, Parameter]]:
        """Return the child parameters that are active for the value, with their positions."""
        return [
            (position, each.parameter)
            for position, each in enumerate(self.conditions)
            if any(same(value, other) for other in each.values)
        ]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric. With a `threshold`, it is a safety metric and not an objective."""

    id: str
    maximize: bool = True
    threshold: float | None = None

    def better(self, value: float, other: float) -> bool:
        """Return whether `value` is better than `other`."""
        return value > other if self.maximize else value < other

    def gain(self, value: float) -> float:
        """Convert the value so that higher is better."""
        return value if self.maximize else -value


@dataclass(frozen=True, kw_only=True)
class Study:
    """A `StudySpec` in the form that searches and rules use; `message` is the original."""

    metrics: tuple[Metric, ...]
    parameters: tuple[Parameter, ...]
    algorithm: Literal["BAYESIAN", "GRID", "RANDOM"] = "BAYESIAN"
    best_measurement: bool = False
    message: DynamicMessage

    @property
    def objectives(self) -> tuple[Metric, ...]:
        """The optimized metrics; the others are safety metrics."""
        return tuple(each for each in self.metrics if each.threshold is None)

    @property
    def objective(self) -> Metric | None:
        """The only objective, or None if there are several."""
        return self.objectives[0] if len(self.objectives) == 1 else None


def same(one: Value, other: Value) -> bool:
    """Return whether two values of a parameter are equal."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) < EPSILON


def choose(parameters: Sequence[Parameter], pick: Callable[[Parameter, str], Value]) -> dict[str, Value]:
    """Return a value for every active parameter, in the order of the study.

    `pick` gets a parameter and its path. The path distinguishes parameters of one name under different parent
    values.
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
    """Yield all parameters, including conditional ones."""
    for parameter in parameters:
        yield parameter
        yield from every([each.parameter for each in parameter.conditions])


def read(spec: DynamicMessage) -> Study:
    """Return the study of a valid `StudySpec` message."""
    return Study(
        metrics=tuple(_metric(each) for each in spec.metrics),
        parameters=tuple(_parameter(each) for each in spec.parameters),
        algorithm={"GRID_SEARCH": "GRID", "RANDOM_SEARCH": "RANDOM"}.get(  # type: ignore[arg-type]
            enum_name(spec, "algorithm"), "BAYESIAN"
        ),
        best_measurement=enum_name(spec, "measurement_selection_type") == "BEST_MEASUREMENT",
        message=spec,
    )


def enum_name(message: DynamicMessage, field: str) -> str:
    """Return the name of an enum field's value."""
    kind = message.DESCRIPTOR.fields_by_name[field].enum_type
    value = kind.values_by_number.get(getattr(message, field))
    return value.name if value is not None else str(getattr(message, field))


def kind_of(spec: DynamicMessage) -> Kind | None:
    """Return the kind of a `ParameterSpec` message."""
    return _KINDS.get(spec.WhichOneof("parameter_value_spec"))


def condition_values(condition: DynamicMessage) -> tuple[Value, ...]:
    """Return the parent values in a `ConditionalParameterSpec` message."""
    which = condition.WhichOneof("parent_value_condition")
    return tuple(getattr(condition, which).values) if which else ()


def _metric(spec: DynamicMessage) -> Metric:
    threshold = spec.safety_config.safety_threshold if spec.HasField("safety_config") else None
    return Metric(id=spec.metric_id, maximize=enum_name(spec, "goal") != "MINIMIZE", threshold=threshold)


def _parameter(spec: DynamicMessage) -> Parameter:
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
