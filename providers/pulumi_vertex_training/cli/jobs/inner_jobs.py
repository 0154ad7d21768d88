"""Which tuning job or pipeline a job belongs to, and what became of a trial.

The service tells it at the owner alone: `Trial.custom_job`, and `backingCustomJob` or
`backingHyperparameterTuningJob` in `TrainingPipeline.training_task_metadata` (v1 reference). It documents no
label that would say it of the inner job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.runs.kinds import TUNING_JOB
from pulumi_vertex_training.runs.log_sources import backing_job
from vertex_training.fields import wire
from vertex_training.study.study import StudySpec
from vertex_training.study.trials import Trial, best_trial, objective_of, read_trials

ENDED = ("SUCCEEDED", "INFEASIBLE")
"""The states of a trial that does not change again."""


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A job that another one runs. `owner` is the full name of that one; `trial` is set for a trial's job."""

    name: str
    owner: str
    trial: Trial | None = None


@dataclass(frozen=True, kw_only=True)
class TrialCounts:
    """The trials of a tuning job, summed up. `best` is the trial that is best by the metric `metric`."""

    wanted: int
    ended: int
    running: int
    stopped_early: int
    infeasible: int
    best: Trial | None = None
    metric: str | None = None


def key(name: str) -> str:
    """What a full name says whichever way the project is written: "customJobs/123"."""
    return "/".join(name.split("/")[-2:])


def inner_jobs(records: Iterable[JobRecord]) -> dict[str, Inner]:
    """What these run, by `key`; a trial that has no job yet is not among them."""
    found: dict[str, Inner] = {}
    for record in records:
        backing = backing_of(record)
        if backing:
            found[key(backing)] = Inner(name=backing, owner=record.name)
        for trial in trials_of(record):
            if trial.custom_job:
                found[key(trial.custom_job)] = Inner(name=trial.custom_job, owner=record.name, trial=trial)
    return found


def backing_of(record: JobRecord) -> str | None:
    """The full name of the job that a pipeline runs; None before, and for every other kind."""
    metadata = record.wire.get("trainingTaskMetadata")
    return backing_job(metadata) if isinstance(metadata, Mapping) else None


def trials_of(record: JobRecord) -> tuple[Trial, ...]:
    """The trials of a tuning job, none of what is none."""
    return read_trials(record.wire, _study(record)) if record.collection == TUNING_JOB.collection else ()


def cancelled_jobs(endpoint: Endpoint, tuning_jobs: Sequence[JobRecord]) -> frozenset[str]:
    """The keys of the custom jobs that were cancelled since the first of these was created: `stopped_early`
    asks for them. Nothing is asked where no trial has succeeded. Raises CloudError."""
    begun = [
        record.create_time or ""
        for record in tuning_jobs
        if any(trial.has_succeeded for trial in trials_of(record))
    ]
    if not begun:
        return frozenset()
    since = f' AND create_time>="{min(begun)}"' if all(begun) else ""
    return cancelled_of(
        custom_jobs.GATEWAY.list_jobs(endpoint, filter_=f'state="JOB_STATE_CANCELLED"{since}')
    )


def cancelled_of(records: Iterable[JobRecord]) -> frozenset[str]:
    """The keys of those that were cancelled."""
    return frozenset(key(one.name) for one in records if one.state.word in ("CANCELLED", "CANCELLING"))


def stopped_early(trial: Trial, cancelled: Collection[str]) -> bool:
    """Whether a trial counts although its program was not let to its end: by the study's rule of early
    stopping, by its limits, or because the tuning job was cancelled.

    The API has no field for it: such a trial is SUCCEEDED with what it had reported, and its job, which
    `cancelled` names, is CANCELLED.
    """
    return bool(trial.has_succeeded and trial.custom_job and key(trial.custom_job) in cancelled)


def count_trials(record: JobRecord, cancelled: Collection[str]) -> TrialCounts:
    """A tuning job's trials, summed up."""
    trials, study = trials_of(record), _study(record)
    objective = objective_of(study)
    return TrialCounts(
        wanted=int(record.wire.get("maxTrialCount") or 0),
        ended=sum(trial.state in ENDED for trial in trials),
        running=sum(trial.state not in ENDED for trial in trials),
        stopped_early=sum(stopped_early(trial, cancelled) for trial in trials),
        infeasible=sum(trial.state == "INFEASIBLE" for trial in trials),
        best=best_trial(trials, study),
        metric=objective.metric_id if objective else None,
    )


def _study(record: JobRecord) -> StudySpec:
    """A study that this version cannot read has no metrics and no parameters; its job is listed all the
    same."""
    declared: Any = record.wire.get("studySpec")
    try:
        return wire.from_json(StudySpec, declared if isinstance(declared, Mapping) else {})
    except ValueError:
        return StudySpec(metrics=(), parameters=())
