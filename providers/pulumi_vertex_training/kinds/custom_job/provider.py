"""The provider of `CustomJob`."""

from __future__ import annotations

from pulumi_vertex_training.kinds.custom_job.custom_job import DECLARED
from pulumi_vertex_training.plugin.running.provider import JobProvider


class CustomJobProvider(JobProvider):
    """A custom job."""

    declared = DECLARED
