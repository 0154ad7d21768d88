"""The provider of `CustomJob`."""

from __future__ import annotations

from pulumi_vertex_training.declared_kinds.custom_job import DECLARED
from pulumi_vertex_training.providers.running import RunningProvider


class CustomJobProvider(RunningProvider):
    """A custom job."""

    declared = DECLARED
