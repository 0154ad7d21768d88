"""What the workflow needs of the spec of a runnable kind, and how a spec differs from the live one.

The service fills in what a declaration leaves out, answers with other spellings, and adds labels; none of
that is a difference (a kind's `normalise`; v1 reference, `CustomJob`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Generic, Protocol, TypeVar

from vertex_training.fields.effects import FieldTable
from vertex_training.fields.labels import is_own
from vertex_training.fields.schema import child
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.difference import JobDifference, compare_specs, means_the_same
from vertex_training.job.job_spec import JobSpec, hash_of, map_parts, parts
from vertex_training.topology.changes import FieldChange, field_changes

Spec = TypeVar("Spec")

FILLED_IN = ("service_account", "base_output_directory")
"""Fields that a job has though none was declared: the service's own account, the directory of the run."""

_OF_THE_SERVICE = "goog-"


def drift(declared: Spec, found: Spec) -> tuple[FieldChange, ...]:
    """Where what the service has is not what is declared; both in normal form."""
    bare = without_additions(declared, found)
    return tuple(change for change in field_changes(declared, bare) if not means_the_same(change))


def as_live(declared: Spec, found: Spec) -> Spec:
    """The declaration with every field that differs replaced by what the service has; the declaration itself
    where nothing differs. Both in normal form.
    """
    changes = drift(declared, found)
    if not changes:
        return declared
    bare = without_additions(declared, found)
    differing = {re.split(r"[.\[]", change.path)[0] for change in changes}
    return replace(declared, **{name: getattr(bare, name) for name in differing})  # type: ignore[type-var]


def without_additions(declared: Spec, found: Spec) -> Spec:
    """`found` without what nobody declares: labels that were added, fields that are filled in."""
    ours = dict(parts(declared))

    def bare(path: str, part: JobSpec) -> JobSpec:
        absent: dict[str, Any] = {
            name: None for name in FILLED_IN if path in ours and getattr(ours[path], name) is None
        }
        return replace(part, **absent)

    declared_labels: Mapping[str, str] = getattr(declared, "labels", {})
    labels = {
        key: value
        for key, value in getattr(found, "labels", {}).items()
        if key in declared_labels or not (is_own(key) or key.startswith(_OF_THE_SERVICE))
    }
    return replace(map_parts(found, bare), labels=labels)  # type: ignore[type-var]


DIRECTORY = "base_output_directory"


class Validate(Protocol):
    """Every finding about a spec; `has_output`: the run will get an output directory though none is
    declared.
    """

    def __call__(
        self, spec: Any, *, options: CheckOptions = ..., has_output: bool = ...
    ) -> Sequence[Problem]: ...


def _no_names(_: object) -> Iterable[tuple[str, str]]:
    return ()


@dataclass(frozen=True, kw_only=True)
class JobKind(Generic[Spec]):
    """The spec of one kind, and what can be done with it.

    `noun` is what people call one ("custom job"), `it` what a sentence about one that exists calls it ("the
    job"). `spec` is the class, a frozen dataclass with `labels`; `effects` its field table; `at` the paths
    where a `JobSpec` may stand in it, "" for the spec itself. `normalise` never raises; `to_wire` and
    `from_wire` are the whole resource in the API's JSON, `from_wire` raises ValueError for what is none.
    `names` are paths with what people call the part there, where the path has only its position.
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
    names: Callable[[Spec], Iterable[tuple[str, str]]] = _no_names

    def spec_hash(self, spec: Spec) -> str:
        """ "v1-" and 16 hex digits: equal for specs with an equal normal form, short enough for a label.

        Hash the spec as it is declared: without the directory that the run chooses, without the labels that a
        run adds.
        """
        return hash_of(self.normalise(spec), self.to_wire)

    def compare(self, old: Spec, new: Spec, *, unknown: Collection[str] = ()) -> JobDifference:
        """The difference of the normal forms; a path in `unknown` counts as different.

        Raises ValueError when one of them has more than four worker pools.
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
        """The declaration with every field that differs replaced by what the service has, in normal form; the
        declaration itself where nothing differs.

        Raises ValueError for what is none of this kind.
        """
        normal = self.normalise(declared)
        lives = as_live(normal, self.normalise(self.from_wire(wire)))
        return declared if lives is normal else lives

    def as_declared(self, declared: Spec, lives: Spec) -> Spec:
        """What the service has, without what nobody declares: our own labels, and what it has filled in.
        Specs are in normal form.
        """
        ours = getattr(declared, "labels", {})
        labels = {
            key: value
            for key, value in getattr(lives, "labels", {}).items()
            if key in ours or not is_own(key)
        }
        return replace(lives, labels=labels)  # type: ignore[type-var]

    def drift(self, declared: Spec, wire: Mapping[str, Any]) -> tuple[FieldChange, ...]:
        """Where what the service has is not what is declared. Raises ValueError for what is none of this
        kind.
        """
        return drift(self.normalise(declared), self.normalise(self.from_wire(wire)))

    def difference_to_adopt(self, declared: Spec, wire: Mapping[str, Any]) -> tuple[FieldChange, ...]:
        """Where a resource that exists is not what is declared, `old` being what lives.

        Our own labels are passed over on both sides. An output directory of None follows the resource, and so
        does the disk of a machine whose default disk is not known. Raises ValueError for what is none of this
        kind.
        """
        wanted = _without_own_labels(self.normalise(self.from_wire(self.to_wire(self.normalise(declared)))))
        found = _without_own_labels(self.normalise(self.from_wire(wire)))
        live = dict(parts(found))

        def following(path: str, part: JobSpec) -> JobSpec:
            if path not in live:
                return part
            other = live[path]
            pools = other.worker_pool_specs[: len(part.worker_pool_specs)]
            return replace(
                part,
                base_output_directory=part.base_output_directory or other.base_output_directory,
                worker_pool_specs=tuple(
                    replace(pool, disk_spec=lives.disk_spec)
                    if lives and not (pool.is_empty or pool.disk_spec)
                    else pool
                    for pool, lives in zip_longest(part.worker_pool_specs, pools)
                ),
            )

        difference = self.compare(found, map_parts(wanted, following))
        return (*difference.pool_fields, *difference.fields)

    def directory_path(self, spec: Spec) -> str | None:
        """The path of the field that says where a spec's output goes; None where nothing runs in it."""
        return next((child(path, DIRECTORY) for path, _ in parts(spec)), None)

    def output_directory(self, spec: Spec) -> str | None:
        """Where its output goes, gs://BUCKET/PREFIX/; None where it names no directory."""
        return next((part.base_output_directory for _, part in parts(spec)), None)

    def with_output_directory(self, spec: Spec, directory: str | None) -> Spec:
        """The same, with its output going to another directory."""
        return map_parts(spec, lambda _, part: replace(part, base_output_directory=directory))

    def directory_of(self, wire: Mapping[str, Any]) -> str | None:
        """As `output_directory`, of a resource in the API's JSON."""
        return self.output_directory(self.normalise(self.from_wire(wire)))


def _without_own_labels(spec: Spec) -> Spec:
    labels = {key: value for key, value in getattr(spec, "labels", {}).items() if not is_own(key)}
    return replace(spec, labels=labels)  # type: ignore[type-var]
