"""References between variables: `$(NAME)` in the value of a variable (Vertex AI API, `EnvVar.value`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def expand(value: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value; `$$(NAME)` is written as `$(NAME)` and never replaced.

    A reference to a variable that does not exist stays as it is, and so does every other dollar sign.

    >>> expand("$(USER_NAME)@$(HOST) costs $$(PRICE)", {"USER_NAME": "ada"})
    'ada@$(HOST) costs $(PRICE)'
    """

    def resolved(match: re.Match[str]) -> str:
        escape, name = match.groups()
        return f"$({name})" if escape else variables.get(name, match.group(0))

    return _REFERENCE.sub(resolved, value)
