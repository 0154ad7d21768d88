"""What runs in a document of any kind, as the document of a custom job: so that one explanation does for
all.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from vertex_training.findings.problems import is_within
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import JobSpec, parts


def job_in(document: Document[Any]) -> tuple[str, Document[CustomJobSpec]]:
    """The job that a document describes, or that is inside of what it describes, and its path there: "" for a
    custom job, "trial_job_spec" for a tuning job. Its spec is None where there is nothing to run.

    Paths of the job's `damaged` are its own; its problems keep those of the whole.
    """
    if document.kind is CUSTOM_JOB:
        return "", document
    path, part = next(parts(document.spec), ("", None))
    damaged = frozenset(
        gap[len(path) :].lstrip(".") if is_within(gap, path) else ""
        for gap in document.damaged
        if is_within(gap, path) or is_within(path, gap)
    )
    spec = None
    if part is not None:
        own = {each.name: getattr(part, each.name) for each in fields(JobSpec)}
        spec = CustomJobSpec(display_name="", **own)
    return path, Document(
        form="pools",
        kind=CUSTOM_JOB,
        spec=spec,
        problems=document.problems,
        sizing=document.sizing,
        location=document.location,
        damaged=damaged,
    )
