"""The custom job as a kind that runs."""

from __future__ import annotations

from pulumi_vertex_training.kinds.custom_job.custom_job_effects import EFFECTS
from pulumi_vertex_training.kinds.custom_job.rules import validate
from vertex_training.job.custom_job import CustomJobSpec, from_wire, normalise, to_wire
from vertex_training.job.job_kind import JobKind

CUSTOM_JOB: JobKind[CustomJobSpec] = JobKind(
    noun="custom job",
    it="the job",
    spec=CustomJobSpec,
    effects=EFFECTS,
    normalise=normalise,
    validate=validate,
    to_wire=to_wire,
    from_wire=from_wire,
)
