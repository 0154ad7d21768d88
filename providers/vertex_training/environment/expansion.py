"""A task's own variables: which of them stand, and the references between them.

`$(NAME)` in the value of a variable refers to another (Vertex AI API, `EnvVar.value`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from vertex_training.topology.pools import EnvVar
from vertex_training.topology.variables import MAX_VARIABLE, REFERENCE, expanded_lengths

_OURS_FIRST = ("CLUSTER_SPEC", "TF_CONFIG", "AIP_")
"""Where a name begins like this, the service's value wins over the task's own. Which of the two wins is not
documented; a program that reads these wants the job as it is."""


def expand(value: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value; `$$(NAME)` is written as `$(NAME)` and never replaced.

    A reference to a variable that does not exist stays as it is, and so does every other dollar sign.

    >>> expand("$(USER_NAME)@$(HOST) costs $$(PRICE)", {"USER_NAME": "ada"})
    'ada@$(HOST) costs $(PRICE)'
    """

    def resolved(match: re.Match[str]) -> str:
        escape, name = match.groups()
        return f"$({name})" if escape else variables.get(name, match.group(0))

    return REFERENCE.sub(resolved, value) if "$(" in value else value


def with_own_variables(service: Mapping[str, str], own: Sequence[EnvVar]) -> dict[str, str]:
    """The service's variables and the task's own, expanded in their order.

    A value may refer to a variable of the service and to an own one before it. ValueError for one that
    becomes longer than a program can be given (`topology.variables`).
    """
    check_lengths(own)
    variables = dict(service)
    for variable in own:
        if variable.name not in service or not variable.name.startswith(_OURS_FIRST):
            variables[variable.name] = expand(variable.value, variables)
    return variables


def check_lengths(own: Sequence[EnvVar]) -> None:
    """ValueError where references make one of the variables too long, counted before any is replaced."""
    for variable, length in zip(own, expanded_lengths(own), strict=False):
        if length > MAX_VARIABLE:
            raise ValueError(
                f"the variable {variable.name} has about {length} characters, at most {MAX_VARIABLE}"
            )


def refers_to(own: Iterable[EnvVar], name: str) -> bool:
    """Whether a value among the task's own has a reference to the variable."""
    return any(f"$({name})" in variable.value for variable in own)
