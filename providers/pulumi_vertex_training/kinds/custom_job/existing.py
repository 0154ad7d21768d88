"""`get_custom_job`: an existing job, with its outcome."""

from __future__ import annotations

from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import ExistingJob, read_job


class ExistingCustomJob(ExistingJob):
    """A custom job that exists."""


@checked_call
def get_custom_job(job: str, *, project: str | None = None, location: str | None = None) -> ExistingCustomJob:
    """Return an existing job of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such job. For an Output, use `.apply(vt.get_custom_job)`.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    return read_job(ExistingCustomJob, "customJobs", job, project=project, location=location)
