"""What a tuning job does: the study, the trials, what each trial runs.

The API has these fields in `HyperparameterTuningJob`, and in the inputs of a training pipeline whose task is
tuning (`trainingjob.definition.HyperparameterTuningJobSpec`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from vertex_training.job import job_spec
from vertex_training.job.job_spec import JobSpec
from vertex_training.study.normal import normal_study
from vertex_training.study.study import StudySpec


@dataclass(frozen=True, kw_only=True)
class TuningSpec:
    """Trials of one program with different arguments. `max_failed_trial_count` 0 leaves it to the service
    when a job with failed trials fails."""

    study_spec: StudySpec
    max_trial_count: int
    parallel_trial_count: int
    max_failed_trial_count: int = 0
    trial_job_spec: JobSpec


Tuning = TypeVar("Tuning", bound=TuningSpec)


def normalise(spec: Tuning) -> Tuning:
    """The normal form: equal for two specs of the same tuning, however they are spelled. Never raises."""
    return replace(
        spec,
        study_spec=normal_study(spec.study_spec),
        trial_job_spec=job_spec.normalise(spec.trial_job_spec),
    )


def trial_directory(base_output_directory: str, trial_id: str) -> str:
    """Where a trial writes, gs://BUCKET/PREFIX/TRIAL/ (Vertex AI API, `CustomJobSpec`)."""
    return f"{base_output_directory.rstrip('/')}/{trial_id}/"


def model_directory(base_output_directory: str, trial_id: str) -> str:
    """Where a trial writes its model: its AIP_MODEL_DIR."""
    return f"{trial_directory(base_output_directory, trial_id)}model/"
