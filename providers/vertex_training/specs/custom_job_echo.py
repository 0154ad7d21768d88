"""What the service has of a job, beside what was declared: where they differ, and the spec as it lives.

The service fills in what a declaration leaves out, answers with other spellings, and adds labels; none of
that is a difference (`custom_job.normalise`; v1 reference, `CustomJob`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vertex_training.specs.custom_job import CustomJobSpec, from_wire, normalise
from vertex_training.specs.custom_job_difference import means_the_same
from vertex_training.specs.labels import is_own
from vertex_training.topology.changes import FieldChange, field_changes

FILLED_IN = ("service_account", "base_output_directory")
"""Fields that a job has though none was declared: the service's own account, the directory of the run."""

_OF_THE_SERVICE = "goog-"


def difference_from_echo(declared: CustomJobSpec, job: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Where the job that the service has is not what is declared; `job` is the API's JSON.

    Raises ValueError for what is no custom job.
    """
    normal = normalise(declared)
    return tuple(
        change for change in field_changes(normal, _found(normal, job)) if not means_the_same(change)
    )


def as_it_lives(declared: CustomJobSpec, job: Mapping[str, Any]) -> CustomJobSpec:
    """The declaration with every field that differs replaced by what the service has, in normal form; the
    declaration itself where nothing differs.

    Raises ValueError for what is no custom job.
    """
    changes = difference_from_echo(declared, job)
    if not changes:
        return declared
    normal = normalise(declared)
    found = _found(normal, job)
    differing = {re.split(r"[.\[]", change.path)[0] for change in changes}
    return replace(normal, **{name: getattr(found, name) for name in differing})


def _found(declared: CustomJobSpec, job: Mapping[str, Any]) -> CustomJobSpec:
    """The service's job in normal form, without what nobody declares: labels that were added, fields that are
    filled in."""
    found = normalise(from_wire(job))
    absent = {name: None for name in FILLED_IN if getattr(declared, name) is None}
    labels = {
        key: value
        for key, value in found.labels.items()
        if key in declared.labels or not (is_own(key) or key.startswith(_OF_THE_SERVICE))
    }
    return replace(found, labels=labels, **absent)  # type: ignore[arg-type]
