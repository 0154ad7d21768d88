"""An existing job of this kind, as `get_hyperparameter_tuning_job` returns it."""

from __future__ import annotations

from pulumi_vertex_training.core.get_functions import ExistingJob, job_lookup


class ExistingHyperparameterTuningJob(ExistingJob):
    """A tuning job that exists; `results` has its trials."""


LOOKUP = job_lookup(ExistingHyperparameterTuningJob, "tuning job", "hyperparameterTuningJobs")
