"""Adopt a resource that exists, for the option `adopt` of the kinds that have an id of the user's.

As for jobs, the declaration has to equal what exists, so that adopting changes nothing but our labels.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_vertex_training.runs.adoption import AdoptionError
from vertex_training.findings.words import all_of
from vertex_training.topology.changes import FieldChange, field_changes

_OWNER = {"pulumi-resource": "resource", "pulumi-stack": "stack", "pulumi-project": "project"}


def require_equal(what: str, live: object, declared: object) -> None:
    """Check that two specs of one class are equal. Raises AdoptionError with every difference."""
    changes = field_changes(live, declared)
    if differences := "; ".join(map(_line, changes)):
        raise AdoptionError(
            f"{what} is not adopted, because it differs from the declaration (live -> declared): "
            f"{differences}. Declare it as it is, run `pulumi up`, and make your changes afterwards."
        )


def require_no_other_owner(what: str, labels: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Check that no other declaration's labels are on a resource. Raises AdoptionError."""
    others = {key: labels[key] for key in _OWNER if key in labels and labels[key] != ours.get(key)}
    if others:
        owner = all_of([f"{_OWNER[key]} {labels[key]}" for key in _OWNER if key in labels])
        raise AdoptionError(
            f"{what} belongs to {owner}, which may still change or delete it. If that stack is gone for "
            f"good, remove the labels {all_of(list(others))} from it, and run `pulumi up` again."
        )


def _line(change: FieldChange) -> str:
    return f"{change.path}: {_value(change.old)} -> {_value(change.new)}"


def _value(value: object) -> str:
    return "none" if value is None or value == () else repr(value)
