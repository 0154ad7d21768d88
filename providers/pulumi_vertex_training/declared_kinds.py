"""Every kind that runs, as Pulumi declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pulumi_vertex_training import uploaded_models
from pulumi_vertex_training.declaration import Declared, RunningInputs
from pulumi_vertex_training.replica_counts import replica_counts
from pulumi_vertex_training.tuning_results import NO_RESULTS, results, trial_counts
from vertex_training.lifecycle import kinds
from vertex_training.specs import (
    custom_job_kind,
    hyperparameter_tuning_job_kind,
    training_pipeline_kind,
)
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.hyperparameter_tuning_job import HyperparameterTuningJobSpec
from vertex_training.specs.persistent_resource import PersistentResource, normalise
from vertex_training.specs.persistent_resource_rules import persistent_resource_problems
from vertex_training.specs.training_pipeline import TrainingPipelineSpec
from vertex_training.topology.problems import Problem


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(RunningInputs, CustomJobSpec):
    """The inputs of a `CustomJob`. `persistent_resource` is what is declared of the one that it runs on, for
    the checks alone: it takes no part in a diff or in the hash."""

    persistent_resource: PersistentResource | None = None


def _on_persistent_resource(inputs: CustomJobInputs) -> list[Problem]:
    """What of the job does not fit on the persistent resource that this program declares."""
    if inputs.persistent_resource is None:
        return []
    resource = normalise(inputs.persistent_resource)
    return [
        replace(problem, rests_on=(*problem.rests_on, "persistent_resource.*"))
        for problem in persistent_resource_problems(inputs, resource)
    ]


CUSTOM_JOB = Declared(
    kind=kinds.CUSTOM_JOB,
    spec=custom_job_kind.CUSTOM_JOB,
    inputs=CustomJobInputs,
    surroundings=_on_persistent_resource,
    progress=replica_counts,
)


@dataclass(frozen=True, kw_only=True)
class TuningJobInputs(RunningInputs, HyperparameterTuningJobSpec):
    """The inputs of a `HyperparameterTuningJob`."""


TUNING_JOB = Declared(
    kind=kinds.TUNING_JOB,
    spec=hyperparameter_tuning_job_kind.TUNING_JOB,
    inputs=TuningJobInputs,
    results=results,
    no_results=NO_RESULTS,
    progress=trial_counts,
)


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineInputs(RunningInputs, TrainingPipelineSpec):
    """The inputs of a `TrainingPipeline`."""


TRAINING_PIPELINE = Declared(
    kind=kinds.TRAINING_PIPELINE,
    spec=training_pipeline_kind.KIND,
    inputs=TrainingPipelineInputs,
    outputs=uploaded_models.outputs,
    results=uploaded_models.results,
    no_results=uploaded_models.NO_MODEL,
    progress=uploaded_models.progress,
    log_of=uploaded_models.log_of,
    discard=uploaded_models.discard,
)

DECLARED: Mapping[str, Declared] = MappingProxyType(
    {one.kind.collection: one for one in (CUSTOM_JOB, TUNING_JOB, TRAINING_PIPELINE)}
)
"""The kinds by collection, which the full name of everything that runs has in it."""


def declared_of(name: str) -> Declared:
    """The kind of what has this full name. Raises KeyError for the name of none."""
    return DECLARED[name.rpartition("/")[0].rpartition("/")[2]]
