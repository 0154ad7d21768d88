"""What the commands show of one kind and not of another: what it runs, its trials, its job, its model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pulumi_vertex_training.cli.jobs.inner_jobs import backing_of, count_trials, stopped_early, trials_of
from pulumi_vertex_training.cloud import emulator_view
from pulumi_vertex_training.cloud.emulator_view import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import Gateway, JobRecord
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from pulumi_vertex_training.runs.diagnosis.diagnosis import diagnose
from pulumi_vertex_training.runs.log_sources import SERVICE, log_sources
from pulumi_vertex_training.views.output import Output
from vertex_training.study.trials import Trial

_TUNING, _PIPELINE = tuning_jobs.GATEWAY.collection, training_pipelines.GATEWAY.collection


def flag(gateway: Gateway) -> str:
    """What `--kind` calls it: "tuning-job"."""
    return gateway.noun.replace(" ", "-")


def document(record: JobRecord, cancelled: Collection[str] = ()) -> dict[str, Any]:
    """The keys of `status --json` that only records of its kind have; `cancelled` as for `stopped_early`."""
    wire = record.wire
    if record.collection == _TUNING:
        best = count_trials(record, cancelled).best
        return {
            "studySpec": wire.get("studySpec", {}),
            "trialJobSpec": wire.get("trialJobSpec", {}),
            "maxTrialCount": wire.get("maxTrialCount"),
            "parallelTrialCount": wire.get("parallelTrialCount"),
            "bestTrial": best.id if best else None,
            "trials": [trial_json(trial, cancelled) for trial in trials_of(record)],
        }
    if record.collection == _PIPELINE:
        return {
            "trainingTaskInputs": wire.get("trainingTaskInputs", {}),
            "backingJob": backing_of(record),
            "model": _model(record),
        }
    return {"jobSpec": wire.get("jobSpec", {})}


def facts(record: JobRecord) -> Iterator[tuple[str, str]]:
    """The lines of `status` that only records of its kind have."""
    if record.collection == _TUNING:
        wire, counts = record.wire, count_trials(record, ())
        begun, wanted = counts.ended + counts.running, wire.get("maxTrialCount")
        yield "Trials", f"{begun} of {wanted}, {wire.get('parallelTrialCount')} at a time"
        if counts.best is not None:
            name = counts.metric or ""
            yield "Best", f"trial {counts.best.id}: {name} {metric(counts.best, name)}"
    if record.collection == _PIPELINE:
        yield "Runs", backing_of(record) or ""
        yield "Model", _model(record) or ""


def print_trials(record: JobRecord, cancelled: Collection[str], output: Output) -> None:
    """The trials of a tuning job as a table: a column for each parameter, and for each metric."""
    trials = trials_of(record)
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
            (trial.custom_job or "").rpartition("/")[2],
        )
        for trial in trials
    ]
    output.line()
    output.table(("TRIAL", "STATE", *parameters, *metrics, "JOB"), rows, state_column=1)


def replicas(endpoint: Endpoint, record: JobRecord) -> Sequence[ReplicaState] | None:
    """The replicas of a custom job, and of the one that a pipeline runs; None where nobody tells."""
    name = backing_of(record) if record.collection == _PIPELINE else record.name
    if name is None or f"/{custom_jobs.GATEWAY.collection}/" not in name:
        return None
    try:
        return emulator_view.replicas(endpoint, name.rpartition("/")[2])
    except NotFound:
        return None


def tasks(endpoint: Endpoint, record: JobRecord) -> list[str]:
    """The names that entries of its log can have, and those that `--task` takes."""
    own = [*_replica_names(record.wire), SERVICE]
    labels = [source.label for source in log_sources(endpoint, record) if source.label]
    return [*own, *(f"{label}/{name}" for label in labels for name in own)]


def _replica_names(wire: Mapping[str, Any]) -> Iterator[str]:
    for index, pool in enumerate(_pools(wire)):
        for number in range(int(float(pool.get("replicaCount") or 0))):
            yield f"workerpool{index}-{number}"


def _pools(wire: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The worker pools of whatever runs in it."""
    for key in ("jobSpec", "trialJobSpec", "trainingTaskInputs"):
        inner = wire.get(key)
        if isinstance(inner, Mapping):
            return inner.get("workerPoolSpecs") or _pools(inner)
    return ()


def trial_json(trial: Trial, cancelled: Collection[str]) -> dict[str, Any]:
    """A trial as docs/json.md has it."""
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
    """What came of a trial, in a few words: its metrics, or why it has none."""
    if trial.infeasible_reason:
        return why_failed(trial.infeasible_reason)
    return ", ".join(f"{name} {_number(value)}" for name, value in trial.metrics.items())


def why_failed(message: str) -> str:
    """An error in one line: its likely cause, else its words and the last line of the log in it."""
    found = diagnose(message)
    if found.cause:
        return f"{found.cause} (likely)"
    return " ".join((found.words, *(line.strip() for line in found.lines[-1:])))


def metric(trial: Trial, name: str | None) -> str:
    """The value of one metric of a trial."""
    return _number(trial.metrics.get(name)) if name else ""


def _model(record: JobRecord) -> str | None:
    """The model that a pipeline has uploaded, by its full name."""
    model = record.wire.get("modelToUpload")
    name = model.get("name") if isinstance(model, Mapping) else None
    return str(name) if name else None


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
