"""The memory of one engine operation about jobs and their runs, and the base of all its memory.

Runs are keyed by their identity rather than by a name: two resources may have one name, and a renamed one
goes by its old name.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.lookups import Lookups
from pulumi_vertex_training.runs.policies.deletion_policy import OnReplace
from pulumi_vertex_training.runs.policies.rerun import Decision, Facts, Policy
from pulumi_vertex_training.runs.policies.run_status import LookupResult

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
class DeclaredRun:
    """The policies of a job as the program declares them now, and the key of the run that it declares."""

    key: str
    rerun: Policy
    protect_running: bool
    on_replace: OnReplace = OnReplace.KEEP


@dataclass(frozen=True, kw_only=True)
class RunDecision:
    """A decision about a declaration's run, with the facts that it rests on."""

    facts: Facts
    decision: Decision


@dataclass(frozen=True, kw_only=True)
class JobDeclaration:
    """A job as the program declares it, and the row on which it is shown.

    `values` are its inputs, with markers for values that are not known yet; empty if only their hash is
    known. `passed_over` are the paths of values that are not looked up. `urn` is "" if it is not known.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    urn: str = ""
    is_preview: bool = False


@dataclass(frozen=True, kw_only=True)
class JobListing:
    """A target's answer, at `at` on the monotonic clock.

    `of_name` has jobs by full name, `of_run` each run's newest job by the run's key. `others` are jobs that
    were queried because the list does not have them. `endpoint` is None if no service answers.
    """

    at: float
    endpoint: Endpoint | None = None
    of_name: Mapping[str, JobRecord] = field(default_factory=dict)
    of_run: Mapping[str, JobRecord] = field(default_factory=dict)
    others: dict[str, JobRecord | LookupResult] = field(default_factory=dict)


@dataclass(kw_only=True)
class JobListings:
    """The jobs of one kind that were listed, by target.

    `lock` is held while one is listed: other threads wait for the same answer.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    recent: dict[Target, JobListing] = field(default_factory=dict)
    settled: dict[Target, Sequence[JobRecord]] = field(default_factory=dict)


