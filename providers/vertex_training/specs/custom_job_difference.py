"""Compares two custom jobs."""

from __future__ import annotations

from collections.abc import Collection

from vertex_training.specs.custom_job import CustomJobSpec, normalise
from vertex_training.specs.custom_job_effects import EFFECTS
from vertex_training.specs.job_difference import JobDifference, compare_specs


def compare_jobs(old: CustomJobSpec, new: CustomJobSpec, *, unknown: Collection[str] = ()) -> JobDifference:
    """The difference of the normal forms; a path in `unknown` counts as different.

    Raises ValueError when one of them has more than four worker pools.
    """
    return compare_specs(normalise(old), normalise(new), table=EFFECTS, unknown=unknown)
