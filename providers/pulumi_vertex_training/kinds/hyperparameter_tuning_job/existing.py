"""`get_hyperparameter_tuning_job`: an existing tuning job, with its best trial."""

from __future__ import annotations

from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import ExistingJob, read_job


class ExistingHyperparameterTuningJob(ExistingJob):
    """A tuning job that exists; `results` has its trials."""


@checked_call
def get_hyperparameter_tuning_job(
    job: str, *, project: str | None = None, location: str | None = None
) -> ExistingHyperparameterTuningJob:
    """Return an existing tuning job of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such job.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    return read_job(
        ExistingHyperparameterTuningJob, "hyperparameterTuningJobs", job, project=project, location=location
    )
