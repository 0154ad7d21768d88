"""The rules of a parameter's values: type, bounds, lists, default and scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, one_of
from vertex_training.study.rules.choices import choice_problems
from vertex_training.study.search_space import EPSILON, Node, is_finite, number_text, types_of, value_text
from vertex_training.study.study import SCALES, DoubleValueSpec, IntegerValueSpec

MOST_VALUES = 1000
"""The most values of a DISCRETE parameter."""

EXACT = 2**53
"""The largest whole number that a double represents exactly; the service passes values as doubles."""

_PARAMETER = "Vertex AI API, StudySpec.ParameterSpec"

PARAMETER_TYPE = Rule(
    name="parameter-type",
    says="a parameter is double, integer, categorical or discrete",
    source=f"{_PARAMETER}.parameter_value_spec",
)
FINITE = Rule(
    name="parameter-finite",
    says="the numbers of a parameter are finite",
    source="ours: infinity and not-a-number leave nothing to search",
)
BOUNDS = Rule(
    name="parameter-bounds",
    says="the least value of a parameter is below the greatest",
    source=f"{_PARAMETER}.DoubleValueSpec",
)
INTEGER_EXACT = Rule(
    name="integer-exact",
    says="a whole number beyond 2^53 is rounded, because trials get their values as doubles",
    source="Vertex AI API, Trial.Parameter.value",
    level="warning",
)
VALUES = Rule(
    name="parameter-values",
    says="a categorical or discrete parameter has values, each once",
    source=f"{_PARAMETER}.CategoricalValueSpec",
)
DISCRETE_ORDER = Rule(
    name="discrete-order",
    says="the values of a discrete parameter increase by at least 1e-10",
    source=f"{_PARAMETER}.DiscreteValueSpec.values",
)
DISCRETE_COUNT = Rule(
    name="discrete-count",
    says=f"a discrete parameter has at most {MOST_VALUES} values",
    source=f"{_PARAMETER}.DiscreteValueSpec.values",
)
SCALE_CATEGORICAL = Rule(
    name="scale-categorical",
    says="a categorical parameter has no scale",
    source=f"{_PARAMETER}.scale_type",
)
SCALE_POSITIVE = Rule(
    name="scale-positive",
    says="a logarithmic scale needs values above 0",
    source=f"{_PARAMETER}.ScaleType",
)
DEFAULT = Rule(
    name="parameter-default",
    says="the default of a parameter is a value that it can have",
    source="ours: a starting point outside the space cannot be tried",
)
DEFAULT_UNUSED = Rule(
    name="parameter-default-unused",
    says="tuning jobs do not use the default of a parameter, Vertex AI Vizier does",
    source=f"{_PARAMETER}.DoubleValueSpec.default_value",
    level="warning",
)

_LOGARITHMIC = ("UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE")


def value_problems(node: Node) -> Iterator[Problem]:
    """Yield every finding about the values of a parameter, and about its scale."""
    yield from _value_problems(node)
    yield from _scale_problems(node)


def _value_problems(node: Node) -> Iterator[Problem]:
    spec, path = node.spec, node.path
    types = types_of(spec)
    if len(types) != 1:
        given = f"has {all_of([f'{name}_value_spec' for name in types])}" if types else "has no value spec"
        yield PARAMETER_TYPE.broken(
            path,
            f"{given}; give exactly one of double_value_spec, integer_value_spec, categorical_value_spec and "
            "discrete_value_spec",
        )
    if spec.double_value_spec is not None:
        yield from _bounds_problems(spec.double_value_spec, f"{path}.double_value_spec")
    if spec.integer_value_spec is not None:
        yield from _bounds_problems(spec.integer_value_spec, f"{path}.integer_value_spec")
        yield from _exact_problems(spec.integer_value_spec, f"{path}.integer_value_spec")
    if (categorical := spec.categorical_value_spec) is not None:
        below = f"{path}.categorical_value_spec"
        yield from _list_problems(categorical.values, f"{below}.values")
        if categorical.default_value is not None:
            yield from _default_problems(
                below,
                categorical.default_value,
                within=categorical.default_value in categorical.values,
                space=one_of(categorical.values[:5]) if categorical.values else "the values",
            )
    if (discrete := spec.discrete_value_spec) is not None:
        below = f"{path}.discrete_value_spec"
        yield from _list_problems(discrete.values, f"{below}.values")
        yield from _order_problems(discrete.values, f"{below}.values")
        if discrete.default_value is not None and discrete.values and is_finite(*discrete.values):
            # The service takes the nearest value, so only a default outside the range of values is wrong.
            least, greatest = min(discrete.values), max(discrete.values)
            yield from _default_problems(
                below,
                discrete.default_value,
                within=least <= discrete.default_value <= greatest,
                space=f"{least:g} to {greatest:g}",
            )


def _bounds_problems(spec: DoubleValueSpec | IntegerValueSpec, path: str) -> Iterator[Problem]:
    least, greatest = spec.min_value, spec.max_value
    both = (f"{path}.min_value", f"{path}.max_value")
    for name, value in (("min_value", least), ("max_value", greatest)):
        if not is_finite(value):
            yield FINITE.broken(f"{path}.{name}", f"{value} cannot be searched; give a finite number")
    if not is_finite(least, greatest):
        return
    if least > greatest:
        yield BOUNDS.broken(
            f"{path}.min_value",
            f"{number_text(least)} is more than max_value {number_text(greatest)}; swap them",
            rests_on=both,
        )
    elif least == greatest:
        yield BOUNDS.broken(
            f"{path}.min_value",
            f"{number_text(least)} is max_value as well, so every trial has this value; pass it as an "
            "argument of the task, or give a range",
            rests_on=both,
            level="warning",
        )
    if spec.default_value is not None:
        yield from _default_problems(
            path,
            spec.default_value,
            within=least <= spec.default_value <= greatest,
            space=f"{number_text(least)} to {number_text(greatest)}",
        )


def _exact_problems(spec: IntegerValueSpec, path: str) -> Iterator[Problem]:
    for name, value in (("min_value", spec.min_value), ("max_value", spec.max_value)):
        if abs(value) > EXACT:
            yield INTEGER_EXACT.broken(
                f"{path}.{name}",
                f"{value} is beyond {EXACT}, so trials get rounded numbers; use a smaller range",
            )


def _list_problems(values: Sequence[float | str], path: str) -> Iterator[Problem]:
    if not values:
        yield VALUES.broken(path, "is empty; list the values to try")
    seen: dict[float | str, int] = {}
    for i, value in enumerate(values):
        if value in seen:
            yield VALUES.broken(
                f"{path}[{i}]",
                f"{value_text(value)} is already listed at {seen[value]}; keep one",
                rests_on=(f"{path}[{i}]", f"{path}[{seen[value]}]"),
            )
        seen.setdefault(value, i)


def _order_problems(values: Sequence[float], path: str) -> Iterator[Problem]:
    for i, value in enumerate(values):
        if not is_finite(value):
            yield FINITE.broken(f"{path}[{i}]", f"{value} cannot be searched; give a finite number")
            return
    if len(values) > MOST_VALUES:
        yield DISCRETE_COUNT.broken(
            path,
            f"{len(values)} values; a discrete parameter has at most {MOST_VALUES}. Leave some out, or use "
            "an integer or a double parameter",
            rests_on=(path,),
        )
    for i, (before, after) in enumerate(pairwise(values), start=1):
        if before != after and after - before < EPSILON:
            why = "less than" if after < before else "nearer than 1e-10 to"
            yield DISCRETE_ORDER.broken(
                f"{path}[{i}]",
                f"{number_text(after)} is {why} the value before it, {number_text(before)}; list the values "
                "in increasing order",
                rests_on=(f"{path}[{i - 1}]", f"{path}[{i}]"),
            )
            return


def _default_problems(path: str, value: float | str, *, within: bool, space: str) -> Iterator[Problem]:
    below = f"{path}.default_value"
    if not within:
        yield DEFAULT.broken(
            below,
            f"{value_text(value)} is not a value of this parameter, which has {space}; give one of them or "
            "none",
            rests_on=(f"{path}.*",),
        )
    else:
        yield DEFAULT_UNUSED.broken(
            below, f"{value_text(value)} has no effect, since tuning jobs do not use defaults; leave it out"
        )


def _scale_problems(node: Node) -> Iterator[Problem]:
    spec, path = node.spec, f"{node.path}.scale_type"
    yield from choice_problems(spec.scale_type, SCALES, path)
    if spec.scale_type in (None, "", "SCALE_TYPE_UNSPECIFIED"):
        return
    if spec.categorical_value_spec is not None:
        yield SCALE_CATEGORICAL.broken(
            path,
            f"{spec.scale_type} on a categorical parameter, whose values have no order; leave it out",
            rests_on=(path,),
        )
    if spec.scale_type not in _LOGARITHMIC:
        return
    for name, bounds in (
        ("double_value_spec", spec.double_value_spec),
        ("integer_value_spec", spec.integer_value_spec),
    ):
        if bounds is not None and bounds.min_value <= 0:
            below = f"{node.path}.{name}.min_value"
            yield _not_positive(below, bounds.min_value, spec.scale_type, path)
    discrete = spec.discrete_value_spec
    if discrete is not None and discrete.values and min(discrete.values) <= 0:
        i = discrete.values.index(min(discrete.values))
        below = f"{node.path}.discrete_value_spec.values[{i}]"
        yield _not_positive(below, discrete.values[i], spec.scale_type, path)


def _not_positive(path: str, value: float, scale: str, scale_path: str) -> Problem:
    return SCALE_POSITIVE.broken(
        path,
        f"{number_text(value)} with {scale}, which needs values above 0; give a greater one, or use "
        "UNIT_LINEAR_SCALE",
        rests_on=(path, scale_path),
    )
