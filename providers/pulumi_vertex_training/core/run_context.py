"""The memory of one engine operation about jobs and their runs, and the base of all its memory.

Jobs are keyed by their operation key: the URN, or kind and name where a host has no URN.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.identity import RunKey
from pulumi_vertex_training.runs.lookups import Lookups
from pulumi_vertex_training.runs.policies.deletion_policy import OnReplace
from pulumi_vertex_training.runs.policies.rerun import Policy
from pulumi_vertex_training.runs.policies.run_status import Change, LookupResult

T = TypeVar("T")
Key = TypeVar("Key", str, tuple[str, str])


@dataclass(kw_only=True)
class Context:
    """Facts of one engine operation, behind one lock: its calls run on several threads."""

    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def _add(self, known: set[str], item: str) -> None:
        with self._lock:
            known.add(item)

    def _has(self, known: set[str], item: str) -> bool:
        with self._lock:
            return item in known

    def _put(self, known: dict[Key, T], key: Key, value: T) -> None:
        with self._lock:
            known[key] = value

    def _get(self, known: Mapping[Key, T], key: Key) -> T | None:
        with self._lock:
            return known.get(key)


@dataclass(frozen=True, kw_only=True)
class DeclaredPolicies:
    """The policies of a job as the program declares them now."""

    rerun: Policy
    protect_running: bool
    on_replace: OnReplace = OnReplace.KEEP


@dataclass(frozen=True, kw_only=True)
class DecidedRun:
    """A run that this operation decided on: its code, and the reruns on failure to record with it."""

    why: str
    reruns: int = 0


@dataclass(frozen=True, kw_only=True)
class JobDeclaration:
    """A job as the program declares it, and the row on which it is shown.

    `values` are its inputs, with markers for values that are not known yet. `passed_over` are the paths of
    values that are not looked up. `urn` is "" if it is not known.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    urn: str = ""
    is_preview: bool = False


@dataclass(frozen=True, kw_only=True)
class JobListing:
    """A target's answer, at `at` on the monotonic clock.

    `of_name` has jobs by full name. `others` are jobs that were queried because the list does not have them.
    `endpoint` is None if no service answers.
    """

    at: float
    endpoint: Endpoint | None = None
    of_name: Mapping[str, JobRecord] = field(default_factory=dict)
    others: dict[str, JobRecord | LookupResult] = field(default_factory=dict)


@dataclass(kw_only=True)
class JobListings:
    """The jobs of one kind that were listed, by target.

    `lock` is held while one is listed: other threads wait for the same answer.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    recent: dict[Target, JobListing] = field(default_factory=dict)
    settled: dict[Target, Sequence[JobRecord]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StackState:
    """The runs that a stack's state has.

    `ids` are the ids of all its resources, also of replaced ones that are not deleted yet. `identities` are
    the identities of the runs that its resources have. `begun` has, by URN, the identities in the inputs of
    creations that a deployment began: the present one, or one that was killed. `replaced` has, by URN, the
    key of the run whose job is deleted and not replaced yet.
    """

    ids: frozenset[str] = frozenset()
    identities: frozenset[str] = frozenset()
    begun: Mapping[str, frozenset[str]] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)


class StateUnavailableError(Exception):
    """The state of the stack cannot be read. The message names the command, the reason and the remedy."""


@dataclass(kw_only=True)
class StateAnswer:
    """The answer to the question for the stack's state: the state, or the error. None while it is not asked.

    `lock` is held while it is asked: other threads wait for the same answer.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: StackState | Exception | None = None


