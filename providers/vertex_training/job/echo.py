"""What the service has of a resource that runs something, beside what was declared: where they differ, and
the spec as it lives.

The service fills in what a declaration leaves out, answers with other spellings, and adds labels; none of
that is a difference (a kind's `normalise`; v1 reference, `CustomJob`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from vertex_training.fields.labels import is_own
from vertex_training.job.difference import means_the_same
from vertex_training.job.job_spec import JobSpec, map_parts, parts
from vertex_training.topology.changes import FieldChange, field_changes

Spec = TypeVar("Spec")

FILLED_IN = ("service_account", "base_output_directory")
"""Fields that a job has though none was declared: the service's own account, the directory of the run."""

_OF_THE_SERVICE = "goog-"


def difference_from_echo(declared: Spec, found: Spec) -> tuple[FieldChange, ...]:
    """Where what the service has is not what is declared; both in normal form."""
    bare = without_additions(declared, found)
    return tuple(change for change in field_changes(declared, bare) if not means_the_same(change))


def as_it_lives(declared: Spec, found: Spec) -> Spec:
    """The declaration with every field that differs replaced by what the service has; the declaration itself
    where nothing differs. Both in normal form."""
    changes = difference_from_echo(declared, found)
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
