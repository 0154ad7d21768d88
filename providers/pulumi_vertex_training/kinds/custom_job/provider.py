"""The provider of `CustomJob`."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.kinds.custom_job import kind as custom_job_kind
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY, replica_counts
from pulumi_vertex_training.plugin.running.declaration import Declared, RunningInputs
from pulumi_vertex_training.plugin.running.provider import RunningProvider
from vertex_training.job.custom_job import CustomJobSpec


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(RunningInputs, CustomJobSpec):
    """The inputs of a `CustomJob`."""


DECLARED = Declared(
    kind=GATEWAY,
    spec=custom_job_kind.KIND,
    inputs=CustomJobInputs,
    progress=replica_counts,
)


class CustomJobProvider(RunningProvider):
    """A custom job."""

    declared = DECLARED
