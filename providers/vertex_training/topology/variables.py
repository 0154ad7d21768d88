"""How long a task's variables become when the references between them are replaced.

`$(NAME)` in a value refers to a variable before it (Vertex AI API, `EnvVar.value`), so that twenty variables
can double each other into a megabyte. Lengths are counted before anything is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
"""About how many characters CLUSTER_SPEC has, and each replica in it."""


def expanded_lengths(env: Sequence[EnvVar], *, replicas: int = 0) -> Iterator[int]:
    """About how many characters each variable has, in their order; stops at the first that is too long."""
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
    """A finding for the first variable that becomes too long; `path` is that of the list."""
    for i, length in enumerate(expanded_lengths(env, replicas=replicas)):
        if length > MAX_VARIABLE:
            yield LONG_VARIABLE.broken(
                f"{path}[{i}].value",
                f"has about {length} characters when its references are replaced; a variable has at most "
                f"{MAX_VARIABLE}. Put long values in a file in the bucket",
                rests_on=(path,),
            )
