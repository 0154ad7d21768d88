"""The provider of `HyperparameterTuningJob`, and the trials in its `completion` and its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.running.declaration import Counts, JobInputs, JobResourceType
from pulumi_vertex_training.core.running.provider import JobProvider
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import kind as hyperparameter_tuning_job_kind
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.gateway import GATEWAY
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec, from_wire
from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from vertex_training.study.study import StudySpec
from vertex_training.study.trials import (
    Trial,
    as_output,
    best_as_output,
    best_trial,
    objective_of,
    read_trials,
)

NO_RESULTS: Mapping[str, Any] = MappingProxyType({"trials": [], "best_trial": None})

_ENDED = ("SUCCEEDED", "INFEASIBLE")
_LIVE = ("ACTIVE", "STOPPING")


def results(_endpoint: Endpoint, record: JobRecord, base_output_directory: str | None) -> dict[str, Any]:
    """Return the trials so far and the best one, whose model directory is also the job's."""
    study = from_wire(record.wire).study_spec
    trials = read_trials(record.wire, study)
    best = best_trial(trials, study)
    output = best and best_as_output(best, study, base_output_directory)
    return {
        "trials": [as_output(trial, base_output_directory) for trial in trials],
        "best_trial": output,
        "model_directory": output["model_directory"] if output else None,
    }


def trial_counts(_endpoint: Endpoint, record: JobRecord) -> Counts:
    """Count the trials: `3/20 trials`, and `2 running, 1 failed, best loss 0.25 (trial 2)`."""
    spec = from_wire(record.wire)
    trials = read_trials(record.wire, spec.study_spec)
    ended = [trial for trial in trials if trial.state in _ENDED]
    parts = []
    if running := sum(trial.state in _LIVE for trial in trials):
        parts.append(f"{running} running")
    if failed := sum(trial.state == "INFEASIBLE" for trial in trials):
        parts.append(f"{failed} failed")
    if best := _best_in_words(trials, spec.study_spec):
        parts.append(best)
    return Counts(f"{len(ended)}/{spec.max_trial_count} trials", ", ".join(parts))


def _best_in_words(trials: Sequence[Trial], study: StudySpec) -> str:
    best, objective = best_trial(trials, study), objective_of(study)
    if best is None or objective is None:
        return ""
    return f"best {objective.metric_id} {best.metrics[objective.metric_id]:.6g} (trial {best.id})"


@dataclass(frozen=True, kw_only=True)
class HyperparameterTuningJobInputs(OnPersistentResource, JobInputs, HyperparameterTuningJobSpec):
    """The inputs of a `HyperparameterTuningJob`."""


DECLARED = JobResourceType(
    refused={
        "capacity": "is not possible for a tuning job: the service ends a trial without machines as "
        "infeasible, so no other rung would be tried. Leave it out"
    },
    checks=(fit_rules.problems,),
    on_machines=fit_rules.problems_on,
    gateway=GATEWAY,
    spec=hyperparameter_tuning_job_kind.KIND,
    inputs=HyperparameterTuningJobInputs,
    results=results,
    no_results=NO_RESULTS,
    progress=trial_counts,
)


class HyperparameterTuningJobProvider(JobProvider):
    """The provider of `HyperparameterTuningJob`."""

    declared = DECLARED
