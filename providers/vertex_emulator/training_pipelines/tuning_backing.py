"""A tuning job as the backing of a pipeline: its model is that of the best trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from vertex_emulator.custom_jobs import states
from vertex_emulator.custom_jobs.addition import Addition
from vertex_emulator.datasets.objects import directory
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors
from vertex_emulator.training_pipelines.backing import Backed, backing_name
from vertex_emulator.training_pipelines.inputs import TUNING_JOB
from vertex_emulator.vertex.names import name_of
from vertex_emulator.vertex.records import Record

_SUCCEEDED = 4
_MINIMIZE = 2
"""Trial.State and StudySpec.MetricSpec.GoalType of the API."""


class Tuning(Protocol):
    """What is needed of the service of tuning jobs."""

    def check(self, place: Place, tuning_job: Any, *, allow_unknown_types: bool = ...) -> None: ...
    def submit(
        self, place: Place, tuning_job: Any, *, addition: Addition = ..., job_id: str | None = None
    ) -> Record: ...
    def record(self, job_id: str) -> Record | None: ...
    def request_cancel(self, job_id: str) -> None: ...


class TuningJobs:
    """Tuning jobs as the backing of pipelines."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning

    def job(self, pipeline: Any, inputs: Any) -> Any:
        job = descriptors.message(TUNING_JOB)
        job.CopyFrom(inputs)
        job.display_name = backing_name(pipeline.display_name, "-hyperparameter-tuning-job")
        if pipeline.HasField("encryption_spec"):
            job.encryption_spec.CopyFrom(pipeline.encryption_spec)
        return job

    def model_base(self, inputs: Any) -> str:
        base: str = inputs.trial_job_spec.base_output_directory.output_uri_prefix
        return base

    def check(self, place: Place, job: Any, *, allow_unknown_types: bool) -> None:
        self._tuning.check(place, job, allow_unknown_types=allow_unknown_types)

    def submit(self, place: Place, job: Any, job_id: str, variables: Mapping[str, str]) -> None:
        self._tuning.submit(place, job, addition=Addition(variables=variables), job_id=job_id)

    def look(self, place: Place, job_id: str) -> Backed | None:
        record = self._tuning.record(job_id)
        if record is None:
            return None
        job = record.message
        metadata = {"backingHyperparameterTuningJob": name_of(place, "hyperparameterTuningJobs", job_id)}
        base, best = job.trial_job_spec.base_output_directory.output_uri_prefix, None
        if record.state == states.SUCCEEDED and (best := best_trial(job)) is not None:
            metadata["bestTrialBackingCustomJob"] = best.custom_job
        return Backed(
            state=record.state,
            has_started=job.HasField("start_time"),
            error_code=job.error.code,
            error_message=job.error.message,
            metadata=metadata,
            model=f"{directory(base)}{best.id}/model" if base and best is not None else "",
        )

    def cancel(self, job_id: str) -> None:
        self._tuning.request_cancel(job_id)


def best_trial(job: Any) -> Any:
    """The trial with the best value of the study's first metric; of equals the first, None without one."""
    metric = job.study_spec.metrics[0]
    found = [
        (measured.value, trial)
        for trial in job.trials
        if trial.state == _SUCCEEDED
        for measured in trial.final_measurement.metrics
        if measured.metric_id == metric.metric_id
    ]
    if not found:
        return None
    choose = min if metric.goal == _MINIMIZE else max
    return choose(found, key=lambda each: each[0])[1]
