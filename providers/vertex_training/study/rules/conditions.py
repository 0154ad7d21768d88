"""The rules of conditional parameters: which values of its parent a parameter may depend on."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, one_of, shown
from vertex_training.study.search_space import (
    Node,
    condition_values,
    conditions_of,
    number_text,
    same,
    types_of,
    value_text,
)
from vertex_training.study.study import ConditionalParameterSpec

_CONDITION = "Vertex AI API, StudySpec.ParameterSpec.ConditionalParameterSpec"

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

_FIELDS = {
    "integer": "parent_int_values",
    "categorical": "parent_categorical_values",
    "discrete": "parent_discrete_values",
}


def condition_problems(condition: ConditionalParameterSpec, path: str, parent: Node) -> Iterator[Problem]:
    """Every finding about one condition of a parameter, `parent`; `path` is that of the condition."""
    kinds, types = conditions_of(condition), types_of(parent.spec)
    name = shown(parent.spec.parameter_id)
    if len(kinds) != 1:
        given = f"has {all_of([_FIELDS[kind] for kind in kinds])}" if kinds else "has no condition"
        yield CONDITION.broken(
            path,
            f"{given}; give exactly one of parent_int_values, parent_categorical_values and "
            "parent_discrete_values",
            rests_on=tuple(f"{path}.{field}" for field in _FIELDS.values()),
        )
        return
    field = _FIELDS[kinds[0]]
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
            f"{name} is {_with_article(types[0])} parameter; use {_FIELDS[types[0]]}",
            rests_on=(below, f"{parent.path}.{types[0]}_value_spec"),
        )
    elif len(types) == 1:
        yield from _value_problems(condition, f"{below}.values", parent)


def _value_problems(condition: ConditionalParameterSpec, path: str, parent: Node) -> Iterator[Problem]:
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
        texts = [str(each) if isinstance(each, str) else number_text(each) for each in known.values]
        plain = value if isinstance(value, str) else number_text(value)
        hint = nearest(plain, texts) if isinstance(value, str) else ""
        hint = hint or (f"use {one_of(texts[:5])}" if texts else "list the values of the parent")
        yield CONDITION_VALUES.broken(
            below,
            f"{value_text(value)} is no value of {name}, so the condition would never hold; {hint}",
            rests_on=(below, f"{parent.path}.{place}.values.*"),
        )


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
