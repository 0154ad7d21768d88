"""Names made for what a program declares without one."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 63
"""Characters of a bucket's name without dots, and of a repository's id."""


def derived_name(project: str, program: str, stack: str, resource: str) -> str:
    """PROJECT-PROGRAM-STACK-RESOURCE, without what is empty: lower case letters, digits and hyphens, a letter
    first; a name too long ends in a hash of itself.

    With a project it is as unique in the world as the project's id is.
    """
    whole = "-".join(filter(None, [project, program, stack, resource]))
    name = re.sub(r"[^a-z0-9]+", "-", whole.lower()).strip("-")
    if not name[:1].isalpha():
        name = f"t-{name}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9].rstrip('-')}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
