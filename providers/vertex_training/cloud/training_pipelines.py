"""Training pipelines of Vertex AI: the gateway of `cloud.jobs` for them."""

from __future__ import annotations

from vertex_training.cloud import clients
from vertex_training.cloud.jobs import Gateway

GATEWAY = Gateway(
    noun="training pipeline",
    collection="trainingPipelines",
    message="TrainingPipeline",
    module="training_pipeline",
    field="training_pipeline",
    client=clients.pipeline_service,
    states="PIPELINE_STATE_",
)
