"""The rules of the parameters of a study: their ids, and the conditions on a parent's values.

The rules of their own values are in `study.rules.values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, one_of, shown
from vertex_training.study.rules.values import value_problems
from vertex_training.study.search_space import (
    Node,
    condition_values,
    conditions_of,
    exclude_each_other,
    number_text,
    same,
    types_of,
    value_text,
    walk,
)
from vertex_training.study.study import ConditionalParameterSpec, ParameterSpec

_PARAMETER = "Vertex AI API, StudySpec.ParameterSpec"
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

_ARGUMENT = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:-]*")


def parameter_problems(parameters: Sequence[ParameterSpec], path: str) -> Iterator[Problem]:
    """Yield every finding about the parameters of a study; `path` leads to the list."""
    if not parameters:
        yield PARAMETERS.broken(path, "is empty; name at least one parameter to tune")
    nodes = tuple(walk(parameters, path))
    for node in nodes:
        yield from _id_problems(node)
        yield from value_problems(node)
        for i, condition in enumerate(node.spec.conditional_parameter_specs):
            yield from condition_problems(condition, f"{node.path}.conditional_parameter_specs[{i}]", node)
    yield from _unique_problems(nodes)


def _id_problems(node: Node) -> Iterator[Problem]:
    path, name = f"{node.path}.parameter_id", node.spec.parameter_id
    if not name or re.search(r"\s", name):
        yield PARAMETER_ID.broken(
            path,
            f"{shown(name)} is not a parameter id; write the name of an argument, without whitespace"
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
    """Yield every finding about one condition of the parameter `parent`; `path` leads to the condition."""
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
            f"{name} is a double parameter, which no other parameter can depend on; make it discrete, or "
            "move this parameter out of it",
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
            bounds, bounds_path = spec.integer_value_spec, f"{parent.path}.integer_value_spec"
            if not bounds.min_value <= value <= bounds.max_value:
                yield CONDITION_VALUES.broken(
                    below,
                    f"{value} is not a value of {name}, which is {bounds.min_value} to {bounds.max_value}; "
                    "the condition would never hold. Give a value in that range",
                    rests_on=(below, f"{bounds_path}.min_value", f"{bounds_path}.max_value"),
                )
            continue
        known = spec.categorical_value_spec or spec.discrete_value_spec
        if known is None or any(same(value, each) for each in known.values):
            continue
        field = "categorical_value_spec" if spec.categorical_value_spec else "discrete_value_spec"
        texts = [str(each) if isinstance(each, str) else number_text(each) for each in known.values]
        plain = value if isinstance(value, str) else number_text(value)
        hint = nearest(plain, texts) if isinstance(value, str) else ""
        hint = hint or (f"use {one_of(texts[:5])}" if texts else "list the values of the parent")
        yield CONDITION_VALUES.broken(
            below,
            f"{value_text(value)} is not a value of {name}, so the condition would never hold; {hint}",
            rests_on=(below, f"{parent.path}.{field}.values.*"),
        )


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
