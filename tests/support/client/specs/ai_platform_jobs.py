"""Jobs of AI Platform, and the environment of one of their replicas."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.environment import ai_platform_environments
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    ReplicaConfig,
    TrainingInput,
)
from support.ground.specs.environment_views import JOB_IDENTITY
from vertex_training.replica_environment.replica import ReplicaEnvironment

CUSTOM = {"scale_tier": "CUSTOM", "master_type": "n1-standard-4"}
CONTAINER = {"master_config": ReplicaConfig(image_uri="repo/trainer:1")}


def training_input(workers: int = 0, servers: int = 0, evaluators: int = 0, **fields: Any) -> TrainingInput:
    """Return a training input of tier CUSTOM with these counts; a container is the default task."""
    counts = {"worker_count": workers, "parameter_server_count": servers, "evaluator_count": evaluators}
    return TrainingInput(**{**CUSTOM, **CONTAINER, **counts, **fields})


def legacy(given: TrainingInput, name: str = "master-replica-0", **options: Any) -> ReplicaEnvironment:
    """Return the environment of one replica of an AI Platform job, by its name."""
    found = {each.name: each for each in ai_platform_environments(given, **{**JOB_IDENTITY, **options})}
    return found[name]
