"""The calls for hyperparameter tuning jobs: the gateway, and the trials of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import Inner, LogSource, RunGateway
from vertex_training.fields import wire
from vertex_training.study.study import StudySpec
from vertex_training.study.trials import Trial, read_trials


@dataclass(frozen=True, kw_only=True)
class HyperparameterTuningJobGateway(RunGateway):
    """The calls for tuning jobs, whose trials are custom jobs that start one after the other.

    The service names a trial's job only in the tuning job (v1 reference, `Trial.custom_job`). It documents no
    label of the inner job that would name its owner.
    """

    def trials(self, record: JobRecord, /) -> tuple[Trial, ...]:
        """Return the trials of a tuning job."""
        return read_trials(record.wire, study_of(record))

    def inner(self, record: JobRecord, /) -> tuple[Inner, ...]:
        """Return the custom job of each trial that has one."""
        return tuple(
            Inner(name=trial.custom_job, owner=record.name, trial=trial)
            for trial in self.trials(record)
            if trial.custom_job
        )

    def log_sources(self, _endpoint: Endpoint, record: JobRecord, /) -> tuple[LogSource, ...]:
        """Return the log of each trial that has a custom job."""
        return tuple(
            LogSource(
                job_id=str(trial["customJob"]).rpartition("/")[2],
                label=f"trial-{trial.get('id', '')}",
                ended=trial.get("state") in ("SUCCEEDED", "INFEASIBLE"),
                failed=trial.get("state") == "INFEASIBLE",
            )
            for trial in record.wire.get("trials") or ()
            if trial.get("customJob")
        )


def study_of(record: JobRecord) -> StudySpec:
    """Return the study of a tuning job.

    A study that this version cannot read has no metrics and no parameters, so that its job is still listed.
    """
    declared: Any = record.wire.get("studySpec")
    try:
        return wire.from_json(StudySpec, declared if isinstance(declared, Mapping) else {})
    except ValueError:
        return StudySpec(metrics=(), parameters=())


GATEWAY = HyperparameterTuningJobGateway(
    noun="tuning job", collection="hyperparameterTuningJobs", runs=("customJobs",)
)
