"""An existing job of this kind, as `get_training_pipeline` returns it."""

from __future__ import annotations

from pulumi_vertex_training.core.get_functions import ExistingJob, job_lookup


class ExistingTrainingPipeline(ExistingJob):
    """A training pipeline that exists; `results` has its model."""


LOOKUP = job_lookup(ExistingTrainingPipeline, "training pipeline", "trainingPipelines")