@dataclass(kw_only=True)
class RunContext(Context):
    """The memory of one engine operation about jobs and their runs. Safe for threads."""

    _compared: set[str] = field(default_factory=set)
    """Jobs whose `diff` followed a check, by full name. Written by that diff; read by `delete`, to recognise
    `pulumi up --replace`, which compares nothing."""

    _issued: set[str] = field(default_factory=set)
    """Run keys that this operation issued. Written by `RunProvider`; read by a job's `create`: nothing can
    have been submitted under such a key before."""

    _released: set[str] = field(default_factory=set)
    """Full names of jobs that this operation compared or deleted. Written by a job's `diff` and `delete`;
    read by `create`, which replaces such a job and never adopts it, and by the removal of orphans."""

    _interrupted: set[str] = field(default_factory=set)
    """Keys of the recorded runs whose job a killed deployment began to replace. Written by a job's `diff`;
    read by its `create`, which deletes what may have replaced it."""

    _run_targets: dict[str, Target | None] = field(default_factory=dict)
    """The target of a run's job, None while it is not known, by the run's operation key. Written by the
    run's `check`; read by its `diff`, whose inputs may lack it."""

    _run_decisions: dict[str, RunDecision] = field(default_factory=dict)
    """The decision about a run, by the run's identity. Written by the run's `diff`; read by its `update` and
    by the `diff` of its job."""

    _job_declarations: dict[str, JobDeclaration] = field(default_factory=dict)
    """A job's declaration, by the operation key of the job. Written by the `check` of its run; read by the
    `diff` of both."""

    _declared_runs: dict[str, DeclaredRun] = field(default_factory=dict)
    """The declared policies of a job, by its run's identity. Written by the job's `check`; read by its
    `delete`, which gets recorded values only."""

    _recorded_generations: dict[str, int] = field(default_factory=dict)
    """The newest run whose job the state has, by the run's identity. Written by the job's `diff` and
    `delete`; read by its `create` and by the removal of orphans."""

    _reasons: dict[str, str] = field(default_factory=dict)
    """The code of the reason for a run that this operation decided on, by the run's key. Written by
    `RunProvider`, and by a job's `diff` and `delete` for a second job of a run; read by its `create`."""

    _recorded_reasons: dict[str, str] = field(default_factory=dict)
    """The code of the reason that the state has for a run, by the run's key. Written by the run's `diff`;
    read by the `create` of a job that an interrupted deployment did not submit."""

    _deleted_first: set[str] = field(default_factory=set)
    """Jobs that were compared with unknown values, by full name. Written by `diff`; read by `delete`: in a
    deployment the engine does so for what depends on something that is about to be replaced, and deletes it
    before the program declares it again."""

    _job_listings: dict[str, JobListings] = field(default_factory=dict)
    """The jobs that were listed, by the collection of their kind. Written and read by `JobCache`."""

    _lookups: Lookups = field(default_factory=Lookups, compare=False)
    """The answers about what jobs need. Read by the `diff` of runs."""

    @property
    def lookups(self) -> Lookups:
        return self._lookups

    def note_compared(self, name: str) -> None:
        self._add(self._compared, name)

    def was_compared(self, name: str) -> bool:
        return self._has(self._compared, name)

    def note_issued(self, key: str) -> None:
        self._add(self._issued, key)

    def issued(self, key: str) -> bool:
        return self._has(self._issued, key)

    def note_released(self, name: str) -> None:
        self._add(self._released, name)

    def released(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._released)

    def note_run_target(self, run: str, target: Target | None) -> None:
        self._put(self._run_targets, run, target)

    def run_target(self, run: str) -> Target | None:
        return self._get(self._run_targets, run)

    def note_job_declaration(self, job: str, declaration: JobDeclaration) -> None:
        self._put(self._job_declarations, job, declaration)

    def job_declaration(self, job: str) -> JobDeclaration:
        return self._get(self._job_declarations, job) or JobDeclaration()

    def note_run_decision(self, key: str, facts: Facts, decision: Decision) -> None:
        self._put(self._run_decisions, identity.identity_of(key), RunDecision(facts=facts, decision=decision))

    def run_decision(self, key: str) -> RunDecision | None:
        """Return the decision about the run of this key, or about an earlier run of its declaration."""
        return self._get(self._run_decisions, identity.identity_of(key))

    def note_declared_run(self, declared: DeclaredRun) -> None:
        self._put(self._declared_runs, identity.identity_of(declared.key), declared)

    def declared_run(self, key: str) -> DeclaredRun | None:
        """Return the declaration that `key` is a run of, or None if no check has seen it."""
        return self._get(self._declared_runs, identity.identity_of(key))

    def note_recorded_run(self, key: object) -> None:
        """Record that the state has a job of this run. Ignore values that are no key of a run."""
        try:
            run = identity.parse(str(key))
        except ValueError:
            return
        with self._lock:
            newest = max(run.generation, self._recorded_generations.get(run.identity, 0))
            self._recorded_generations[run.identity] = newest

    def recorded_generation(self, key: str) -> int:
        """Return the declaration's last run whose job the state has, as far as this operation saw; else 0."""
        return self._get(self._recorded_generations, identity.identity_of(key)) or 0

    def note_interrupted_replacement(self, key: object) -> None:
        """Record that a deployment was killed after it began to replace the recorded job of this run."""
        self._add(self._interrupted, str(key))

    def unrecorded_after(self, key: str) -> int:
        """Return the generation whose later runs may have jobs that no state has.

        It is the recorded one. If the replacement of its job was killed, there may be a second job of it.
        """
        run, recorded = identity.parse(key), self.recorded_generation(key)
        last = str(identity.RunKey(identity=run.identity, generation=recorded))
        with self._lock:
            return recorded - 1 if last in self._interrupted and run.generation > recorded else recorded

    def note_reason(self, key: str, code: str) -> None:
        self._put(self._reasons, key, code)

    def reason(self, key: str) -> str:
        """Return the code of the reason for a run that this operation decided on, or ""."""
        return self._get(self._reasons, key) or ""

    def note_recorded_reason(self, key: str, code: str) -> None:
        self._put(self._recorded_reasons, key, code)

    def recorded_reason(self, key: str) -> str:
        return self._get(self._recorded_reasons, key) or ""

    def note_deleted_first(self, name: str) -> None:
        self._add(self._deleted_first, name)

    def is_deleted_first(self, name: str) -> bool:
        """Return whether the job is deleted before the program declares its replacement."""
        return self._has(self._deleted_first, name)

    def job_listings(self, collection: str) -> JobListings:
        """Return the listings of the kind with this collection."""
        with self._lock:
            return self._job_listings.setdefault(collection, JobListings())
