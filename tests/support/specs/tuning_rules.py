"""For each rule of tuning jobs, a tuning job that keeps the rule and a change that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.specs.rule_cases import case, warning

STUDY, FIRST, TASK = "study_spec", "study_spec.parameters[0]", "trial_job_spec.worker_pool_specs[0]"
STOPPING = f"{STUDY}.study_stopping_config"

LOSS = {"metric_id": "loss", "goal": "MINIMIZE"}
ACCURACY = {"metric_id": "accuracy", "goal": "MAXIMIZE"}
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "repo/trainer:1"},
}


def double(name: str = "rate", least: float = 0.001, most: float = 0.1, **other: Any) -> dict[str, Any]:
    """Return a double parameter; `default` is its default value."""
    spec = {"min_value": least, "max_value": most}
    if "default" in other:
        spec["default_value"] = other.pop("default")
    return {"parameter_id": name, "double_value_spec": spec, **other}


def integer(name: str = "layers", least: int = 1, most: int = 8, **other: Any) -> dict[str, Any]:
    spec = {"min_value": least, "max_value": most}
    if "default" in other:
        spec["default_value"] = other.pop("default")
    return {"parameter_id": name, "integer_value_spec": spec, **other}


def categorical(name: str = "model", *values: str, **other: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"values": list(values or ("cnn", "dnn"))}
    if "default" in other:
        spec["default_value"] = other.pop("default")
    return {"parameter_id": name, "categorical_value_spec": spec, **other}


def discrete(name: str = "batch", *values: float, **other: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"values": list(values or (16.0, 32.0))}
    if "default" in other:
        spec["default_value"] = other.pop("default")
    return {"parameter_id": name, "discrete_value_spec": spec, **other}


def when(parameter: Mapping[str, Any], *values: float | str, kind: str = "categorical") -> dict[str, Any]:
    """Return a parameter under a condition; `kind` is "categorical", "int" or "discrete"."""
    return {"parameter_spec": dict(parameter), f"parent_{kind}_values": {"values": list(values)}}


def under(parent: Mapping[str, Any], *conditions: Mapping[str, Any]) -> dict[str, Any]:
    return {**parent, "conditional_parameter_specs": [dict(one) for one in conditions]}


def tuning(*parameters: Mapping[str, Any], metrics: Any = (LOSS,), **other: Any) -> dict[str, Any]:
    """Return a valid tuning job of 10 trials, two at a time.

    Options named in `OF_JOB` are fields of the job, all others fields of its study.
    """
    own = {name: other.pop(name) for name in list(other) if name in OF_JOB}
    study = {"metrics": list(metrics), "parameters": list(parameters or (double(),)), **other}
    return {
        "display_name": "search",
        "study_spec": study,
        "max_trial_count": 10,
        "parallel_trial_count": 2,
        "trial_job_spec": {"worker_pool_specs": [POOL], "base_output_directory": "gs://staging/out"},
        **own,
    }


OF_JOB = ("max_trial_count", "parallel_trial_count", "max_failed_trial_count", "trial_job_spec")


CHILD = f"{FIRST}.conditional_parameter_specs[0]"
PARENT = under(categorical(), when(integer(), "dnn"))

OF_TUNING = {
    "trial-counts": case(
        tuning(), {"max_trial_count": 0}, "max_trial_count", "0 is not a number", "give at least 1"
    ),
    "parallel-trials": case(
        tuning(), {"parallel_trial_count": 20}, "parallel_trial_count", "20 parallel trials", "at most 10"
    ),
    "failed-trials": case(
        tuning(max_failed_trial_count=3),
        {"max_failed_trial_count": 11},
        "max_failed_trial_count",
        "11 failed trials",
        "at most 10",
    ),
    "parallel-learning": warning(
        tuning(),
        {"parallel_trial_count": 10},
        "parallel_trial_count",
        "all 10 trials start at once",
        "or use RANDOM_SEARCH",
    ),
    "grid-size": warning(
        tuning(integer(), algorithm="GRID_SEARCH", max_trial_count=8),
        {"max_trial_count": 4},
        "max_trial_count",
        "only 4 of the 8 points",
        "give 8, or use RANDOM_SEARCH",
    ),
    "few-points": warning(
        tuning(integer("layers", 1, 100)),
        {f"{FIRST}.integer_value_spec.max_value": 5},
        "max_trial_count",
        "10 trials, but only 5",
        "use GRID_SEARCH",
    ),
    "study-unreachable": warning(
        tuning(study_stopping_config={"max_num_trials": 5}),
        {f"{STOPPING}.max_num_trials": 50},
        f"{STOPPING}.max_num_trials",
        "50 is never reached with 10 trials",
        "or leave it out",
    ),
    "parameter-collides": warning(
        tuning(
            trial_job_spec={
                "worker_pool_specs": [
                    {**POOL, "container_spec": {"image_uri": "repo/trainer:1", "args": ["--epochs=3"]}}
                ],
                "base_output_directory": "gs://staging/out",
            }
        ),
        {f"{TASK}.container_spec.args[0]": "--rate=0.5"},
        f"{TASK}.container_spec.args[0]",
        "'--rate=0.5'",
        "give the parameter another id",
    ),
    "tuning-tpu": case(
        tuning(),
        {f"{TASK}.machine_spec": {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "2x2"}},
        f"{TASK}.machine_spec.machine_type",
        "ct5lp-hightpu-4t is a TPU",
        "use a machine with GPUs",
    ),
    "trial-output": warning(
        tuning(),
        {"trial_job_spec.base_output_directory": ""},
        "trial_job_spec.base_output_directory",
        "no AIP_MODEL_DIR",
        "Give one of the two",
    ),
}

SAFE = {"metric_id": "latency", "goal": "MINIMIZE", "safety_config": {"safety_threshold": 2.0}}
OF_STUDY = {
    "study-metrics": case(
        tuning(metrics=(LOSS, SAFE)),
        {f"{STUDY}.metrics": [SAFE]},
        f"{STUDY}.metrics",
        "every metric has a safety_config",
        "add the metric",
    ),
    "metric-id": case(
        tuning(),
        {f"{STUDY}.metrics[0].metric_id": "the loss"},
        f"{STUDY}.metrics[0].metric_id",
        "'the loss'",
        "write the tag",
    ),
    "metric-unique": case(
        tuning(metrics=(LOSS, SAFE)),
        {f"{STUDY}.metrics[1].metric_id": "loss"},
        f"{STUDY}.metrics[1].metric_id",
        "'loss' is the id of study_spec.metrics[0]",
        "keep one",
    ),
    "metric-goal": case(
        tuning(),
        {f"{STUDY}.metrics[0].goal": "GOAL_TYPE_UNSPECIFIED"},
        f"{STUDY}.metrics[0].goal",
        "'GOAL_TYPE_UNSPECIFIED'",
        "write MAXIMIZE or MINIMIZE",
    ),
    "metric-safety": case(
        tuning(metrics=(LOSS, SAFE)),
        {f"{STUDY}.metrics[1].safety_config.desired_min_safe_trials_fraction": 1.5},
        f"{STUDY}.metrics[1].safety_config.desired_min_safe_trials_fraction",
        "1.5 is not a fraction",
        "from 0 to 1",
    ),
    "several-objectives": warning(
        tuning(),
        {f"{STUDY}.metrics[1]": ACCURACY},
        f"{STUDY}.metrics",
        "2 metrics to improve",
        "best by loss",
    ),
    "grid-double": case(
        tuning(integer("layers", 1, 10), algorithm="GRID_SEARCH"),
        {f"{STUDY}.parameters[1]": double()},
        f"{STUDY}.parameters[1].double_value_spec",
        "'rate' is a double parameter",
        "or use RANDOM_SEARCH",
    ),
    "observation-noise": warning(
        tuning(),
        {f"{STUDY}.observation_noise": "LOW"},
        f"{STUDY}.observation_noise",
        "LOW has no effect",
        "leave it out",
    ),
    "early-stopping-one": case(
        tuning(median_automated_stopping_spec={}),
        {f"{STUDY}.decay_curve_stopping_spec": {}},
        f"{STUDY}.median_automated_stopping_spec",
        "combined with decay_curve_stopping_spec",
        "Keep one",
    ),
    "convex-counts": case(
        tuning(convex_automated_stopping_spec={"max_step_count": 100, "min_step_count": 10}),
        {f"{STUDY}.convex_automated_stopping_spec.min_step_count": 200},
        f"{STUDY}.convex_automated_stopping_spec.min_step_count",
        "200 is more than max_step_count 100",
        "give fewer",
    ),
    "convex-learning-rate": case(
        tuning(convex_automated_stopping_spec={"learning_rate_parameter_name": "rate"}),
        {f"{STUDY}.convex_automated_stopping_spec.learning_rate_parameter_name": "rat"},
        f"{STUDY}.convex_automated_stopping_spec.learning_rate_parameter_name",
        "'rat' is not a parameter",
        "did you mean rate?",
    ),
    "study-choice": case(
        tuning(algorithm="RANDOM_SEARCH"),
        {f"{STUDY}.algorithm": "grid"},
        f"{STUDY}.algorithm",
        "'grid'",
        "write GRID_SEARCH",
    ),
}

OF_PARAMETERS = {
    "study-parameters": case(
        tuning(), {f"{STUDY}.parameters": []}, f"{STUDY}.parameters", "is empty", "name at least one"
    ),
    "parameter-id": case(
        tuning(),
        {f"{FIRST}.parameter_id": "learning rate"},
        f"{FIRST}.parameter_id",
        "'learning rate'",
        "for example learning_rate",
    ),
    "parameter-unique": case(
        tuning(under(categorical(), when(double(), "cnn"), when(double(), "dnn"))),
        {f"{FIRST}.conditional_parameter_specs[1].parent_categorical_values.values": ["dnn", "cnn"]},
        f"{FIRST}.conditional_parameter_specs[1].parameter_spec.parameter_id",
        "'rate'",
        "different ids or conditions",
    ),
    "parameter-argument": warning(
        tuning(),
        {f"{FIRST}.parameter_id": "--rate"},
        f"{FIRST}.parameter_id",
        "the argument ----rate",
        "for example rate",
    ),
    "parameter-type": case(
        tuning(),
        {f"{FIRST}.discrete_value_spec": {"values": [1, 2]}},
        FIRST,
        "has double_value_spec and discrete_value_spec",
        "give exactly one",
    ),
    "parameter-finite": case(
        tuning(),
        {f"{FIRST}.double_value_spec.max_value": float("inf")},
        f"{FIRST}.double_value_spec.max_value",
        "inf cannot be searched",
        "give a finite number",
    ),
    "parameter-bounds": case(
        tuning(),
        {f"{FIRST}.double_value_spec.min_value": 0.5},
        f"{FIRST}.double_value_spec.min_value",
        "0.5 is more than max_value 0.1",
        "swap them",
    ),
    "integer-exact": warning(
        tuning(integer("seed", 0, 2**53)),
        {f"{FIRST}.integer_value_spec.max_value": 2**53 + 2},
        f"{FIRST}.integer_value_spec.max_value",
        "9007199254740994 is beyond",
        "use a smaller range",
    ),
    "parameter-values": case(
        tuning(categorical("model", "cnn", "dnn"), double()),
        {f"{FIRST}.categorical_value_spec.values[1]": "cnn"},
        f"{FIRST}.categorical_value_spec.values[1]",
        "'cnn' is already listed at 0",
        "keep one",
    ),
    "discrete-order": case(
        tuning(discrete(), double()),
        {f"{FIRST}.discrete_value_spec.values[1]": 8},
        f"{FIRST}.discrete_value_spec.values[1]",
        "8 is less than the value before it, 16",
        "in increasing order",
    ),
    "discrete-count": case(
        tuning(discrete("batch", *range(1000))),
        {f"{FIRST}.discrete_value_spec.values[1000]": 1000},
        f"{FIRST}.discrete_value_spec.values",
        "1001 values",
        "Leave some out",
    ),
    "scale-categorical": case(
        tuning(categorical(), double()),
        {f"{FIRST}.scale_type": "UNIT_LINEAR_SCALE"},
        f"{FIRST}.scale_type",
        "UNIT_LINEAR_SCALE on a categorical parameter",
        "leave it out",
    ),
    "scale-positive": case(
        tuning(double(scale_type="UNIT_LOG_SCALE")),
        {f"{FIRST}.double_value_spec.min_value": 0},
        f"{FIRST}.double_value_spec.min_value",
        "0 with UNIT_LOG_SCALE",
        "or use UNIT_LINEAR_SCALE",
    ),
    "parameter-default": case(
        tuning(double(default=0.01)),
        {f"{FIRST}.double_value_spec.default_value": 2},
        f"{FIRST}.double_value_spec.default_value",
        "2 is not a value of this parameter, which has 0.001 to 0.1",
        "or none",
    ),
    "parameter-default-unused": warning(
        tuning(),
        {f"{FIRST}.double_value_spec.default_value": 0.01},
        f"{FIRST}.double_value_spec.default_value",
        "0.01 has no effect",
        "leave it out",
    ),
    "condition-type": case(
        tuning(PARENT, double()),
        {f"{CHILD}.parent_int_values": {"values": [1]}},
        CHILD,
        "has parent_int_values and parent_categorical_values",
        "give exactly one",
    ),
    "condition-values": case(
        tuning(PARENT, double()),
        {f"{CHILD}.parent_categorical_values.values[0]": "dn"},
        f"{CHILD}.parent_categorical_values.values[0]",
        "'dn' is not a value of 'model'",
        "did you mean dnn?",
    ),
}

OF_STOPPING = {
    "study-time": case(
        tuning(study_stopping_config={"maximum_runtime_constraint": {"max_duration": "3600s"}}),
        {f"{STOPPING}.maximum_runtime_constraint.end_time": "2027-01-31T12:00:00Z"},
        f"{STOPPING}.maximum_runtime_constraint",
        "has max_duration and end_time",
        "give exactly one",
    ),
    "study-no-progress-time": case(
        tuning(study_stopping_config={"max_duration_no_progress": "3600s"}),
        {f"{STOPPING}.max_duration_no_progress": "1h"},
        f"{STOPPING}.max_duration_no_progress",
        "'1h'",
        "write it in seconds: 3600s",
    ),
    "study-trials": case(
        tuning(study_stopping_config={"max_num_trials": 5}),
        {f"{STOPPING}.max_num_trials": 0},
        f"{STOPPING}.max_num_trials",
        "0 is not a number of trials",
        "give at least 1",
    ),
    "study-stopping-order": case(
        tuning(study_stopping_config={"min_num_trials": 2, "max_num_trials": 5}),
        {f"{STOPPING}.min_num_trials": 6},
        f"{STOPPING}.min_num_trials",
        "6 is more than max_num_trials 5",
        "give at most 5",
    ),
    "study-stopping-condition": warning(
        tuning(study_stopping_config={"max_num_trials": 5}),
        {STOPPING: {"should_stop_asap": True}},
        STOPPING,
        "no condition that ends the study",
        "or leave it out",
    ),
    "no-progress-single": warning(
        tuning(metrics=(LOSS, SAFE), study_stopping_config={"max_num_trials_no_progress": 5}),
        {f"{STUDY}.metrics[1]": ACCURACY},
        f"{STOPPING}.max_num_trials_no_progress",
        "no effect with 2 metrics",
        "leave it out",
    ),
}

CASES = {**OF_TUNING, **OF_STUDY, **OF_PARAMETERS, **OF_STOPPING}
