"""The parts of Pulumi's URNs, urn:pulumi:STACK::PROJECT::PARENT-TYPES$TYPE::NAME."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TYPES = re.compile(r"(?:[^:$]*:[^:$]*:[^:$]*\$)*[^:$]*:[^:$]*:[^:$]*(?=::)")
"""The types, each of which has two colons: acme::Team has an empty module."""


@dataclass(frozen=True, kw_only=True)
class Urn:
    """A URN. `types` are the types of the resource's ancestors and its own, joined with $."""

    stack: str
    project: str
    types: str
    name: str

    @property
    def type(self) -> str:
        """Return the type token of the resource."""
        return self.types.rpartition("$")[2]


def parse(text: str) -> Urn:
    """Return the parts of a URN; a part that is missing is "". The name may have "::" in it."""
    before, _, rest = text.partition("::")
    project, _, resource = rest.partition("::")
    found = _TYPES.match(resource)
    types = found[0] if found else resource.partition("::")[0]
    name = resource[len(types) :].removeprefix("::")
    return Urn(stack=before.rpartition(":")[2], project=project, types=types, name=name)


def distinct_names(one: str, other: str) -> str:
    """Return how to name two resources in a message: by their names, or by their URNs if these are equal."""
    names = [parse(urn).name for urn in (one, other)]
    first, second = names if names[0] != names[1] else (one, other)
    return f"{first!r} and {second!r}"
