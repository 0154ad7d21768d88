"""The provider of `HyperparameterTuningJob`."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.kinds.hyperparameter_tuning_job import kind as hyperparameter_tuning_job_kind
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.gateway import GATEWAY
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.results import NO_RESULTS, results, trial_counts
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.plugin.running.declaration import Declared, RunningInputs
from pulumi_vertex_training.plugin.running.provider import RunningProvider


@dataclass(frozen=True, kw_only=True)
class TuningJobInputs(RunningInputs, HyperparameterTuningJobSpec):
    """The inputs of a `HyperparameterTuningJob`."""


DECLARED = Declared(
    kind=GATEWAY,
    spec=hyperparameter_tuning_job_kind.KIND,
    inputs=TuningJobInputs,
    results=results,
    no_results=NO_RESULTS,
    progress=trial_counts,
)


class HyperparameterTuningJobProvider(RunningProvider):
    """A tuning job."""

    declared = DECLARED
