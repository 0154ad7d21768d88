"""The operations that runs need of the spec of a job kind, and the drift between spec and live resource.

The service fills in undeclared fields, answers with other spellings, and adds labels; none of that counts as
a difference (a kind's `normalise`; v1 reference, `CustomJob`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Generic, Protocol, TypeVar

from vertex_training.fields.effects import FieldTable
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.schema import child
from vertex_training.fields.uris import DIRECTORY
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.checkpoints import without_variable
from vertex_training.job.difference import JobDifference, compare_specs, means_the_same
from vertex_training.job.job_spec import JobSpec, hash_of, map_parts, parts
from vertex_training.topology.changes import FieldChange, field_changes

Spec = TypeVar("Spec")

FILLED_IN = ("service_account", "base_output_directory")
"""Undeclared fields that a live job has: the default service account, the directory of the run."""

_OF_THE_SERVICE = "goog-"


def drift(declared: Spec, found: Spec) -> tuple[FieldChange, ...]:
    """Return the fields whose live value differs from the declaration; both specs in normal form."""
    live = without_additions(declared, found)
    return tuple(change for change in field_changes(declared, live) if not means_the_same(change))


def as_live(declared: Spec, found: Spec) -> Spec:
    """Return the declaration with the live value of every field that differs; both in normal form.

    If nothing differs, this is `declared` itself.
    """
    changes = drift(declared, found)
    if not changes:
        return declared
    live = without_additions(declared, found)
    differing = {re.split(r"[.\[]", change.path)[0] for change in changes}
    return replace(declared, **{name: getattr(live, name) for name in differing})  # type: ignore[type-var]


def without_additions(declared: Spec, found: Spec) -> Spec:
    """Return `found` without undeclared additions: labels, filled-in fields, the folder of checkpoints."""
    found = without_variable(found, declared=declared)
    declared_parts = dict(parts(declared))

    def without_filled_in(path: str, part: JobSpec) -> JobSpec:
        absent: dict[str, Any] = {
            name: None
            for name in FILLED_IN
            if path in declared_parts and getattr(declared_parts[path], name) is None
        }
        return replace(part, **absent)

    declared_labels: Mapping[str, str] = getattr(declared, "labels", {})
    labels = {
        key: value
        for key, value in getattr(found, "labels", {}).items()
        if key in declared_labels or not (is_provider_label(key) or key.startswith(_OF_THE_SERVICE))
    }
    return replace(map_parts(found, without_filled_in), labels=labels)  # type: ignore[type-var]


class Validate(Protocol):
    """A function that returns every finding about a spec.

    `has_output` means that the run gets an output directory although the spec declares none.
    """

    def __call__(
        self, spec: Any, *, options: CheckOptions = ..., has_output: bool = ...
    ) -> Sequence[Problem]: ...


@dataclass(frozen=True, kw_only=True)
class JobKind(Generic[Spec]):
    """The spec class of one kind of job, and the operations on it.

    `noun` is the name of the kind ("custom job"), `it` what a sentence calls an existing one ("the job").
    `spec` is a frozen dataclass with `labels`; `effects` is its field table; `at` has the paths of `JobSpec`s
    in it, "" for the spec itself. `normalise` never raises. `to_wire` and `from_wire` convert the whole
    resource to and from the API's JSON; `from_wire` raises ValueError if it is not of this kind. `names`
    yields paths that only have a position, with the name of the part there.
    """

    noun: str
    it: str
    spec: type[Spec]
    effects: FieldTable
    normalise: Callable[[Spec], Spec]
    validate: Validate
    to_wire: Callable[[Spec], dict[str, Any]]
    from_wire: Callable[[Mapping[str, Any]], Spec]
    at: tuple[str, ...] = ("",)
    names: Callable[[Spec], Iterable[tuple[str, str]]] = lambda _: ()

    def spec_hash(self, spec: Spec) -> str:
        """Return "v1-" and 16 hex digits, equal for specs with an equal normal form.

        The text is short enough for a label. Hash the spec as it is declared: without the directory that the
        run chooses and the labels that a run adds.
        """
        return hash_of(self.normalise(spec), self.to_wire)

    def compare(self, old: Spec, new: Spec, *, unknown: Collection[str] = ()) -> JobDifference:
        """Compare the normal forms of two specs; a path in `unknown` counts as different.

        Raises ValueError if one of them has more than four worker pools.
        """
        return compare_specs(
            self.normalise(old),
            self.normalise(new),
            table=self.effects,
            unknown=unknown,
            noun=self.it,
            names={**dict(self.names(old)), **dict(self.names(new))},
        )

    def as_live(self, declared: Spec, wire: Mapping[str, Any]) -> Spec:
        """Return the declaration with the live value of every field that differs, in normal form.

        If nothing differs, this is `declared` itself. Raises ValueError if `wire` is not of this kind.
        """
        normal = self.normalise(declared)
        live = as_live(normal, self.normalise(self.from_wire(wire)))
        return declared if live is normal else live

    def as_declared(self, declared: Spec, live: Spec) -> Spec:
        """Return the live spec without the labels and variables that the provider added; in normal form."""
        live = without_variable(live, declared=declared)
        declared_labels = getattr(declared, "labels", {})
        labels = {
            key: value
            for key, value in getattr(live, "labels", {}).items()
            if key in declared_labels or not is_provider_label(key)
        }
        return replace(live, labels=labels)  # type: ignore[type-var]

    def drift(self, declared: Spec, wire: Mapping[str, Any]) -> tuple[FieldChange, ...]:
        """Return the fields whose live value differs from the declaration.

        Raises ValueError if `wire` is not of this kind.
        """
        return drift(self.normalise(declared), self.normalise(self.from_wire(wire)))

    def difference_to_adopt(
        self, declared: Spec, wire: Mapping[str, Any], *, checkpoints: str | None = None
    ) -> tuple[FieldChange, ...]:
        """Return where an existing resource differs from the declaration; `old` is its live value.

        The provider's own labels are ignored on both sides. An output directory of None matches any, and so
        does the disk of a machine whose default disk is not known. A folder of checkpoints that the job got
        when it was submitted is ignored, also if it is `checkpoints`. Raises ValueError if `wire` is not of
        this kind.
        """
        wanted = _without_own_labels(self.normalise(self.from_wire(self.to_wire(self.normalise(declared)))))
        existing = _without_own_labels(self.normalise(self.from_wire(wire)))
        existing = without_variable(existing, declared=wanted, folder=checkpoints)
        live = dict(parts(existing))

        def following(path: str, part: JobSpec) -> JobSpec:
            if path not in live:
                return part
            other = live[path]
            pools = other.worker_pool_specs[: len(part.worker_pool_specs)]
            return replace(
                part,
                base_output_directory=part.base_output_directory or other.base_output_directory,
                worker_pool_specs=tuple(
                    replace(pool, disk_spec=live_pool.disk_spec)
                    if live_pool and not (pool.is_empty or pool.disk_spec)
                    else pool
                    for pool, live_pool in zip_longest(part.worker_pool_specs, pools)
                ),
            )

        difference = self.compare(existing, map_parts(wanted, following))
        return (*difference.pool_fields, *difference.fields)

    def directory_path(self, spec: Spec) -> str | None:
        """Return the path of the output directory's field, or None if the spec contains no job."""
        return next((child(path, DIRECTORY) for path, _ in parts(spec)), None)

    def output_directory(self, spec: Spec) -> str | None:
        """Return the output directory, gs://BUCKET/PREFIX/, or None without one."""
        return next((part.base_output_directory for _, part in parts(spec)), None)

    def with_output_directory(self, spec: Spec, directory: str | None) -> Spec:
        """Return the spec with another output directory."""
        return map_parts(spec, lambda _, part: replace(part, base_output_directory=directory))

    def directory_of(self, wire: Mapping[str, Any]) -> str | None:
        """Return the output directory of a resource in the API's JSON, or None without one."""
        return self.output_directory(self.normalise(self.from_wire(wire)))


def _without_own_labels(spec: Spec) -> Spec:
    labels = {key: value for key, value in getattr(spec, "labels", {}).items() if not is_provider_label(key)}
    return replace(spec, labels=labels)  # type: ignore[type-var]
