"""References between the variables of a task, and the length of the expanded values.

`$(NAME)` in a value refers to a variable before it (Vertex AI API, `EnvVar.value`), so that twenty variables
can double each other into a megabyte. Lengths are therefore computed before anything is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.topology.pools import EnvVar

MAX_VARIABLE = 131_072

LONG_VARIABLE = Rule(
    name="long-variable",
    says=f"a variable has at most {MAX_VARIABLE} characters when its references are replaced",
    source="Linux, execve(2), MAX_ARG_STRLEN",
)

REFERENCE = re.compile(r"(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_CLUSTER, _ADDRESS = 1_000, 60
"""Approximate length of CLUSTER_SPEC, and of each replica in it."""


def expanded_lengths(env: Sequence[EnvVar], *, replicas: int = 0) -> Iterator[int]:
    """Yield the approximate length of each variable, in order, up to the first that is too long."""
    cluster = _CLUSTER + _ADDRESS * replicas
    lengths = {"CLUSTER_SPEC": cluster, "TF_CONFIG": cluster}
    for variable in env:
        length = len(variable.value)
        for escape, name in REFERENCE.findall(variable.value):
            if not escape and name in lengths:
                length += lengths[name] - len(f"$({name})")
        lengths[variable.name] = length
        yield length
        if length > MAX_VARIABLE:
            return


def long_variable_problems(env: Sequence[EnvVar], path: str, *, replicas: int) -> Iterator[Problem]:
    """Yield a finding for the first variable that becomes too long; `path` leads to the list."""
    for i, length in enumerate(expanded_lengths(env, replicas=replicas)):
        if length > MAX_VARIABLE:
            yield LONG_VARIABLE.broken(
                f"{path}[{i}].value",
                f"has about {length} characters when its references are replaced; a variable has at most "
                f"{MAX_VARIABLE}. Put long values in a file in the bucket",
                rests_on=(path,),
            )


_SERVICE_PREFIXES = ("CLUSTER_SPEC", "TF_CONFIG", "AIP_")
"""Prefixes of names for which the service's value wins over the task's own.

Which of the two wins on Vertex AI is not documented; a program that reads these wants the facts of the job.
"""


def expand(value: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value, and `$$(NAME)` by a literal `$(NAME)`.

    A reference to a variable that does not exist stays as it is, and so does every other dollar sign.

    >>> expand("$(USER_NAME)@$(HOST) costs $$(PRICE)", {"USER_NAME": "ada"})
    'ada@$(HOST) costs $(PRICE)'
    """

    def resolved(match: re.Match[str]) -> str:
        escape, name = match.groups()
        return f"$({name})" if escape else variables.get(name, match.group(0))

    return REFERENCE.sub(resolved, value) if "$(" in value else value


def with_own_variables(service: Mapping[str, str], own: Sequence[EnvVar]) -> dict[str, str]:
    """Return the service's variables and the task's own, expanded in their order.

    A value may refer to a variable of the service and to an own one before it. Raises ValueError if a
    variable becomes longer than a process accepts.
    """
    check_lengths(own)
    variables = dict(service)
    for variable in own:
        if variable.name not in service or not variable.name.startswith(_SERVICE_PREFIXES):
            variables[variable.name] = expand(variable.value, variables)
    return variables


def check_lengths(own: Sequence[EnvVar]) -> None:
    """Raise ValueError if references make a variable too long, computed without expanding them."""
    for variable, length in zip(own, expanded_lengths(own), strict=False):
        if length > MAX_VARIABLE:
            raise ValueError(
                f"the variable {variable.name} has about {length} characters, at most {MAX_VARIABLE}"
            )


def refers_to(own: Iterable[EnvVar], name: str) -> bool:
    """Return whether a value among the task's own refers to the variable."""
    return any(f"$({name})" in variable.value for variable in own)
