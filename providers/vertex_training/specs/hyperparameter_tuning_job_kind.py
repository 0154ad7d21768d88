"""The tuning job as a kind that runs."""

from __future__ import annotations

from vertex_training.specs.hyperparameter_tuning_job import (
    HyperparameterTuningJobSpec,
    from_wire,
    normalise,
    to_wire,
)
from vertex_training.specs.hyperparameter_tuning_job_effects import EFFECTS
from vertex_training.specs.hyperparameter_tuning_job_rules import validate
from vertex_training.specs.running import SpecKind
from vertex_training.specs.study_names import study_names

TUNING_JOB: SpecKind[HyperparameterTuningJobSpec] = SpecKind(
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
