"""The memory of one engine operation: its configuration, and facts that its calls learn for each other.

One process serves one engine operation of one stack (a preview, an update), on several threads, so what an
operation has to keep between two calls is in one object behind a lock: what concerns one resource in its
context, and what resources have to know of each other in sets and dictionaries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulumi_vertex_training.core import settings as settings_module
from pulumi_vertex_training.core.call import Host
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.resource_context import ResourceContext
from pulumi_vertex_training.core.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class KeptEntry:
    """A state entry that a deployment leaves as it is or updates in place: its resource and values."""

    context: ResourceContext
    recorded: Mapping[str, object]


@dataclass(kw_only=True, eq=False)
class Operation:
    """The memory of one engine operation. Safe for threads."""

    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while a fact is written, and while several are read."""

    _settings: Settings | None = None
    """The stack's configuration. Written by `Provider.configure`; read wherever an endpoint is chosen."""

    _host: Host | None = None
    """The process that makes the calls, None in a test. Written by `configure`."""

    _resources: dict[str, ResourceContext] = field(default_factory=dict)
    """The contexts of the resources, by URN, or by what stands in for it."""

    _of_id: dict[str, ResourceContext] = field(default_factory=dict)
    """The contexts of the resources that the state has, by id: with an alias, the engine deletes a replaced
    resource under its former URN."""

    _printed: set[str] = field(default_factory=set)
    """Messages printed by `print_once`."""

    _made: set[str] = field(default_factory=set)
    """Ids that a resource of this operation uses: created, adopted or kept. Written by `create` (for
    images by `diff` as well); read by `delete`, which leaves them alone."""

    _released: set[str] = field(default_factory=set)
    """Full names of jobs that this operation compared or deleted. Written by a job's `diff` and `delete`;
    read by `create`, which replaces such a job and never adopts it, and by the removal of orphans."""

    _claims: dict[str, str] = field(default_factory=dict)
    """The first resource that wants something which only one can have, by a description of it. Written and
    read by the checks for conflicts."""

    _kept_entries: dict[str, KeptEntry] = field(default_factory=dict)
    """State entries that are kept, by id. Written by `diff`; read by `delete`: a killed deployment can leave
    two entries with one id, and the deletion of the older one must not delete what the other has."""

    _parts: dict[object, Any] = field(default_factory=dict)
    """The memory of single modules. Written and read by `part`."""

    def begin(self) -> None:
        """Forget the previous operation. A process that serves a single operation need not call it."""
        vars(self).update(vars(Operation()))

    def configure(self, get: Callable[[str], str | None], host: Host | None = None) -> None:
        """Take the stack's configuration; called by the engine before a provider's first call."""
        with self._lock:
            self._host, self._settings = host, settings_module.read(get)

    @property
    def settings(self) -> Settings:
        return self._settings or Settings()

    @property
    def engine(self) -> str | None:
        """`host:port` of the engine, None without one."""
        return self._host.engine if self._host else None

    def context(self, resource: str, id_: str = "") -> ResourceContext:
        """Return the context of a resource, by its URN or by the id that it has in the state."""
        with self._lock:
            known = self._resources.get(resource) or self._of_id.get(id_)
            if known is None:
                known = self._resources[resource] = ResourceContext()
            if id_:
                self._of_id.setdefault(id_, known)
            return known

    def rename(self, context: ResourceContext, resource: str) -> None:
        """Let a context be found by another name, too."""
        with self._lock:
            self._resources[resource] = context

    def part(self, make: Callable[[], T]) -> T:
        """Return the memory that a module has of this operation, as `make` returns it at first."""
        with self._lock:
            if make not in self._parts:
                self._parts[make] = make()
            found: T = self._parts[make]
            return found

    def print_on(self, urn: str, message: str, *, passing: bool = False) -> None:
        """Print a line on the row of a resource, without secrets; like `print_line` if its URN is not known.

        A line that is `passing` shows progress: it is not repeated at the end.
        """
        if urn and self._host:
            self._host.report(urn, message, passing=passing)
        else:
            print_line(message)

    def print_once(self, message: str, *, urn: str = "") -> None:
        """Print a message unless this operation has printed it; on the row of a resource if `urn` is given.

        The message would appear twice otherwise: a resource that is replaced is checked twice.
        """
        with self._lock:
            if message in self._printed:
                return
            self._printed.add(message)
        self.print_on(urn, message)

    def note_made(self, id_: str) -> None:
        with self._lock:
            self._made.add(id_)

    def made(self, id_: str) -> bool:
        return id_ in self._made

    def all_made(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._made)

    def note_released(self, name: str) -> None:
        with self._lock:
            self._released.add(name)

    def released(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._released)

    def was_recorded(self, id_: str) -> bool:
        """Return whether the state has a resource with this id, as far as the calls so far show."""
        return id_ in self._of_id

    def claim(self, what: str, resource: str) -> str:
        """Claim something for a resource. Return the name of the first resource that did."""
        with self._lock:
            return self._claims.setdefault(what, resource)

    def all_marks(self, marks: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """Return the marks, and those that the declaration had under earlier names of program and stack.

        The state's resources have the earlier names, and so have the labels of what was created then.
        """
        if not marks:
            return ()
        with self._lock:
            recorded = [context.recorded.get("marks") or {} for context in self._resources.values()]
        names = {(one["project"], one["stack"]) for one in recorded if {"project", "stack"} <= one.keys()}
        former = sorted(names - {(marks.get("project"), marks.get("stack"))})
        return (marks, *({**marks, "project": project, "stack": stack} for project, stack in former))

    def note_kept(self, id_: str, context: ResourceContext, recorded: Mapping[str, object]) -> None:
        """Record that a deployment leaves a resource as it is, or updates it in place."""
        with self._lock:
            self._kept_entries[id_] = KeptEntry(context=context, recorded=dict(recorded))

    def belongs_to_another_entry(self, id_: str, recorded: Mapping[str, object] | None = None) -> bool:
        """Return whether what a state entry refers to belongs to another entry with the same id.

        Such entries are left by a deployment that adopted an existing resource and was killed before the
        entry it came from was deleted. `recorded` are the values of this entry. Leave them out for a kind
        whose replacement is created first: there, both entries may have the same values.
        """
        kept = self._kept_entries.get(id_)
        if kept is None or kept.context.is_replaced:
            return False
        return recorded is None or kept.recorded != dict(recorded)


OPERATION = Operation()
