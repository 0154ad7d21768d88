"""The provider of `TrainingPipeline`."""

from __future__ import annotations

from pulumi_vertex_training.declared_kinds.training_pipeline import DECLARED
from pulumi_vertex_training.providers.running import RunningProvider


class TrainingPipelineProvider(RunningProvider):
    """A training pipeline."""

    declared = DECLARED
