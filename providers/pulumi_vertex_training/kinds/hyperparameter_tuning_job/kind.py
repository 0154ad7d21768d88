"""The tuning job as a kind that runs."""

from __future__ import annotations

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.effects import EFFECTS
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.rules import validate
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import (
    HyperparameterTuningJobSpec,
    from_wire,
    normalise,
    to_wire,
)
from vertex_training.job.job_kind import JobKind
from vertex_training.study.names import study_names

TUNING_JOB: JobKind[HyperparameterTuningJobSpec] = JobKind(
    noun="tuning job",
    it="the tuning job",
    spec=HyperparameterTuningJobSpec,
    effects=EFFECTS,
    normalise=normalise,
    validate=validate,
    to_wire=to_wire,
    from_wire=from_wire,
    at=("trial_job_spec",),
    names=study_names,
)
