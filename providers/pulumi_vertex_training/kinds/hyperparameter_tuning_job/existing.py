"""`get_hyperparameter_tuning_job`: an existing tuning job, with its best trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_job


@dataclass(frozen=True, kw_only=True)
class ExistingHyperparameterTuningJob:
    """A tuning job that exists.

    `results` has what `completion` of a tuning job has besides the fields of every job, such as its trials.
    """

    name: str
    job_id: str
    display_name: str
    state: str
    error: str | None
    create_time: str | None
    start_time: str | None
    end_time: str | None
    results: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@checked_call
def get_hyperparameter_tuning_job(
    job: str, *, project: str | None = None, location: str | None = None
) -> ExistingHyperparameterTuningJob:
    """Return an existing tuning job of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such job.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    record, found = read_job("hyperparameterTuningJobs", job, project=project, location=location)
    of_every_job = ("state", "job", "error", "start_time", "end_time")
    return ExistingHyperparameterTuningJob(
        name=record.name,
        job_id=record.job_id,
        display_name=record.display_name,
        state=record.state.word,
        error=record.error.message if record.error else None,
        create_time=record.create_time,
        start_time=record.start_time,
        end_time=record.end_time,
        results={name: value for name, value in found.items() if name not in of_every_job},
        labels=record.labels,
    )
