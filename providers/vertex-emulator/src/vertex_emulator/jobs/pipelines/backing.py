"""The job that carries out a pipeline's training: a custom job or a tuning job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.custom.store import CUSTOM_JOB, CUSTOM_JOBS
from vertex_emulator.jobs.pipelines.inputs import TUNING_JOB
from vertex_emulator.kernel.projects import Place
from vertex_emulator.replicas.plan import Addition
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.datasets.objects import directory
from vertex_emulator.services.resource_engine.names import name_of
from vertex_emulator.services.resource_engine.records import Record

_MAX_DISPLAY_NAME = 128


@dataclass(frozen=True, kw_only=True)
class BackingJob:
    """The current state of the job of a pipeline.

    `state` is the name of a JobState; `model` is the folder of the trained model, or "" if it has no model.
    """

    state: str
    has_started: bool
    error_code: int
    error_message: str
    metadata: Mapping[str, str]
    model: str

    @property
    def succeeded(self) -> bool:
        return self.state == store.SUCCEEDED

    @property
    def failed(self) -> bool:
        return self.state == store.FAILED

    @property
    def cancelled(self) -> bool:
        return self.state == store.CANCELLED


class Backing(Protocol):
    """The operations of a pipeline on a kind of job."""

    def job(self, pipeline: DynamicMessage, inputs: DynamicMessage) -> DynamicMessage:
        """Return the job of a pipeline with these inputs."""

    def model_base(self, inputs: DynamicMessage) -> str:
        """Return the folder that will contain the model, or "" if none is declared."""

    def check(self, place: Place, job: DynamicMessage, *, allow_unknown_types: bool) -> None:
        """Check that a job can run. Raises `RpcError`."""

    def submit(self, place: Place, job: DynamicMessage, job_id: str, variables: Mapping[str, str]) -> None:
        """Start the job under that ID. Raises `RpcError`."""

    def state(self, place: Place, job_id: str) -> BackingJob | None:
        """Return the current state of the job, or None if it does not exist."""

    def cancel(self, job_id: str) -> None:
        """Request cancellation."""


class CustomJobBacking:
    """Custom jobs as the jobs of pipelines."""

    def __init__(self, jobs: JobService) -> None:
        self._jobs = jobs

    def job(self, pipeline: DynamicMessage, inputs: DynamicMessage) -> DynamicMessage:
        job = descriptors.message(CUSTOM_JOB)
        job.display_name = backing_name(pipeline.display_name, "-custom-job")
        job.job_spec.CopyFrom(inputs)
        if pipeline.HasField("encryption_spec"):
            job.encryption_spec.CopyFrom(pipeline.encryption_spec)
        return job

    def model_base(self, inputs: DynamicMessage) -> str:
        base: str = inputs.base_output_directory.output_uri_prefix
        return base

    def check(self, place: Place, job: DynamicMessage, *, allow_unknown_types: bool) -> None:
        self._jobs.check(place, job, allow_unknown_types=allow_unknown_types)

    def submit(self, place: Place, job: DynamicMessage, job_id: str, variables: Mapping[str, str]) -> None:
        self._jobs.submit(place, job, addition=Addition(variables=variables), job_id=job_id)

    def state(self, place: Place, job_id: str) -> BackingJob | None:
        record: Record | None = self._jobs.record(job_id)
        if record is None:
            return None
        base = record.message.job_spec.base_output_directory.output_uri_prefix
        return BackingJob(
            state=record.state,
            has_started=record.message.HasField("start_time"),
            error_code=record.message.error.code,
            error_message=record.message.error.message,
            metadata={"backingCustomJob": name_of(place, CUSTOM_JOBS.id, job_id)},
            model=f"{directory(base)}model" if base else "",
        )

    def cancel(self, job_id: str) -> None:
        self._jobs.request_cancel(job_id)


def backing_name(display_name: str, ending: str) -> str:
    """Return the display name of a pipeline's job."""
    return display_name[: _MAX_DISPLAY_NAME - len(ending)] + ending


_SUCCEEDED = 4
_MINIMIZE = 2
"""Numbers of Trial.State and StudySpec.MetricSpec.GoalType in the API."""


class Tuning(Protocol):
    """The methods of the tuning service that pipelines use."""

    def check(self, place: Place, tuning_job: DynamicMessage, *, allow_unknown_types: bool = ...) -> None: ...
    def submit(
        self, place: Place, tuning_job: DynamicMessage, *, addition: Addition = ..., job_id: str | None = None
    ) -> Record: ...
    def record(self, job_id: str) -> Record | None: ...
    def request_cancel(self, job_id: str) -> None: ...


class TuningJobBacking:
    """Tuning jobs as the jobs of pipelines."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning

    def job(self, pipeline: DynamicMessage, inputs: DynamicMessage) -> DynamicMessage:
        job = descriptors.message(TUNING_JOB)
        job.CopyFrom(inputs)
        job.display_name = backing_name(pipeline.display_name, "-hyperparameter-tuning-job")
        if pipeline.HasField("encryption_spec"):
            job.encryption_spec.CopyFrom(pipeline.encryption_spec)
        return job

    def model_base(self, inputs: DynamicMessage) -> str:
        base: str = inputs.trial_job_spec.base_output_directory.output_uri_prefix
        return base

    def check(self, place: Place, job: DynamicMessage, *, allow_unknown_types: bool) -> None:
        self._tuning.check(place, job, allow_unknown_types=allow_unknown_types)

    def submit(self, place: Place, job: DynamicMessage, job_id: str, variables: Mapping[str, str]) -> None:
        self._tuning.submit(place, job, addition=Addition(variables=variables), job_id=job_id)

    def state(self, place: Place, job_id: str) -> BackingJob | None:
        record = self._tuning.record(job_id)
        if record is None:
            return None
        job = record.message
        metadata = {"backingHyperparameterTuningJob": name_of(place, "hyperparameterTuningJobs", job_id)}
        base = job.trial_job_spec.base_output_directory.output_uri_prefix
        best = None
        if record.state == store.SUCCEEDED and (best := best_trial(job)) is not None:
            metadata["bestTrialBackingCustomJob"] = best.custom_job
        return BackingJob(
            state=record.state,
            has_started=job.HasField("start_time"),
            error_code=job.error.code,
            error_message=job.error.message,
            metadata=metadata,
            model=f"{directory(base)}{best.id}/model" if base and best is not None else "",
        )

    def cancel(self, job_id: str) -> None:
        self._tuning.request_cancel(job_id)


def best_trial(job: DynamicMessage) -> DynamicMessage | None:
    """Return the first trial with the best value of the first metric, or None if no trial has one."""
    metric = job.study_spec.metrics[0]
    measured_trials = [
        (measured.value, trial)
        for trial in job.trials
        if trial.state == _SUCCEEDED
        for measured in trial.final_measurement.metrics
        if measured.metric_id == metric.metric_id
    ]
    if not measured_trials:
        return None
    choose = min if metric.goal == _MINIMIZE else max
    best: DynamicMessage = choose(measured_trials, key=lambda each: each[0])[1]
    return best
