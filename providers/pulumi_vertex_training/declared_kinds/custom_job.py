"""The custom job as Pulumi declares it."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.declaration import Declared, RunningInputs
from pulumi_vertex_training.replica_counts import replica_counts
from vertex_training.lifecycle import kinds
from vertex_training.specs import custom_job_kind
from vertex_training.specs.custom_job import CustomJobSpec


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(RunningInputs, CustomJobSpec):
    """The inputs of a `CustomJob`."""


DECLARED = Declared(
    kind=kinds.CUSTOM_JOB,
    spec=custom_job_kind.CUSTOM_JOB,
    inputs=CustomJobInputs,
    progress=replica_counts,
)
