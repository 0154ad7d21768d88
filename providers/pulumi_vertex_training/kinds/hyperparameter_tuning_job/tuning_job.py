"""The tuning job as Pulumi declares it."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.kinds.hyperparameter_tuning_job import kind as hyperparameter_tuning_job_kind
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.results import NO_RESULTS, results, trial_counts
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from pulumi_vertex_training.plugin.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.runs import kinds


@dataclass(frozen=True, kw_only=True)
class TuningJobInputs(OnPersistentResource, JobInputs, HyperparameterTuningJobSpec):
    """The inputs of a `HyperparameterTuningJob`."""


DECLARED = JobResourceType(
    kind=kinds.TUNING_JOB,
    spec=hyperparameter_tuning_job_kind.TUNING_JOB,
    inputs=TuningJobInputs,
    results=results,
    no_results=NO_RESULTS,
    progress=trial_counts,
    checks=(fit_rules.problems,),
)
