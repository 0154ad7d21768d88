"""What the service has of a custom job, beside what was declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.specs import job_echo
from vertex_training.specs.custom_job import CustomJobSpec, from_wire, normalise
from vertex_training.topology.changes import FieldChange


def difference_from_echo(declared: CustomJobSpec, job: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Where the job that the service has is not what is declared; `job` is the API's JSON.

    Raises ValueError for what is no custom job.
    """
    return job_echo.difference_from_echo(normalise(declared), normalise(from_wire(job)))


def as_it_lives(declared: CustomJobSpec, job: Mapping[str, Any]) -> CustomJobSpec:
    """The declaration with every field that differs replaced by what the service has, in normal form; the
    declaration itself where nothing differs.

    Raises ValueError for what is no custom job.
    """
    normal = normalise(declared)
    lives = job_echo.as_it_lives(normal, normalise(from_wire(job)))
    return declared if lives is normal else lives
