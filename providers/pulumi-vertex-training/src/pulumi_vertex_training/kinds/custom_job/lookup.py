"""An existing job of this kind, as `get_custom_job` returns it."""

from __future__ import annotations

from pulumi_vertex_training.core.get_functions import ExistingJob, job_lookup


class ExistingCustomJob(ExistingJob):
    """A custom job that exists."""


LOOKUP = job_lookup(ExistingCustomJob, "custom job", "customJobs")
