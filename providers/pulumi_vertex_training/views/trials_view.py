"""Print the trials of a tuning job in words, as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.diagnosis.diagnosis import diagnose
from pulumi_vertex_training.views.output import Output
from vertex_training.fields.resource_names import resource_id
from vertex_training.study.trials import Trial

ENDED = ("SUCCEEDED", "INFEASIBLE")
"""The final states of a trial."""


def job_key(name: str) -> str:
    """Return the part of a full name that does not depend on how the project is written: "customJobs/123"."""
    return "/".join(name.split("/")[-2:])


def cancelled_job_keys(records: Iterable[JobRecord]) -> frozenset[str]:
    """Return the keys of the jobs that were cancelled."""
    return frozenset(job_key(one.name) for one in records if one.state.word in ("CANCELLED", "CANCELLING"))


def stopped_early(trial: Trial, cancelled: Collection[str]) -> bool:
    """Return whether a trial counts although its program was stopped.

    It was stopped by the study's rule of early stopping, by its limits, or because the tuning job was
    cancelled. The API has no field for it: such a trial is SUCCEEDED with the metrics that it had reported,
    and its job, which `cancelled` names, is CANCELLED.
    """
    return bool(trial.has_succeeded and trial.custom_job and job_key(trial.custom_job) in cancelled)


def trial_json(trial: Trial, cancelled: Collection[str]) -> dict[str, Any]:
    """Return a trial in the format of docs/json.md."""
    return {
        "id": trial.id,
        "state": trial.state,
        "stoppedEarly": stopped_early(trial, cancelled),
        "parameters": dict(trial.parameters),
        "metrics": dict(trial.metrics),
        "startTime": trial.start_time,
        "endTime": trial.end_time,
        "infeasibleReason": trial.infeasible_reason,
        "job": trial.custom_job,
    }


def trial_result(trial: Trial) -> str:
    """Return the result of a trial in a few words: its metrics, or why it has none."""
    if trial.infeasible_reason:
        return why_failed(trial.infeasible_reason)
    return ", ".join(f"{name} {_number(value)}" for name, value in trial.metrics.items())


def print_trials(trials: Collection[Trial], cancelled: Collection[str], output: Output) -> None:
    """Print trials as a table: a column for each parameter, and for each metric."""
    if not trials:
        return
    parameters = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    metrics = list(dict.fromkeys(name for trial in trials for name in trial.metrics))
    rows = [
        (
            trial.id,
            (trial.state, "stopped early") if stopped_early(trial, cancelled) else trial.state,
            *(_number(trial.parameters.get(name)) for name in parameters),
            *(_number(trial.metrics.get(name)) for name in metrics),
            resource_id(trial.custom_job or ""),
        )
        for trial in trials
    ]
    output.line()
    output.table(("TRIAL", "STATE", *parameters, *metrics, "JOB"), rows, state_column=1)


def metric(trial: Trial, name: str | None) -> str:
    """Return the value of one metric of a trial, as text."""
    return _number(trial.metrics.get(name)) if name else ""


def why_failed(message: str) -> str:
    """Summarize an error in one line: its likely cause, else its message and the last line of its log."""
    found = diagnose(message)
    if found.cause:
        return f"{found.cause} (likely)"
    return " ".join((found.words, *(line.strip() for line in found.lines[-1:])))


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
