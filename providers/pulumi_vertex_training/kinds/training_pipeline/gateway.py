"""Training pipelines of Vertex AI: the gateway of `cloud.jobs` for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud import clients
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import Gateway, JobRecord
from pulumi_vertex_training.kinds.model import gateway as models

GATEWAY = Gateway(
    noun="training pipeline",
    collection="trainingPipelines",
    message="TrainingPipeline",
    module="training_pipeline",
    field="training_pipeline",
    client=clients.pipeline_service,
    states="PIPELINE_STATE_",
)


def create(endpoint: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
    """As `GATEWAY.create`; a model of the wanted id that is there already gets a new version.

    The service would find that out after the training only, and upload nothing.
    """
    model_id = wire.get("modelId")
    if model_id:
        name = f"{endpoint.parent}/models/{model_id}"
        try:
            models.get(endpoint, name)
        except NotFound:
            return GATEWAY.create(endpoint, wire)
        wire = {**{key: value for key, value in wire.items() if key != "modelId"}, "parentModel": name}
    return GATEWAY.create(endpoint, wire)
