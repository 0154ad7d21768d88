"""Print a study and its trials: in words, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.diagnosis.diagnosis import diagnose
from pulumi_vertex_training.runs.monitoring.ends import message_of, timed_out
from pulumi_vertex_training.views.explained import Explanation, Sample
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Cell, Output
from vertex_training.fields.document import json_of
from vertex_training.fields.resource_names import resource_id
from vertex_training.study.description import (
    ParameterRow,
    goal_in_words,
    number,
    parameter_rows,
    study_sentences,
)
from vertex_training.study.search_space import MOST_POINTS, points
from vertex_training.study.study import StudySpec
from vertex_training.study.trials import Trial
from vertex_training.study.tuning import TuningSpec

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
    """Return a trial in the format of docs/reference/json.md."""
    return {
        **json_of(trial, "id state parameters metrics start_time end_time infeasible_reason"),
        "stoppedEarly": stopped_early(trial, cancelled),
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
    output.table(("TRIAL", "STATE", *parameters, *metrics, "JOB"), rows, spared=("JOB",))


def metric(trial: Trial, name: str | None) -> str:
    """Return the value of one metric of a trial, as text."""
    return _number(trial.metrics.get(name)) if name else ""


def why_ended(record: JobRecord) -> str:
    """Return why a job failed, in a few words; "" for one that did not, or was cancelled on purpose."""
    is_cancelled = record.state.word == "CANCELLED" and not timed_out(record)
    return why_failed(message) if (message := message_of(record)) and not is_cancelled else ""


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


_NOT_SAID = "not in the document; gcloud takes it as --{}"
_COUNTS = ("max_trial_count", "parallel_trial_count")


def trials_in_words(tuning: TuningSpec, gaps: Collection[str] = ()) -> str:
    """Describe the trials: "6 trials, 2 at a time"; "" if their number is unknown.

    `gaps` are the unknown fields of the tuning.
    """
    if "max_trial_count" in gaps:
        return ""
    trials = "1 trial" if tuning.max_trial_count == 1 else f"{tuning.max_trial_count} trials"
    if tuning.max_trial_count == 1 or "parallel_trial_count" in gaps:
        return trials
    return f"{trials}, {tuning.parallel_trial_count} at a time"


def sample_of_trial(tuning: TuningSpec, sample: Sample, gaps: Collection[str]) -> Sample:
    """Return the sample of the requested trial, by default the first.

    Raises InputError if the number exceeds the number of trials.
    """
    most = tuning.max_trial_count
    if sample.trial is not None and "max_trial_count" not in gaps and 0 < most < int(sample.trial):
        trials = "only one trial" if most == 1 else f"{most} trials"
        raise InputError(f"Trial {sample.trial} does not exist: the job has {trials}.", path="--trial")
    first = next(iter(tuning.study_spec.metrics), None)
    tag = first.metric_id if first is not None and first.metric_id else sample.metric_tag
    return replace(sample, trial=sample.trial or "1", metric_tag=tag)


def show_study(study: StudySpec, output: Output) -> None:
    """Print the study's sentences, its parameters, and its metrics if it has several."""
    output.section("The study")
    for sentence in study_sentences(study):
        output.paragraph(sentence, indent=2)
    rows = parameter_rows(study.parameters)
    if rows:
        output.line()
        _show_parameters(rows, output)
    if len(study.metrics) > 1:
        output.line()
        table: list[list[Cell]] = [
            [metric.metric_id or "?", goal_in_words(metric.goal), _safe(study, i)]
            for i, metric in enumerate(study.metrics)
        ]
        output.table(["METRIC", "GOAL", "MUST BE"], table, indent=2)


def _show_parameters(rows: list[ParameterRow], output: Output) -> None:
    headings = ("PARAMETER", "TYPE", "VALUES", "SCALE", "DEFAULT", "ONLY WHERE")
    cells = [
        ("  " * row.depth + row.id, row.type, row.values, row.scale, row.default, row.when) for row in rows
    ]
    output.table(headings, cells, indent=2, optional=headings)


def _safe(study: StudySpec, position: int) -> str:
    metric = study.metrics[position]
    if metric.safety_config is None:
        return ""
    bound = "at most" if metric.goal == "MINIMIZE" else "at least"
    return f"{bound} {number(metric.safety_config.safety_threshold)}"


def show_trials(tuning: TuningSpec, explained: Explanation, output: Output, gaps: Collection[str]) -> None:
    """Print the number of trials, and the arguments that each gets for the parameters."""
    output.section("The trials")
    most, parallel = (
        _NOT_SAID.format(name.replace("_", "-")) if name in gaps else str(getattr(tuning, name))
        for name in _COUNTS
    )
    failed = tuning.max_failed_trial_count
    pairs = [
        ("in all", most),
        ("at a time", parallel + _replicas_at_a_time(tuning, explained, gaps)),
        ("failures", f"{failed} end the job" if failed else "the service decides how many end the job"),
    ]
    words = " ".join(row.argument for row in parameter_rows(tuning.study_spec.parameters))
    if words:
        pairs.append(("each gets", f"{words}, after the arguments of its task"))
    directory = tuning.trial_job_spec.base_output_directory
    if directory:
        pairs.append(("each writes to", f"{directory.rstrip('/')}/TRIAL/"))
    output.pairs(pairs)


def _replicas_at_a_time(tuning: TuningSpec, explained: Explanation, gaps: Collection[str]) -> str:
    if explained.spec is None or "parallel_trial_count" in gaps:
        return ""
    each = sum(pool.replica_count for pool in explained.spec.worker_pool_specs)
    together = tuning.parallel_trial_count * each
    return f", {together} replicas together" if each > 1 and tuning.parallel_trial_count > 1 else ""


def study_document(study: StudySpec) -> dict[str, Any]:
    """Return the study for `--json`: its description in sentences, and all parameters in a flat list."""
    found = points(study.parameters) if study.parameters else None
    return {
        "sentences": study_sentences(study),
        "points": None if found is None or found > MOST_POINTS else found,
        "parameters": [
            {**json_of(row, "id type values scale default depth argument"), "onlyWhere": row.when}
            for row in parameter_rows(study.parameters)
        ],
        "metrics": [
            {"id": metric.metric_id, "goal": metric.goal, "hasToBe": _safe(study, i)}
            for i, metric in enumerate(study.metrics)
        ],
    }


def trials_document(tuning: TuningSpec, explained: Explanation, gaps: Collection[str]) -> dict[str, Any]:
    """Return the numbers of trials for `--json`."""
    most, parallel = (None if name in gaps else getattr(tuning, name) for name in _COUNTS)
    pools = explained.spec.worker_pool_specs if explained.spec else ()
    return {
        "inAll": most,
        "atATime": parallel,
        "failuresThatEndTheJob": tuning.max_failed_trial_count or None,
        "replicasOfEach": sum(pool.replica_count for pool in pools),
    }
