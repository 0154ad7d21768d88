"""The rules of the parameters of a study: values, scales, defaults, conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from vertex_training.specs.search_space import (
    EPSILON,
    Node,
    condition_values,
    conditions_of,
    exclude_each_other,
    is_finite,
    same,
    types_of,
    walk,
)
from vertex_training.specs.study import (
    SCALES,
    ConditionalParameterSpec,
    DoubleValueSpec,
    IntegerValueSpec,
    ParameterSpec,
)
from vertex_training.specs.study_choices import choice_problems
from vertex_training.topology.problems import Problem
from vertex_training.topology.rules import Rule
from vertex_training.topology.words import all_of, nearest, one_of, shown

MOST_VALUES = 1000
"""Values that a DISCRETE parameter may have."""

EXACT = 2**53
"""The largest whole number that is exact as a double, in which the service hands out values."""

_PARAMETER = "Vertex AI API, StudySpec.ParameterSpec"
_CONDITION = f"{_PARAMETER}.ConditionalParameterSpec"
_OVERVIEW = 'Vertex AI documentation, "Overview of hyperparameter tuning"'
_CREATE = 'Vertex AI documentation, "Create a hyperparameter tuning job"'

PARAMETERS = Rule(
    name="study-parameters", says="a study has at least one parameter", source="Vertex AI API, StudySpec"
)
PARAMETER_ID = Rule(
    name="parameter-id",
    says="the id of a parameter has no whitespace",
    source=f"{_PARAMETER}.parameter_id",
)
PARAMETER_UNIQUE = Rule(
    name="parameter-unique",
    says="two parameters of one id never belong to the same trial",
    source=f"{_PARAMETER}.conditional_parameter_specs",
)
PARAMETER_ARGUMENT = Rule(
    name="parameter-argument",
    says="a parameter's id is the name of an argument of the program, without dashes before it",
    source=_CREATE,
    level="warning",
)
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
CONDITION = Rule(
    name="condition-type",
    says="a condition names values of a discrete, integer or categorical parent, and the parent is of that "
    "type",
    source=f"{_CONDITION}.parent_value_condition",
)
CONDITION_VALUES = Rule(
    name="condition-values",
    says="a condition names values that the parent can have",
    source=_CONDITION,
)

_ARGUMENT = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:-]*")
_LOGARITHMIC = ("UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE")
_CONDITION_FIELDS = {
    "integer": "parent_int_values",
    "categorical": "parent_categorical_values",
    "discrete": "parent_discrete_values",
}


def parameter_problems(parameters: Sequence[ParameterSpec], path: str) -> Iterator[Problem]:
    """Every finding about the parameters of a study; `path` is that of the list."""
    if not parameters:
        yield PARAMETERS.broken(path, "is empty; name at least one parameter to tune")
    nodes = tuple(walk(parameters, path))
    for node in nodes:
        yield from _id_problems(node)
        yield from _value_problems(node)
        yield from _scale_problems(node)
        for i, condition in enumerate(node.spec.conditional_parameter_specs):
            yield from _condition_problems(condition, f"{node.path}.conditional_parameter_specs[{i}]", node)
    yield from _unique_problems(nodes)


def _id_problems(node: Node) -> Iterator[Problem]:
    path, name = f"{node.path}.parameter_id", node.spec.parameter_id
    if not name or re.search(r"\s", name):
        yield PARAMETER_ID.broken(
            path,
            f"{shown(name)} is no id of a parameter; write the name of an argument, without whitespace"
            + (f", for example {re.sub(r'[^A-Za-z0-9_.-]+', '_', name.strip())}" if name.strip() else ""),
        )
    elif not _ARGUMENT.fullmatch(name):
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name.lstrip("-")).strip("_") or "learning_rate"
        yield PARAMETER_ARGUMENT.broken(
            path,
            f"{shown(name)} makes the argument --{name}; give the name as the program reads it, without the "
            f"dashes, for example {plain}",
        )


def _unique_problems(nodes: Sequence[Node]) -> Iterator[Problem]:
    for first, second in combinations(nodes, 2):
        name = first.spec.parameter_id
        if name and name == second.spec.parameter_id and not exclude_each_other(first, second):
            parents = [f"{path}.*" for path, _ in (*first.needs, *second.needs)]
            conditions = " or conditions that never hold at once" if parents else ""
            yield PARAMETER_UNIQUE.broken(
                f"{second.path}.parameter_id",
                f"{shown(name)} is the id of {first.path} as well, and a trial would have both; give them "
                f"different ids{conditions}",
                rests_on=(f"{first.path}.parameter_id", f"{second.path}.parameter_id", *parents),
            )


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
            # The service takes the nearest value, so only what is outside all of them is wrong.
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
            yield FINITE.broken(f"{path}.{name}", f"{value} is no number to search; give a finite number")
    if not is_finite(least, greatest):
        return
    if least > greatest:
        yield BOUNDS.broken(
            f"{path}.min_value",
            f"{_number(least)} is more than max_value {_number(greatest)}; exchange the two",
            rests_on=both,
        )
    elif least == greatest:
        yield BOUNDS.broken(
            f"{path}.min_value",
            f"{_number(least)} is max_value as well, so every trial has this value; pass it as an argument "
            "of the task, or give a range",
            rests_on=both,
            level="warning",
        )
    if spec.default_value is not None:
        yield from _default_problems(
            path,
            spec.default_value,
            within=least <= spec.default_value <= greatest,
            space=f"{_number(least)} to {_number(greatest)}",
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
                f"{_shown(value)} is listed already, at {seen[value]}; keep one",
                rests_on=(f"{path}[{i}]", f"{path}[{seen[value]}]"),
            )
        seen.setdefault(value, i)


def _order_problems(values: Sequence[float], path: str) -> Iterator[Problem]:
    for i, value in enumerate(values):
        if not is_finite(value):
            yield FINITE.broken(f"{path}[{i}]", f"{value} is no number to search; give a finite number")
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
                f"{_number(after)} is {why} the value before it, {_number(before)}; list the values in "
                "increasing order",
                rests_on=(f"{path}[{i - 1}]", f"{path}[{i}]"),
            )
            return


def _default_problems(path: str, value: float | str, *, within: bool, space: str) -> Iterator[Problem]:
    below = f"{path}.default_value"
    if not within:
        yield DEFAULT.broken(
            below,
            f"{_shown(value)} is no value of this parameter, which has {space}; give one of them or none",
            rests_on=(f"{path}.*",),
        )
    else:
        yield DEFAULT_UNUSED.broken(
            below, f"{_shown(value)} has no effect: tuning jobs start where they like; leave it out"
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
        f"{_number(value)} with {scale}, which needs values above 0; give a greater one, or use "
        "UNIT_LINEAR_SCALE",
        rests_on=(path, scale_path),
    )


def _condition_problems(condition: ConditionalParameterSpec, path: str, parent: Node) -> Iterator[Problem]:
    kinds, types = conditions_of(condition), types_of(parent.spec)
    name = shown(parent.spec.parameter_id)
    if len(kinds) != 1:
        given = f"has {all_of([_CONDITION_FIELDS[kind] for kind in kinds])}" if kinds else "has no condition"
        yield CONDITION.broken(
            path,
            f"{given}; give exactly one of parent_int_values, parent_categorical_values and "
            "parent_discrete_values",
            rests_on=tuple(f"{path}.{field}" for field in _CONDITION_FIELDS.values()),
        )
        return
    field = _CONDITION_FIELDS[kinds[0]]
    below = f"{path}.{field}"
    if types == ("double",):
        yield CONDITION.broken(
            below,
            f"{name} is a double parameter, which no other can depend on; make it discrete, or move this "
            "parameter out of it",
            rests_on=(below, f"{parent.path}.double_value_spec"),
        )
    elif len(types) == 1 and types != kinds:
        yield CONDITION.broken(
            below,
            f"{name} is {_with_article(types[0])} parameter; use {_CONDITION_FIELDS[types[0]]}",
            rests_on=(below, f"{parent.path}.{types[0]}_value_spec"),
        )
    elif len(types) == 1:
        yield from _condition_value_problems(condition, f"{below}.values", parent)


def _condition_value_problems(
    condition: ConditionalParameterSpec, path: str, parent: Node
) -> Iterator[Problem]:
    spec, name = parent.spec, shown(parent.spec.parameter_id)
    values = condition_values(condition)
    if not values:
        yield CONDITION_VALUES.broken(path, f"is empty; list the values of {name} that need this parameter")
    for i, value in enumerate(values):
        below = f"{path}[{i}]"
        if spec.integer_value_spec is not None and isinstance(value, int):
            bounds, place = spec.integer_value_spec, f"{parent.path}.integer_value_spec"
            if not bounds.min_value <= value <= bounds.max_value:
                yield CONDITION_VALUES.broken(
                    below,
                    f"{value} is no value of {name}, which is {bounds.min_value} to {bounds.max_value}; the "
                    "condition would never hold. Give a value in that range",
                    rests_on=(below, f"{place}.min_value", f"{place}.max_value"),
                )
            continue
        known = spec.categorical_value_spec or spec.discrete_value_spec
        if known is None or any(same(value, each) for each in known.values):
            continue
        place = "categorical_value_spec" if spec.categorical_value_spec else "discrete_value_spec"
        texts = [str(each) if isinstance(each, str) else _number(each) for each in known.values]
        plain = value if isinstance(value, str) else _number(value)
        hint = nearest(plain, texts) if isinstance(value, str) else ""
        hint = hint or (f"use {one_of(texts[:5])}" if texts else "list the values of the parent")
        yield CONDITION_VALUES.broken(
            below,
            f"{_shown(value)} is no value of {name}, so the condition would never hold; {hint}",
            rests_on=(below, f"{parent.path}.{place}.values.*"),
        )


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _number(value: float) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _shown(value: float | str) -> str:
    return shown(value) if isinstance(value, str) else _number(value)
