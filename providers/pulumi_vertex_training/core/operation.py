"""The memory of one engine operation: its configuration, and facts that its calls learn for each other.

Dynamic providers are pickled into the state by reference and have no state of their own. One process serves
one engine operation of one stack (a preview, an update), on several threads, so what an operation has to keep
between two calls is in one object behind a lock.

Resources are keyed by their *operation key*: a text that their provider makes of their kind, name and place,
since the engine gives a provider no URN. `runs` has what is known of jobs and their runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pulumi_vertex_training.core import settings as settings_module
from pulumi_vertex_training.core.call import Host
from pulumi_vertex_training.core.custom_timeouts import CustomTimeouts
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.run_context import Context, RunContext
from pulumi_vertex_training.core.settings import Settings, Target

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class KeptEntry:
    """A state entry that a deployment leaves as it is or updates in place: its operation key and values."""

    resource: str
    recorded: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class PackageModules:
    """The modules of a staged package that `python -m` can run, and its requirements."""

    modules: Sequence[str]
    requirements: Sequence[str] = ()


@dataclass(kw_only=True)
class Operation(Context):
    """The memory of one engine operation. Safe for threads."""

    runs: RunContext = field(default_factory=RunContext)
    """The facts about jobs and their runs."""

    _settings: Settings | None = None
    """The stack's configuration. Written by `Provider.configure`; read wherever an endpoint is chosen."""

    _host: Host | None = field(default=None, compare=False)
    """The process that makes the calls, None in a test. Written by `configure`."""

    _printed: set[str] = field(default_factory=set)
    """Messages printed by `say_once`."""

    _checked: set[str] = field(default_factory=set)
    """Resources that were checked, by operation key. Written by each `check`; read by each `diff`: a refresh
    calls diff without check, and may neither plan a run nor print one."""

    _existing: set[str] = field(default_factory=set)
    """Resources that the state has, by operation key. Written and read by `check`: that of a replacement gets
    no old inputs, as that of a new resource does."""

    _made: set[str] = field(default_factory=set)
    """Ids that a resource of this operation uses: created, adopted or kept. Written by `create` (for
    images by `diff` as well); read by `delete`, which leaves them alone."""

    _claims: dict[str, str] = field(default_factory=dict)
    """The first resource that wants something which only one can have, by a description of it. Written and
    read by the checks for conflicts."""

    _first_names: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """The names of program, stack and resource that made a recorded id, by the id's field and the resource's
    present name. Written and read by `autonaming`."""

    _former_stacks: set[tuple[str, str]] = field(default_factory=set)
    """Earlier names of program and stack, as the state's resources have them. Written by `check`; read where
    labels show whether something is this stack's: the service keeps those of the time of its creation."""

    _kept_entries: dict[str, KeptEntry] = field(default_factory=dict)
    """State entries that are kept, by id. Written by `diff`; read by `delete`: a killed deployment can leave
    two entries with one id, and the deletion of the older one must not delete what the other has."""

    _replaced: set[str] = field(default_factory=set)
    """Resources that are replaced although their `diff` found no need, by operation key. Written by `create`;
    read with `_kept_entries`."""

    _unanswered: dict[object, set[Target]] = field(default_factory=dict)
    """Targets that gave no answer, by the object that asked. Written and read by `RemoteQueries`."""

    _recorded_inputs: dict[str, object] = field(default_factory=dict)
    """The inputs that the state has of a resource, by operation key. Written by `check`; read by `create`,
    which gets new inputs only."""

    _custom_timeouts: dict[str, CustomTimeouts] = field(default_factory=dict)
    """A resource's `custom_timeouts`, by operation key. Written by `check`; read by `create` and `update`:
    no state keeps them."""

    _recorded_ids: set[str] = field(default_factory=set)
    """Ids that the state had before. Written by `diff` and `delete`; read by a `create` that finds a resource
    of that id."""

    _labels_of_replaced: dict[str, str] = field(default_factory=dict)
    """The label that identifies a version which is replaced, by operation key. Written by `diff`; read by
    the `create` of the version that replaces it."""

    _recorded_values: dict[tuple[str, str], str] = field(default_factory=dict)
    """An input that stays as recorded, by the input's and the resource's name. Written and read by `check`:
    that of a replacement gets no old inputs."""

    _keys: dict[str, str] = field(default_factory=dict)
    """The key by which a resource is found again, by operation key; "" if two resources share the operation
    key. Written by `check`; read by `create` and `update`."""

    _rows: dict[str, str] = field(default_factory=dict)
    """The URN of a resource, on whose row its progress is reported, by operation key. Written by `check`;
    read by `create`."""

    _package_modules: dict[str, PackageModules] = field(default_factory=dict)
    """The modules of the packages that this operation checked, by their gs:// URIs. Written by a package's
    `check`; read by the `check` of the jobs that install it."""

    def begin(self) -> None:
        """Forget the previous operation. A process that serves a single operation need not call it."""
        fresh = Operation()
        with self._lock:
            for item in dataclasses.fields(self):
                if item.name != "_lock":
                    setattr(self, item.name, getattr(fresh, item.name))

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

    def say_on(self, urn: str, message: str, *, passing: bool = False) -> None:
        """Print a line on the row of a resource, without secrets; like `say` if its URN is not known.

        A line that is `passing` shows progress: it is not repeated at the end.
        """
        if urn and self._host:
            self._host.report(urn, message, passing=passing)
        else:
            say(message)

    def say_once(self, message: str, *, urn: str = "") -> None:
        """Print a message unless this operation has printed it; on the row of a resource if `urn` is given.

        The message would appear twice otherwise: a resource that is replaced is checked twice.
        """
        with self._lock:
            if message in self._printed:
                return
            self._printed.add(message)
        self.say_on(urn, message)

    def note_checked(self, resource: str) -> None:
        self._add(self._checked, resource)

    def was_checked(self, resource: str) -> bool:
        return self._has(self._checked, resource)

    def note_existing(self, resource: str) -> None:
        self._add(self._existing, resource)

    def exists(self, resource: str) -> bool:
        """Return whether the state has the resource, as far as the checks so far show."""
        return self._has(self._existing, resource)

    def note_made(self, id_: str) -> None:
        self._add(self._made, id_)

    def made(self, id_: str) -> bool:
        return self._has(self._made, id_)

    def all_made(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._made)

    def claim(self, what: str, resource: str) -> str:
        """Claim something for a resource. Return the name of the first resource that did."""
        with self._lock:
            return self._claims.setdefault(what, resource)

    def note_first_names(self, id_field: str, resource: str, names: Mapping[str, str]) -> None:
        self._put(self._first_names, (id_field, resource), dict(names))

    def first_names(self, id_field: str, resource: str) -> Mapping[str, str] | None:
        """Return the names that made the recorded id of a resource, or None for a new resource."""
        return self._get(self._first_names, (id_field, resource))

    def note_former_stack(self, recorded: Mapping[str, str] | None, marks: Mapping[str, str] | None) -> None:
        """Record the names of program and stack in recorded marks, if the present ones are different."""
        if recorded and marks and {"project", "stack"} <= recorded.keys():
            names = (recorded["project"], recorded["stack"])
            if names != (marks.get("project"), marks.get("stack")):
                with self._lock:
                    self._former_stacks.add(names)

    def all_marks(self, marks: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """Return the marks, and those that the declaration had under earlier names of its stack."""
        if not marks:
            return ()
        with self._lock:
            former = sorted(self._former_stacks)
        return (marks, *({**marks, "project": project, "stack": stack} for project, stack in former))

    def note_kept(self, id_: str, resource: str, recorded: Mapping[str, object]) -> None:
        """Record that a deployment leaves a resource as it is, or updates it in place."""
        self._put(self._kept_entries, id_, KeptEntry(resource=resource, recorded=dict(recorded)))

    def note_replaced(self, resource: str) -> None:
        """Record that a resource is replaced all the same, as `replace_on_changes` can demand."""
        self._add(self._replaced, resource)

    def belongs_to_another_entry(self, id_: str, recorded: Mapping[str, object] | None = None) -> bool:
        """Return whether what a state entry refers to belongs to another entry with the same id.

        Such entries are left by a deployment that adopted an existing resource and was killed before the
        entry it came from was deleted. `recorded` are the values of this entry. Leave them out for a kind
        whose replacement is created first: there, both entries may have the same values.
        """
        with self._lock:
            kept = self._kept_entries.get(id_)
            if kept is None or kept.resource in self._replaced:
                return False
            return recorded is None or kept.recorded != dict(recorded)

    def note_unanswered(self, asker: object, target: Target) -> None:
        with self._lock:
            self._unanswered.setdefault(asker, set()).add(target)

    def is_unanswered(self, asker: object, target: Target) -> bool:
        with self._lock:
            return target in self._unanswered.get(asker, ())

    def note_recorded_inputs(self, resource: str, inputs: object) -> None:
        self._put(self._recorded_inputs, resource, inputs)

    def recorded_inputs(self, resource: str, kind: type[T]) -> T | None:
        """Return the recorded inputs, or None for a new resource."""
        found = self._get(self._recorded_inputs, resource)
        return found if isinstance(found, kind) else None

    def note_custom_timeouts(self, resource: str, timeouts: CustomTimeouts) -> None:
        self._put(self._custom_timeouts, resource, timeouts)

    def custom_timeouts(self, resource: str) -> CustomTimeouts:
        return self._get(self._custom_timeouts, resource) or CustomTimeouts()

    def note_recorded_id(self, id_: str) -> None:
        self._add(self._recorded_ids, id_)

    def was_recorded(self, id_: str) -> bool:
        return self._has(self._recorded_ids, id_)

    def note_label_of_replaced(self, resource: str, label: str) -> None:
        self._put(self._labels_of_replaced, resource, label)

    def label_of_replaced(self, resource: str) -> str | None:
        return self._get(self._labels_of_replaced, resource)

    def note_recorded_value(self, name: str, resource: str, value: str) -> None:
        self._put(self._recorded_values, (name, resource), value)

    def recorded_value(self, name: str, resource: str) -> str | None:
        return self._get(self._recorded_values, (name, resource))

    def note_key(self, resource: str, key: object) -> None:
        """Record the key of a resource. Ignore a key that is not known."""
        if isinstance(key, str):
            with self._lock:
                self._keys[resource] = key if self._keys.get(resource, key) == key else ""

    def key_of(self, resource: str) -> str:
        """Return the key of a resource, or "" if it has none."""
        return self._get(self._keys, resource) or ""

    def note_row(self, resource: str, urn: object) -> None:
        """Record the URN of a resource, if the program handed it over."""
        if isinstance(urn, str):
            self._put(self._rows, resource, urn)

    def row_of(self, resource: str) -> str:
        """Return the URN of a resource, or "" if it is not known."""
        return self._get(self._rows, resource) or ""

    def note_package_modules(self, uri: str, modules: PackageModules) -> None:
        self._put(self._package_modules, uri, modules)

    def package_modules(self, uri: str) -> PackageModules | None:
        """Return the modules of a package, or None if no check of this operation knows them."""
        return self._get(self._package_modules, uri)


OPERATION = Operation()
