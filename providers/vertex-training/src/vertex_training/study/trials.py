"""The trials of a tuning job as the service reports them, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vertex_training.study import tuning
from vertex_training.study.search_space import walk
from vertex_training.study.study import MetricSpec, StudySpec

Value = float | int | str


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of the program (v1 reference, `Trial`).

    `metrics` are the final measurement's, or those in the reported one that the study's measurement
    selection would choose so far; a metric that is not finite is None. `step_count` belongs to that
    measurement. Values of integer parameters are whole numbers. Times are RFC 3339, None before the event.
    """

    id: str
    state: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    step_count: int | None = None
    start_time: str | None = None
    end_time: str | None = None
    infeasible_reason: str | None = None
    custom_job: str | None = None

    @property
    def has_succeeded(self) -> bool:
        """True in the state SUCCEEDED."""
        return self.state == "SUCCEEDED"


def read_trials(job: Mapping[str, Any], study: StudySpec) -> tuple[Trial, ...]:
    """Return the trials of a `HyperparameterTuningJob` in the API's JSON, in the order of their ids."""
    trials = (_read(one, study) for one in job.get("trials") or ())
    return tuple(sorted(trials, key=lambda trial: (len(trial.id), trial.id)))


def best_trial(trials: Iterable[Trial], study: StudySpec) -> Trial | None:
    """Return the trial that is best by the first objective, or None; of equal trials the earlier one.

    Only trials count that succeeded and keep the thresholds of all safety metrics.
    """
    objective = objective_of(study)
    if objective is None:
        return None
    name, sign = objective.metric_id, _sign(objective)
    candidates = [trial for trial in trials if trial.has_succeeded and _is_safe(trial, study.metrics)]
    return max(
        (trial for trial in candidates if trial.metrics.get(name) is not None),
        key=lambda trial: sign * (trial.metrics[name] or 0.0),
        default=None,
    )


def objective_of(study: StudySpec) -> MetricSpec | None:
    """Return the metric that decides which trial is best, or None without objectives."""
    return next(iter(study.objectives), None)


def as_output(trial: Trial, base_output_directory: str | None) -> dict[str, Any]:
    """Convert a trial to plain values, with its model directory, which is None unless the trial succeeded."""
    return {
        "id": trial.id,
        "state": trial.state,
        "parameters": dict(trial.parameters),
        "metrics": dict(trial.metrics),
        "step_count": trial.step_count,
        "start_time": trial.start_time,
        "end_time": trial.end_time,
        "infeasible_reason": trial.infeasible_reason,
        "custom_job": trial.custom_job,
        "model_directory": _model_directory(trial, base_output_directory),
    }


def best_as_output(trial: Trial, study: StudySpec, base_output_directory: str | None) -> dict[str, Any]:
    """Convert the best trial to plain values: its parameters, its metric, its model directory."""
    objective = objective_of(study)
    name = objective.metric_id if objective else None
    return {
        "id": trial.id,
        "parameters": dict(trial.parameters),
        "metric_id": name,
        "metric": trial.metrics.get(name) if name else None,
        "model_directory": _model_directory(trial, base_output_directory),
    }


def _model_directory(trial: Trial, base_output_directory: str | None) -> str | None:
    if not base_output_directory or not trial.has_succeeded:
        return None
    return tuning.model_directory(base_output_directory, trial.id)


def _read(wire: Mapping[str, Any], study: StudySpec) -> Trial:
    whole = {node.spec.parameter_id for node in walk(study.parameters, "") if node.spec.integer_value_spec}
    measurement = _measurement(wire, study)
    steps = measurement.get("stepCount")
    return Trial(
        id=str(wire.get("id", "")),
        state=str(wire.get("state", "STATE_UNSPECIFIED")),
        parameters={
            str(one.get("parameterId", "")): _value(one.get("value"), str(one.get("parameterId")) in whole)
            for one in wire.get("parameters") or ()
        },
        metrics={
            str(one.get("metricId", "")): _finite(one.get("value", 0.0))
            for one in measurement.get("metrics") or ()
        },
        step_count=None if steps is None else int(steps),
        start_time=wire.get("startTime"),
        end_time=wire.get("endTime"),
        infeasible_reason=wire.get("infeasibleReason") or None,
        custom_job=wire.get("customJob") or None,
    )


def _measurement(wire: Mapping[str, Any], study: StudySpec) -> Mapping[str, Any]:
    """Return the final measurement, or the one that would be final if the trial ended now."""
    if wire.get("finalMeasurement"):
        final: Mapping[str, Any] = wire["finalMeasurement"]
        return final
    reported: Sequence[Mapping[str, Any]] = wire.get("measurements") or ()
    objective = objective_of(study)
    if study.measurement_selection_type != "BEST_MEASUREMENT" or objective is None:
        return reported[-1] if reported else {}

    def worth(measurement: Mapping[str, Any]) -> float:
        values = {one.get("metricId"): one.get("value", 0.0) for one in measurement.get("metrics") or ()}
        value = _finite(values.get(objective.metric_id, math.nan))
        return -math.inf if value is None else _sign(objective) * value

    return max(reported, key=worth, default={})


def _is_safe(trial: Trial, metrics: Sequence[MetricSpec]) -> bool:
    """Return whether a trial reports every safety metric and keeps its threshold."""
    for metric in metrics:
        if metric.safety_config is None:
            continue
        value = trial.metrics.get(metric.metric_id)
        sign = _sign(metric)
        if value is None or sign * value < sign * metric.safety_config.safety_threshold:
            return False
    return True


def _sign(metric: MetricSpec) -> int:
    """Return the factor that makes a larger value the better one; without a goal a metric is maximized."""
    return -1 if metric.goal == "MINIMIZE" else 1


def _value(value: Any, whole: bool) -> Value:
    if whole and isinstance(value, (int, float)) and float(value).is_integer():
        return int(value)
    return value if isinstance(value, (str, int, float)) else ""


def _finite(value: Any) -> float | None:
    """Parse a number of the API's JSON, which spells infinity and NaN as text; None if it is not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
