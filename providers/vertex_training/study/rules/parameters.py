"""The rules of the parameters of a study: that there are some, and what they are called.

Those of their values are in `specs.parameter_value_rules`, those of their conditions in
`specs.parameter_condition_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.study.rules.conditions import condition_problems
from vertex_training.study.rules.values import value_problems
from vertex_training.study.search_space import Node, exclude_each_other, walk
from vertex_training.study.study import ParameterSpec

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
    """Every finding about the parameters of a study; `path` is that of the list."""
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
