"""The checks of a tuning job: its counts, and its study's parameters, metrics and stopping rules.

All violations are reported at once, in the form of the service. The rules are from the comments of the API's
messages and the documentation, "Create a hyperparameter tuning job"; most messages are the emulator's own.
Fields that the API documents for Vertex AI Vizier only (observation noise, defaults of parameters) are
accepted and ignored. The client's checks are implemented separately, so that the two do not share a
misunderstanding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from vertex_emulator.jobs.tuning.study.study import EPSILON, Value, condition_values, enum_name, kind_of, same
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Violation

_REQUIRED = "Required field is not set."
_TPU = re.compile(r"cloud-tpu|tpu|ct[0-9]")
_MAX_VALUES = 1000
_MAX_DEPTH = 10
_CONDITIONS = {
    "parent_int_values": "INTEGER",
    "parent_discrete_values": "DISCRETE",
    "parent_categorical_values": "CATEGORICAL",
}


def _parameter_problems(spec: DynamicMessage) -> Iterator[Violation]:
    """Check the parameters of a `StudySpec` message and yield each violation."""
    if not spec.parameters:
        yield Violation("study_spec.parameters", _REQUIRED)
    grid = enum_name(spec, "algorithm") == "GRID_SEARCH"
    above: set[str] = set()
    for index, parameter in enumerate(spec.parameters):
        path = f"study_spec.parameters[{index}]"
        if parameter.parameter_id in above:
            yield _not_unique(parameter, path)
        yield from _parameter_problems_at(parameter, path, frozenset(above), grid=grid, depth=1)
        above.update(_names(parameter))


def _names(parameter: DynamicMessage) -> Iterator[str]:
    yield parameter.parameter_id
    for each in parameter.conditional_parameter_specs:
        yield from _names(each.parameter_spec)


def _not_unique(parameter: DynamicMessage, path: str) -> Violation:
    return Violation(
        f"{path}.parameter_id", f"{parameter.parameter_id!r} must be unique amongst all parameters."
    )


def _parameter_problems_at(
    parameter: DynamicMessage, path: str, above: frozenset[str], *, grid: bool, depth: int
) -> Iterator[Violation]:
    name = parameter.parameter_id
    if not name:
        yield Violation(f"{path}.parameter_id", _REQUIRED)
    elif any(letter.isspace() for letter in name):
        yield Violation(f"{path}.parameter_id", f"{name!r} must not contain whitespaces.")
    which, kind = parameter.WhichOneof("parameter_value_spec"), kind_of(parameter)
    if which is None:
        yield Violation(
            path,
            "One of `double_value_spec`, `integer_value_spec`, `categorical_value_spec` and "
            "`discrete_value_spec` must be set.",
        )
        return
    if grid and kind == "DOUBLE":
        yield Violation(
            f"{path}.double_value_spec",
            f"GRID_SEARCH needs every parameter to be INTEGER, CATEGORICAL or DISCRETE; {name!r} is DOUBLE.",
        )
    values = getattr(parameter, which)
    listed = kind in ("CATEGORICAL", "DISCRETE")
    yield from (_list_problems if listed else _range_problems)(values, f"{path}.{which}")
    yield from _scale_problems(parameter, kind, values, path)
    if depth > _MAX_DEPTH:
        yield Violation(path, f"Conditional parameters can be at most {_MAX_DEPTH} deep.")
        return
    yield from _condition_problems(parameter, path, above | {name}, grid=grid, depth=depth)


def _range_problems(values: DynamicMessage, path: str) -> Iterator[Violation]:
    low, high = values.min_value, values.max_value
    if not (math.isfinite(low) and math.isfinite(high)):
        yield Violation(path, f"The bounds must be finite numbers, not {low} and {high}.")
    elif low > high:
        yield Violation(f"{path}.max_value", f"max_value {high} is less than min_value {low}.")


def _list_problems(values: DynamicMessage, path: str) -> Iterator[Violation]:
    numbers = list(values.values)
    if not numbers:
        yield Violation(f"{path}.values", _REQUIRED)
    elif len(numbers) > _MAX_VALUES:
        yield Violation(f"{path}.values", f"The list should not contain more than {_MAX_VALUES} values.")
    elif isinstance(numbers[0], str):
        if len(set(numbers)) < len(numbers):
            yield Violation(f"{path}.values", "The values must be unique.")
    elif not all(math.isfinite(each) for each in numbers):
        yield Violation(f"{path}.values", "The values must be finite numbers.")
    elif any(b - a < EPSILON for a, b in pairwise(numbers)):
        yield Violation(
            f"{path}.values", "The list should be in increasing order and its values at least 1e-10 apart."
        )


def _scale_problems(
    parameter: DynamicMessage, kind: str | None, values: DynamicMessage, path: str
) -> Iterator[Violation]:
    scale = enum_name(parameter, "scale_type")
    if scale == "SCALE_TYPE_UNSPECIFIED":
        return
    if kind == "CATEGORICAL":
        yield Violation(f"{path}.scale_type", "Leave it unset for CATEGORICAL parameters.")
        return
    least = min(values.values, default=1.0) if kind == "DISCRETE" else values.min_value
    if scale in ("UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE") and not least > 0:
        yield Violation(
            f"{path}.scale_type",
            f"With {scale} the entire feasible space must be strictly positive; it begins at {least}.",
        )


def _condition_problems(
    parameter: DynamicMessage, path: str, above: frozenset[str], *, grid: bool, depth: int
) -> Iterator[Violation]:
    by_name: dict[str, list[Value]] = {}
    for index, each in enumerate(parameter.conditional_parameter_specs):
        at = f"{path}.conditional_parameter_specs[{index}]"
        values = condition_values(each)
        which = each.WhichOneof("parent_value_condition")
        if which is None:
            yield Violation(
                at,
                "One of `parent_discrete_values`, `parent_int_values` and `parent_categorical_values` must "
                "be set.",
            )
        elif _CONDITIONS[which] != kind_of(parameter):
            yield Violation(
                f"{at}.{which}",
                f"The parent {parameter.parameter_id!r} is of type {kind_of(parameter)}, not "
                f"{_CONDITIONS[which]}.",
            )
        elif not values:
            yield Violation(f"{at}.{which}.values", _REQUIRED)
        elif strange := [value for value in values if not _can_be(parameter, value)]:
            yield Violation(
                f"{at}.{which}.values",
                f"{strange[0]!r} is not a value of the parent {parameter.parameter_id!r}.",
            )
        if not each.HasField("parameter_spec"):
            yield Violation(f"{at}.parameter_spec", _REQUIRED)
            continue
        child = each.parameter_spec
        if child.parameter_id in above:
            yield _not_unique(child, f"{at}.parameter_spec")
        yield from _parameter_problems_at(child, f"{at}.parameter_spec", above, grid=grid, depth=depth + 1)
        for name in set(_names(child)):
            if any(same(one, other) for one in by_name.get(name, []) for other in values):
                yield Violation(
                    f"{at}.parameter_spec.parameter_id",
                    f"{name!r} occurs more than once for one value of the parent. Parameters of the same "
                    "name must have disjoint conditions.",
                )
            by_name.setdefault(name, []).extend(values)


def _can_be(parameter: DynamicMessage, value: Value) -> bool:
    spec = getattr(parameter, parameter.WhichOneof("parameter_value_spec"))
    if kind_of(parameter) == "INTEGER":
        return isinstance(value, int) and spec.min_value <= value <= spec.max_value
    return any(same(value, each) for each in spec.values)


def problems(job: DynamicMessage) -> Iterator[Violation]:
    """Check a `HyperparameterTuningJob` message and yield each violation.

    Its trial job and its names are checked elsewhere.
    """
    yield from _count_problems(job)
    yield from _machine_problems(job)
    if not job.HasField("study_spec"):
        yield Violation("study_spec", _REQUIRED)
        return
    spec = job.study_spec
    yield from _metric_problems(spec)
    yield from _parameter_problems(spec)
    yield from _early_stopping_problems(spec)
    if spec.HasField("study_stopping_config"):
        yield from _stopping_problems(spec.study_stopping_config, "study_spec.study_stopping_config")


def _count_problems(job: DynamicMessage) -> Iterator[Violation]:
    for field in ("max_trial_count", "parallel_trial_count"):
        value = getattr(job, field)
        if value == 0:
            yield Violation(field, _REQUIRED)
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


def _machine_problems(job: DynamicMessage) -> Iterator[Violation]:
    for index, pool in enumerate(job.trial_job_spec.worker_pool_specs):
        if _TPU.match(pool.machine_spec.machine_type):
            yield Violation(
                f"trial_job_spec.worker_pool_specs[{index}].machine_spec.machine_type",
                "Hyperparameter tuning jobs that require TPUs are not supported.",
            )


def _metric_problems(spec: DynamicMessage) -> Iterator[Violation]:
    if not spec.metrics:
        yield Violation("study_spec.metrics", _REQUIRED)
        return
    seen: set[str] = set()
    for index, metric in enumerate(spec.metrics):
        path = f"study_spec.metrics[{index}]"
        name = metric.metric_id
        if not name:
            yield Violation(f"{path}.metric_id", _REQUIRED)
        elif any(letter.isspace() for letter in name):
            yield Violation(f"{path}.metric_id", f"{name!r} must not contain whitespaces.")
        elif name in seen:
            yield Violation(f"{path}.metric_id", f"{name!r} must be unique amongst all metrics.")
        seen.add(name)
        if enum_name(metric, "goal") not in ("MAXIMIZE", "MINIMIZE"):
            yield Violation(f"{path}.goal", _REQUIRED)
        if metric.HasField("safety_config"):
            yield from _safety_problems(metric.safety_config, f"{path}.safety_config")
    if all(metric.HasField("safety_config") for metric in spec.metrics):
        yield Violation(
            "study_spec.metrics",
            "Every metric is a safety metric; there must be a separate metric for the objective.",
        )


def _safety_problems(config: DynamicMessage, path: str) -> Iterator[Violation]:
    if not math.isfinite(config.safety_threshold):
        yield Violation(f"{path}.safety_threshold", "The threshold must be a finite number.")
    if not 0.0 <= config.desired_min_safe_trials_fraction <= 1.0:
        yield Violation(f"{path}.desired_min_safe_trials_fraction", "It must be between 0.0 and 1.0.")


def _early_stopping_problems(spec: DynamicMessage) -> Iterator[Violation]:
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


def _stopping_problems(config: DynamicMessage, path: str) -> Iterator[Violation]:
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
