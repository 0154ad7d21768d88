"""`get_training_pipeline`: an existing training pipeline, with its model."""

from __future__ import annotations

from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import ExistingJob, read_job


class ExistingTrainingPipeline(ExistingJob):
    """A training pipeline that exists; `results` has its model."""


@checked_call
def get_training_pipeline(
    job: str, *, project: str | None = None, location: str | None = None
) -> ExistingTrainingPipeline:
    """Return an existing pipeline of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such pipeline.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    return read_job(ExistingTrainingPipeline, "trainingPipelines", job, project=project, location=location)
