"""The tuning job as Pulumi declares it."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.declaration import Declared, RunningInputs
from pulumi_vertex_training.tuning_results import NO_RESULTS, results, trial_counts
from vertex_training.lifecycle import kinds
from vertex_training.specs import hyperparameter_tuning_job_kind
from vertex_training.specs.hyperparameter_tuning_job import HyperparameterTuningJobSpec


@dataclass(frozen=True, kw_only=True)
class TuningJobInputs(RunningInputs, HyperparameterTuningJobSpec):
    """The inputs of a `HyperparameterTuningJob`."""


DECLARED = Declared(
    kind=kinds.TUNING_JOB,
    spec=hyperparameter_tuning_job_kind.TUNING_JOB,
    inputs=TuningJobInputs,
    results=results,
    no_results=NO_RESULTS,
    progress=trial_counts,
)