@dataclass(kw_only=True)
class RunContext(Context):
    """The memory of one engine operation about jobs and their runs. Safe for threads."""

    _compared: set[str] = field(default_factory=set)
    """Jobs whose `diff` followed a check. Written by that diff; read by `delete`, to recognise
    `pulumi up --replace`, which compares nothing."""

    _released: set[str] = field(default_factory=set)
    """Full names of jobs that this operation compared or deleted. Written by a job's `diff` and `delete`;
    read by `create`, which replaces such a job and never adopts it, and by the removal of orphans."""

    _changes: dict[str, Change] = field(default_factory=dict)
    """The change of a job's declaration. Written by `check`, which may keep the recorded inputs; read by
    `diff`."""

    _declarations: dict[str, JobDeclaration] = field(default_factory=dict)
    """A job's declaration. Written by `check`; read by `diff`."""

    _policies: dict[str, DeclaredPolicies] = field(default_factory=dict)
    """The declared policies of a job. Written by `check`; read by `delete`."""

    _recorded: dict[str, RunKey] = field(default_factory=dict)
    """The newest run of a job that the state has. Written by `diff` and `delete`; read by the `check` of a
    replacement and by `create`."""

    _decided: dict[str, DecidedRun] = field(default_factory=dict)
    """A run that was decided on. Written by `diff` and `delete`; read by `create`."""

    _deleted_first: set[str] = field(default_factory=set)
    """Jobs that were compared with unknown values, by full name. Written by `diff`; read by `delete`: in a
    deployment the engine does so for what depends on something that is about to be replaced, and deletes it
    before the program declares it again."""

    _job_listings: dict[str, JobListings] = field(default_factory=dict)
    """The jobs that were listed, by the collection of their kind. Written and read by `JobCache`."""

    _state_answer: StateAnswer = field(default_factory=StateAnswer, compare=False)
    """The state of the stack, or why it cannot be read. Written and read by `stack_state`."""

    _lookups: Lookups = field(default_factory=Lookups, compare=False)
    """The answers about what jobs need. Written and read by `diff`."""

    @property
    def lookups(self) -> Lookups:
        return self._lookups

    def note_compared(self, resource: str) -> None:
        self._add(self._compared, resource)

    def was_compared(self, resource: str) -> bool:
        return self._has(self._compared, resource)

    def note_released(self, name: str) -> None:
        self._add(self._released, name)

    def released(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._released)

    def note_change(self, resource: str, change: Change) -> None:
        self._put(self._changes, resource, change)

    def change(self, resource: str) -> Change:
        return self._get(self._changes, resource) or Change.NOTHING

    def note_declaration(self, resource: str, declaration: JobDeclaration) -> None:
        self._put(self._declarations, resource, declaration)

    def declaration(self, resource: str) -> JobDeclaration:
        return self._get(self._declarations, resource) or JobDeclaration()

    def note_policies(self, resource: str, declared: DeclaredPolicies) -> None:
        self._put(self._policies, resource, declared)

    def policies(self, resource: str) -> DeclaredPolicies | None:
        """Return the declared policies, or None for a job that no check has seen."""
        return self._get(self._policies, resource)

    def note_recorded_run(self, resource: str, key: object) -> None:
        """Record that the state has a job of this run. Ignore values that are no key of a run."""
        try:
            run = identity.parse(str(key))
        except ValueError:
            return
        with self._lock:
            known = self._recorded.get(resource)
            if known is None or known.identity != run.identity or known.generation < run.generation:
                self._recorded[resource] = run

    def recorded_run(self, resource: str) -> RunKey | None:
        """Return the job's newest run that the state has, as far as this operation saw."""
        return self._get(self._recorded, resource)

    def note_decided(self, resource: str, run: DecidedRun) -> None:
        self._put(self._decided, resource, run)

    def decided(self, resource: str) -> DecidedRun | None:
        return self._get(self._decided, resource)

    def note_deleted_first(self, name: str) -> None:
        self._add(self._deleted_first, name)

    def is_deleted_first(self, name: str) -> bool:
        """Return whether the job is deleted before the program declares its replacement."""
        return self._has(self._deleted_first, name)

    def stack_state(self, ask: Callable[[], StackState]) -> StackState:
        """Return the state of the stack, for which only the first call asks.

        Raises the error of that call, in later calls too.
        """
        known = self._state_answer
        with known.lock:
            if known.answer is None:
                try:
                    known.answer = ask()
                except Exception as error:
                    known.answer = error
            if isinstance(known.answer, Exception):
                raise known.answer
            return known.answer

    def job_listings(self, collection: str) -> JobListings:
        """Return the listings of the kind with this collection."""
        with self._lock:
            return self._job_listings.setdefault(collection, JobListings())
