"""One call of an engine, and what a provider answers: all that the core and its host say to each other.

A host such as `dynamic` turns the engine's request into a `Call`, and the answer into the engine's form. The
values are plain: numbers may be floats, and `UNKNOWN` stands for what a preview does not know yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vertex_training.findings.problems import Problem

Values = dict[str, Any]


class Host(Protocol):
    """The process that calls providers for an engine."""

    @property
    def engine(self) -> str | None:
        """`host:port` of the engine, None without one."""

    def report(self, urn: str, message: str, *, passing: bool) -> None:
        """Print a line on the row of a resource; one that is `passing` is not repeated at the end."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call about one resource.

    `urn` is empty if the host does not know it. `seed` are random bytes of the registration, the same in a
    preview and in the deployment of its plan; only a check gets them. `timeout` are the seconds of the
    resource's `custom_timeouts`, for create and update. `id` is empty for a resource that does not exist yet.
    `inputs` are what the program declares: for a check as it gives them, later as the check returned them.
    `old_inputs` are the inputs in the state; only a check gets them, and none for a new resource or a
    replacement. `outputs` are the outputs in the state.
    """

    urn: str = ""
    id: str = ""
    seed: bytes = b""
    timeout: float | None = None
    inputs: Values = field(default_factory=dict)
    old_inputs: Values = field(default_factory=dict)
    outputs: Values = field(default_factory=dict)

    @property
    def stack(self) -> str | None:
        """The name of the stack, by the marks of the resource; None if they do not tell."""
        named = [each.get("marks") for each in (self.inputs, self.outputs)]
        stacks = {marks.get("stack") for marks in named if isinstance(marks, Mapping)}
        found = stacks.pop() if len(stacks) == 1 else None
        return found if isinstance(found, str) else None


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The answer to a check: the inputs as the state keeps them, or the findings that refuse the resource.

    It is refused if one of the `problems` is an error.
    """

    inputs: Values = field(default_factory=dict)
    problems: Sequence[Problem] = ()

    @property
    def is_refused(self) -> bool:
        return any(problem.level == "error" for problem in self.problems)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The answer to a diff: whether anything changes, and the properties that replace the resource."""

    changes: bool
    replaces: Sequence[str] = ()
    delete_before_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class Created:
    """The answer to a create: the id of the resource, and its outputs."""

    id: str
    outputs: Values


@dataclass(frozen=True, kw_only=True)
class Found:
    """The answer to a read of a resource that exists. `inputs` are None if those of the state are right."""

    outputs: Values
    inputs: Values | None = None
