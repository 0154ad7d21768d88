"""One call of an engine, and what a provider answers: all that the core and its host say to each other.

A host such as `dynamic` turns the engine's request into a `Call`, and the answer into the engine's form. The
values are plain: numbers may be floats, and `UNKNOWN` stands for what a preview does not know yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pulumi_vertex_training import urns
from pulumi_vertex_training.core.resource_context import ResourceContext
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
    resource's `custom_timeouts` for this call, None without. `id` is empty for a resource that does not exist
    yet. `inputs` are what the program declares: for a check as it gives them, later as the check returned
    them. `old_inputs` are the inputs in the state; only a check gets them, and none for a new resource or a
    replacement. `outputs` are the outputs in the state. `key` is the one by which the resource is found again
    in the service, "" without one. `context` is what the calls about the resource tell each other.
    """

    urn: str = ""
    id: str = ""
    seed: bytes = b""
    timeout: float | None = None
    inputs: Values = field(default_factory=dict)
    old_inputs: Values = field(default_factory=dict)
    outputs: Values = field(default_factory=dict)
    key: str = ""
    is_preview: bool = False
    context: ResourceContext = field(default_factory=ResourceContext, compare=False)

    @property
    def stack(self) -> str | None:
        """The name of the stack, None without a URN."""
        return urns.parse(self.urn).stack or None


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
class PropertyChange:
    """A property whose declared input differs from the output in the state.

    `path` leads to it by names and positions in lists: `("worker_pool_specs", 1, "replica_count")`.
    `replaces`: the change replaces the resource.
    """

    path: tuple[str | int, ...]
    kind: Literal["add", "delete", "update"]
    replaces: bool = False


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The answer to a diff: whether anything changes, and each property that does.

    A resource can have to be updated without a change of a property, but is replaced only for one.
    """

    changes: bool
    properties: Sequence[PropertyChange] = ()
    delete_before_replace: bool = False

    @property
    def replaces(self) -> list[str]:
        """The top-level properties that replace the resource, each once."""
        return list(dict.fromkeys(str(each.path[0]) for each in self.properties if each.replaces))


@dataclass(frozen=True, kw_only=True)
class Created:
    """The answer to a create: the id of the resource, and its outputs."""

    id: str
    outputs: Values


@dataclass(frozen=True, kw_only=True)
class Found:
    """The answer to a read of a resource that exists. `inputs` are None if the state's are right."""

    outputs: Values
    inputs: Values | None = None


@dataclass(frozen=True, kw_only=True)
class Imported:
    """The answer to an import of a resource that exists: its id in the state, and its inputs."""

    id: str
    inputs: Values
