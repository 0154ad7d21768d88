"""The service's own checks of a tuning job's numbers, and of the study's metrics and stopping rules.

All faults at once, in the form of the service. The rules are the comments of the API's messages and the
documentation, "Create a hyperparameter tuning job"; the words are mostly ours. What the API says is for
Vertex AI Vizier alone, the observation noise and the defaults of parameters, is accepted and not used.
Written apart from the checks of `specs`, so that the two do not share a misunderstanding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from vertex_emulator.rpc.methods import Violation
from vertex_emulator.tuning_jobs.parameter_validation import parameter_faults
from vertex_emulator.tuning_jobs.study.study import enum_name

REQUIRED = "Required field is not set."
_TPU = re.compile(r"cloud-tpu|tpu|ct[0-9]")


def faults(job: Any) -> Iterator[Violation]:
    """What is wrong with a `HyperparameterTuningJob` message but for its trial job and names."""
    yield from _count_faults(job)
    yield from _machine_faults(job)
    if not job.HasField("study_spec"):
        yield Violation("study_spec", REQUIRED)
        return
    spec = job.study_spec
    yield from _metric_faults(spec)
    yield from parameter_faults(spec)
    yield from _early_stopping_faults(spec)
    if spec.HasField("study_stopping_config"):
        yield from _stopping_faults(spec.study_stopping_config, "study_spec.study_stopping_config")


def _count_faults(job: Any) -> Iterator[Violation]:
    for field in ("max_trial_count", "parallel_trial_count"):
        value = getattr(job, field)
        if value == 0:
            yield Violation(field, REQUIRED)
        elif value < 0:
            yield Violation(field, f"{value} is not a number of trials; it must be at least 1.")
    if job.parallel_trial_count > job.max_trial_count > 0:
        yield Violation(
            "parallel_trial_count",
            f"{job.parallel_trial_count} trials in parallel are more than max_trial_count, "
            f"{job.max_trial_count}.",
        )
    if job.max_failed_trial_count < 0:
        yield Violation("max_failed_trial_count", "The number of failed trials must not be negative.")
    elif job.max_failed_trial_count > job.max_trial_count > 0:
        yield Violation(
            "max_failed_trial_count",
            f"{job.max_failed_trial_count} must be less than or equal to max_trial_count, "
            f"{job.max_trial_count}.",
        )


def _machine_faults(job: Any) -> Iterator[Violation]:
    for index, pool in enumerate(job.trial_job_spec.worker_pool_specs):
        if _TPU.match(pool.machine_spec.machine_type):
            yield Violation(
                f"trial_job_spec.worker_pool_specs[{index}].machine_spec.machine_type",
                "Hyperparameter tuning jobs that require TPUs are not supported.",
            )


def _metric_faults(spec: Any) -> Iterator[Violation]:
    if not spec.metrics:
        yield Violation("study_spec.metrics", REQUIRED)
        return
    seen: set[str] = set()
    for index, metric in enumerate(spec.metrics):
        path = f"study_spec.metrics[{index}]"
        name = metric.metric_id
        if not name:
            yield Violation(f"{path}.metric_id", REQUIRED)
        elif any(letter.isspace() for letter in name):
            yield Violation(f"{path}.metric_id", f"{name!r} must not contain whitespaces.")
        elif name in seen:
            yield Violation(f"{path}.metric_id", f"{name!r} must be unique amongst all metrics.")
        seen.add(name)
        if enum_name(metric, "goal") not in ("MAXIMIZE", "MINIMIZE"):
            yield Violation(f"{path}.goal", REQUIRED)
        if metric.HasField("safety_config"):
            yield from _safety_faults(metric.safety_config, f"{path}.safety_config")
    if all(metric.HasField("safety_config") for metric in spec.metrics):
        yield Violation(
            "study_spec.metrics",
            "Every metric is a safety metric; there must be a separate metric for the objective.",
        )


def _safety_faults(config: Any, path: str) -> Iterator[Violation]:
    if not math.isfinite(config.safety_threshold):
        yield Violation(f"{path}.safety_threshold", "The threshold must be a finite number.")
    if not 0.0 <= config.desired_min_safe_trials_fraction <= 1.0:
        yield Violation(f"{path}.desired_min_safe_trials_fraction", "It must be between 0.0 and 1.0.")


def _early_stopping_faults(spec: Any) -> Iterator[Violation]:
    if spec.WhichOneof("automated_stopping_spec") != "convex_automated_stopping_spec":
        return
    rule, path = spec.convex_automated_stopping_spec, "study_spec.convex_automated_stopping_spec"
    for field in ("max_step_count", "min_step_count", "min_measurement_count"):
        if getattr(rule, field) < 0:
            yield Violation(f"{path}.{field}", "It must not be negative.")
    if rule.min_step_count > rule.max_step_count > 0:
        yield Violation(
            f"{path}.min_step_count",
            f"{rule.min_step_count} steps are more than max_step_count, {rule.max_step_count}.",
        )
    name = rule.learning_rate_parameter_name
    if name and name not in {each.parameter_id for each in spec.parameters}:
        yield Violation(f"{path}.learning_rate_parameter_name", f"The study has no parameter {name!r}.")


def _stopping_faults(config: Any, path: str) -> Iterator[Violation]:
    for field in ("minimum_runtime_constraint", "maximum_runtime_constraint"):
        constraint = getattr(config, field)
        if config.HasField(field) and constraint.WhichOneof("constraint") is None:
            yield Violation(f"{path}.{field}", "One of `max_duration` and `end_time` must be set.")
        elif constraint.HasField("max_duration") and constraint.max_duration.ToNanoseconds() <= 0:
            yield Violation(f"{path}.{field}.max_duration", "The duration must be greater than 0.")
    for field in ("min_num_trials", "max_num_trials", "max_num_trials_no_progress"):
        if config.HasField(field) and getattr(config, field).value < 1:
            yield Violation(f"{path}.{field}", "The number of trials must be at least 1.")
    low, high = config.min_num_trials, config.max_num_trials
    if config.HasField("max_num_trials") and low.value > high.value >= 1:
        yield Violation(f"{path}.min_num_trials", f"{low.value} trials are more than max_num_trials.")
    duration = config.max_duration_no_progress
    if config.HasField("max_duration_no_progress") and duration.ToNanoseconds() <= 0:
        yield Violation(f"{path}.max_duration_no_progress", "The duration must be greater than 0.")
