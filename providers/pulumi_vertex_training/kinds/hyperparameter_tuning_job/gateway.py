"""Hyperparameter tuning jobs of Vertex AI: the gateway of `cloud.jobs` for them."""

from __future__ import annotations

from pulumi_vertex_training.cloud import clients
from pulumi_vertex_training.cloud.jobs import Gateway

GATEWAY = Gateway(
    noun="tuning job",
    collection="hyperparameterTuningJobs",
    message="HyperparameterTuningJob",
    module="hyperparameter_tuning_job",
    field="hyperparameter_tuning_job",
    client=clients.job_service,
)
