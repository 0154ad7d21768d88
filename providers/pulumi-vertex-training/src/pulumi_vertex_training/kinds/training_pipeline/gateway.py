"""The calls for training pipelines: the gateway, and the job that a pipeline runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.training_pipeline.spec import backing_job
from pulumi_vertex_training.runs.gateway import Inner, LogSource, RunGateway


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineGateway(RunGateway):
    """The calls for training pipelines, each of which runs one custom job or tuning job.

    The service names that job only in the pipeline (v1 reference, `TrainingPipeline.training_task_metadata`).
    """

    def create(self, endpoint: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
        """Submit a pipeline. If a model with its `modelId` exists, request a new version of that model.

        The service would find the conflict only after the training, and upload nothing.
        """
        model_id = wire.get("modelId")
        if model_id:
            name = f"{endpoint.parent}/models/{model_id}"
            try:
                models.get(endpoint, name)
            except NotFound:
                return super().create(endpoint, wire)
            wire = {**{key: value for key, value in wire.items() if key != "modelId"}, "parentModel": name}
        return super().create(endpoint, wire)

    def inner(self, record: JobRecord, /) -> tuple[Inner, ...]:
        """Return the job that the pipeline runs, if there is one yet."""
        backing = backing_job(record.wire)
        return (Inner(name=backing, owner=record.name),) if backing else ()

    def log_sources(self, endpoint: Endpoint, record: JobRecord, /) -> tuple[LogSource, ...]:
        """Return the log of the custom job, or the logs of the tuning job's trials."""
        backing = backing_job(record.wire)
        if backing is None:
            return ()
        if f"/{tuning_jobs.GATEWAY.collection}/" not in backing:
            return (LogSource(job_id=backing.rpartition("/")[2], ended=record.state.is_terminal),)
        try:
            return tuning_jobs.GATEWAY.log_sources(endpoint, tuning_jobs.GATEWAY.get(endpoint, backing))
        except NotFound:
            return ()


GATEWAY = TrainingPipelineGateway(
    noun="training pipeline",
    collection="trainingPipelines",
    states="PIPELINE_STATE_",
    runs=("customJobs", "hyperparameterTuningJobs"),
)
