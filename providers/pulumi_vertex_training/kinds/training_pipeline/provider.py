"""The provider of `TrainingPipeline`."""

from __future__ import annotations

from pulumi_vertex_training.kinds.training_pipeline.training_pipeline import DECLARED
from pulumi_vertex_training.plugin.running.provider import JobProvider


class TrainingPipelineProvider(JobProvider):
    """A training pipeline."""

    declared = DECLARED
