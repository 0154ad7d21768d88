"""The custom job that JOB names in a command of the emulator, also by its resource and stack."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.views.jobs.lookup import choose, wanted_of
from vertex_emulator import unknown_job


def find_job(options: argparse.Namespace, jobs: Sequence[Mapping[str, Any]]) -> str:
    """Return the id of the custom job that JOB names. Raises InputError."""
    wanted = wanted_of(options, options.job)
    found = choose(wanted, map(_record, jobs))
    if found is None:
        resources = [name for each in jobs if (name := each["labels"].get("pulumi-resource"))]
        raise unknown_job(wanted.text, jobs, name=wanted.name, names=resources)
    return found.record.job_id


def _record(job: Mapping[str, Any]) -> JobRecord:
    return JobRecord(
        name=job["name"],
        display_name=job["displayName"],
        state=JobState[job["state"]],
        create_time=job["created"],
        labels=job["labels"],
    )
