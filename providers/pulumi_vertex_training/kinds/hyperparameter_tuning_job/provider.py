"""The provider of `HyperparameterTuningJob`."""

from __future__ import annotations

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.tuning_job import DECLARED
from pulumi_vertex_training.plugin.running.provider import JobProvider


class HyperparameterTuningJobProvider(JobProvider):
    """A tuning job."""

    declared = DECLARED
