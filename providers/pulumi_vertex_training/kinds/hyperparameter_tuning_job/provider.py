"""The provider of `HyperparameterTuningJob`."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.kinds.hyperparameter_tuning_job import kind as hyperparameter_tuning_job_kind
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.gateway import GATEWAY
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.results import NO_RESULTS, results, trial_counts
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from pulumi_vertex_training.plugin.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.plugin.running.provider import JobProvider


@dataclass(frozen=True, kw_only=True)
class TuningJobInputs(OnPersistentResource, JobInputs, HyperparameterTuningJobSpec):
    """The inputs of a `HyperparameterTuningJob`."""


DECLARED = JobResourceType(
    checks=(fit_rules.problems,),
    gateway=GATEWAY,
    spec=hyperparameter_tuning_job_kind.KIND,
    inputs=TuningJobInputs,
    results=results,
    no_results=NO_RESULTS,
    progress=trial_counts,
)


class HyperparameterTuningJobProvider(JobProvider):
    """A tuning job."""

    declared = DECLARED
