"""The end of a study, the failure of its job, and invalid tuning jobs."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format

from support.emulated.services.studies import (
    MAXIMIZE,
    below,
    categorical,
    discrete,
    double,
    integer,
    study,
    study_spec,
    trial,
)
from support.tables import every_row
from vertex_emulator.jobs.tuning.study.stopping import stop_reason, too_many_failed
from vertex_emulator.jobs.tuning.validation import problems
from vertex_emulator.server.rpc import descriptors

MINUTE = 60_000_000
THREE = [trial(1, [0.1], end=MINUTE), trial(2, [0.5], end=2 * MINUTE), trial(3, [0.4], end=3 * MINUTE)]


@pytest.mark.parity("Tuning jobs: the end of a study")
@pytest.mark.parametrize(
    ("config", "reason"),
    [
        pytest.param({}, None, id="nothing said"),
        pytest.param({"maxNumTrials": 3}, "max_num_trials", id="enough trials"),
        pytest.param({"maxNumTrials": 4}, None, id="not enough trials"),
        pytest.param(
            {"maximumRuntimeConstraint": {"maxDuration": "600s"}}, "maximum_runtime_constraint", id="long"
        ),
        pytest.param({"maximumRuntimeConstraint": {"maxDuration": "601s"}}, None, id="not long enough"),
        pytest.param(
            {"maximumRuntimeConstraint": {"endTime": "1970-01-01T00:10:00Z"}},
            "maximum_runtime_constraint",
            id="late",
        ),
        pytest.param(
            {"maximumRuntimeConstraint": {"endTime": "1970-01-01T00:10:01Z"}}, None, id="not late enough"
        ),
        pytest.param(
            {"maxNumTrials": 3, "minimumRuntimeConstraint": {"maxDuration": "601s"}},
            None,
            id="not before its time",
        ),
        pytest.param(
            {"maxNumTrials": 3, "minimumRuntimeConstraint": {"maxDuration": "600s"}},
            "max_num_trials",
            id="in its time",
        ),
        pytest.param(
            {"maximumRuntimeConstraint": {"maxDuration": "1s"}, "minNumTrials": 4},
            None,
            id="not before 4 trials",
        ),
        pytest.param(
            {"maximumRuntimeConstraint": {"maxDuration": "1s"}, "minNumTrials": 3},
            "maximum_runtime_constraint",
            id="after 3 trials",
        ),
        pytest.param({"maxNumTrialsNoProgress": 1}, "max_num_trials_no_progress", id="one without progress"),
        pytest.param({"maxNumTrialsNoProgress": 2}, None, id="not two without progress"),
        pytest.param(
            {"maxDurationNoProgress": "480s"}, "max_duration_no_progress", id="8 minutes without progress"
        ),
        pytest.param({"maxDurationNoProgress": "481s"}, None, id="not longer without progress"),
    ],
)
def test_a_study_of_three_trials_after_ten_minutes(config: dict[str, Any], reason: str | None) -> None:
    """Check the reason, where the second trial, which ended after 2 minutes, was the best."""
    one = study(studyStoppingConfig=config)
    assert stop_reason(one, THREE, count=3, created=0, now=10 * MINUTE) == reason


def test_a_trial_that_failed_is_no_progress_and_not_completed() -> None:
    failed = [*THREE, trial(4, [], end=4 * MINUTE)]
    no_progress = study(studyStoppingConfig={"maxNumTrialsNoProgress": 2})
    assert (
        stop_reason(no_progress, failed, count=4, created=0, now=5 * MINUTE) == "max_num_trials_no_progress"
    )
    at_least_four = study(studyStoppingConfig={"maxNumTrials": 1, "minNumTrials": 4})
    assert stop_reason(at_least_four, failed, count=4, created=0, now=5 * MINUTE) is None


def test_a_trial_as_good_as_the_best_is_no_progress() -> None:
    equal = [*THREE, trial(4, [0.5], end=4 * MINUTE)]
    one = study(studyStoppingConfig={"maxNumTrialsNoProgress": 2})
    assert stop_reason(one, equal, count=4, created=0, now=5 * MINUTE) == "max_num_trials_no_progress"


def test_with_several_objectives_there_is_no_progress_to_miss() -> None:
    both = [*MAXIMIZE, {"metricId": "speed", "goal": "MAXIMIZE"}]
    one = study(metrics=both, studyStoppingConfig={"maxNumTrialsNoProgress": 1})
    assert stop_reason(one, THREE, count=3, created=0, now=10 * MINUTE) is None


@pytest.mark.parametrize(
    ("pattern", "max_trials", "max_failed", "fails"),
    [
        pytest.param("x", 20, 1, True, id="as many as said"),
        pytest.param("x", 20, 2, False, id="fewer than said"),
        pytest.param("x.x", 20, 2, True, id="not in a row"),
        pytest.param("x", 20, 0, True, id="the first"),
        pytest.param("x", 20, 3, False, id="the first, where more are allowed"),
        pytest.param(".xxxx", 20, 0, False, id="four of five"),
        pytest.param(".xxxxx", 20, 0, True, id="five of six"),
        pytest.param(".....xxxxx", 20, 0, False, id="five of ten"),
        pytest.param(".....xxxxxx", 20, 0, True, id="six of eleven"),
        pytest.param(".xx", 4, 0, False, id="half of all"),
        pytest.param(".xxx", 4, 0, True, id="more than half of all"),
        pytest.param("", 1, 0, False, id="none"),
    ],
)
def test_a_job_fails_by_its_trials(pattern: str, max_trials: int, max_failed: int, fails: bool) -> None:
    trials = [trial(n, [0.5] if each == "." else []) for n, each in enumerate(pattern, start=1)]
    assert too_many_failed(trials, max_trials=max_trials, max_failed=max_failed) == fails


def found(**changes: Any) -> list[tuple[str, str]]:
    """Return the violations of a valid tuning job with these changes."""
    document = {
        "displayName": "tune",
        "maxTrialCount": 4,
        "parallelTrialCount": 2,
        "studySpec": study_spec(double("rate")),
        **changes,
    }
    job = descriptors.message("google.cloud.aiplatform.v1.HyperparameterTuningJob")
    json_format.ParseDict(document, job, descriptor_pool=descriptors.pool())
    return [(each.field, each.description) for each in problems(job)]


@pytest.mark.parity(
    "Tuning jobs: observation noise", same="accepted and not used", fields=("study_spec.observation_noise",)
)
def test_what_only_vizier_uses_is_accepted() -> None:
    offered = {"parameterId": "a", "doubleValueSpec": {"minValue": 0, "maxValue": 1, "defaultValue": 0.5}}
    assert found(studySpec=study_spec(offered, observationNoise="LOW")) == []


def test_a_job_that_is_right() -> None:
    everything = categorical(
        "model",
        "a",
        "b",
        conditionalParameterSpecs=[below(double("rate", 1e-3, 1, scaleType="UNIT_LOG_SCALE"), "a", "b")],
    )
    assert found(studySpec=study_spec(everything, integer("n", 1, 1), discrete("d", 1, 2.5))) == []


SPEC = "study_spec"
P = f"{SPEC}.parameters[0]"
GRID = {"algorithm": "GRID_SEARCH"}
SAFE = {"metricId": "m", "goal": "MAXIMIZE", "safetyConfig": {"safetyThreshold": 1}}


@every_row(
    ("changes", "field"),
    [
        pytest.param({"maxTrialCount": 0}, "max_trial_count", id="no trials"),
        pytest.param({"maxTrialCount": -1}, "max_trial_count", id="negative trials"),
        pytest.param({"parallelTrialCount": 0}, "parallel_trial_count", id="none in parallel"),
        pytest.param({"parallelTrialCount": 5}, "parallel_trial_count", id="more in parallel than all"),
        pytest.param({"maxFailedTrialCount": -1}, "max_failed_trial_count", id="negative failures"),
        pytest.param({"maxFailedTrialCount": 5}, "max_failed_trial_count", id="more failures than trials"),
        pytest.param(
            {"trialJobSpec": {"workerPoolSpecs": [{"machineSpec": {"machineType": "ct5lp-hightpu-4t"}}]}},
            "trial_job_spec.worker_pool_specs[0].machine_spec.machine_type",
            id="a TPU",
        ),
        pytest.param({"studySpec": study_spec(metrics=[])}, f"{SPEC}.metrics", id="no metrics"),
        pytest.param(
            {"studySpec": study_spec(metrics=[{"goal": "MAXIMIZE"}])},
            f"{SPEC}.metrics[0].metric_id",
            id="no metric id",
        ),
        pytest.param(
            {"studySpec": study_spec(metrics=[{"metricId": "a b", "goal": "MAXIMIZE"}])},
            f"{SPEC}.metrics[0].metric_id",
            id="metric with a space",
        ),
        pytest.param(
            {"studySpec": study_spec(metrics=MAXIMIZE * 2)}, f"{SPEC}.metrics[1].metric_id", id="metric twice"
        ),
        pytest.param(
            {"studySpec": study_spec(metrics=[{"metricId": "a"}])}, f"{SPEC}.metrics[0].goal", id="no goal"
        ),
        pytest.param({"studySpec": study_spec(metrics=[SAFE])}, f"{SPEC}.metrics", id="no objective"),
        pytest.param(
            {
                "studySpec": study_spec(
                    metrics=[
                        *MAXIMIZE,
                        {**SAFE, "safetyConfig": {"safetyThreshold": 1, "desiredMinSafeTrialsFraction": 2}},
                    ]
                )
            },
            f"{SPEC}.metrics[1].safety_config.desired_min_safe_trials_fraction",
            id="fraction above 1",
        ),
        pytest.param({"studySpec": {"metrics": MAXIMIZE}}, f"{SPEC}.parameters", id="no parameters"),
        pytest.param({"studySpec": study_spec(double(""))}, f"{P}.parameter_id", id="no parameter id"),
        pytest.param(
            {"studySpec": study_spec(double("a b"))}, f"{P}.parameter_id", id="parameter with a space"
        ),
        pytest.param(
            {"studySpec": study_spec(double("a"), double("a"))},
            f"{SPEC}.parameters[1].parameter_id",
            id="parameter twice",
        ),
        pytest.param({"studySpec": study_spec({"parameterId": "a"})}, P, id="no kind"),
        pytest.param(
            {"studySpec": study_spec(double("a", 2, 1))},
            f"{P}.double_value_spec.max_value",
            id="double reversed",
        ),
        pytest.param(
            {"studySpec": study_spec(integer("a", 2, 1))},
            f"{P}.integer_value_spec.max_value",
            id="integer reversed",
        ),
        pytest.param(
            {"studySpec": study_spec(double("a", "NaN", 1))},
            f"{P}.double_value_spec",
            id="not a number",  # type: ignore[arg-type]
        ),
        pytest.param(
            {"studySpec": study_spec(discrete("a"))}, f"{P}.discrete_value_spec.values", id="no values"
        ),
        pytest.param(
            {"studySpec": study_spec(discrete("a", 2, 1))},
            f"{P}.discrete_value_spec.values",
            id="not increasing",
        ),
        pytest.param(
            {"studySpec": study_spec(discrete("a", 1, 1 + 1e-12))},
            f"{P}.discrete_value_spec.values",
            id="too near to each other",
        ),
        pytest.param(
            {"studySpec": study_spec(discrete("a", *range(1001)))},
            f"{P}.discrete_value_spec.values",
            id="1001 values",
        ),
        pytest.param(
            {"studySpec": study_spec(categorical("a"))},
            f"{P}.categorical_value_spec.values",
            id="no categories",
        ),
        pytest.param(
            {"studySpec": study_spec(categorical("a", "x", "x"))},
            f"{P}.categorical_value_spec.values",
            id="category twice",
        ),
        pytest.param(
            {"studySpec": study_spec(categorical("a", "x", scaleType="UNIT_LINEAR_SCALE"))},
            f"{P}.scale_type",
            id="scale of categories",
        ),
        pytest.param(
            {"studySpec": study_spec(double("a", 0, 1, scaleType="UNIT_LOG_SCALE"))},
            f"{P}.scale_type",
            id="logarithm of 0",
        ),
        pytest.param(
            {"studySpec": study_spec(discrete("a", -1, 1, scaleType="UNIT_REVERSE_LOG_SCALE"))},
            f"{P}.scale_type",
            id="logarithm of a negative value",
        ),
        pytest.param(
            {"studySpec": study_spec(double("a"), **GRID)}, f"{P}.double_value_spec", id="grid over a double"
        ),
        pytest.param(
            {
                "studySpec": study_spec(
                    categorical("m", "x", conditionalParameterSpecs=[below(double("a"), "x")]), **GRID
                )
            },
            f"{P}.conditional_parameter_specs[0].parameter_spec.double_value_spec",
            id="grid over a conditional double",
        ),
        pytest.param(
            {
                "studySpec": study_spec(
                    categorical("m", "x", conditionalParameterSpecs=[below(double("a"), "y")])
                )
            },
            f"{P}.conditional_parameter_specs[0].parent_categorical_values.values",
            id="condition that never holds",
        ),
        pytest.param(
            {"studySpec": study_spec(integer("m", 1, 3, conditionalParameterSpecs=[below(double("a"), 4)]))},
            f"{P}.conditional_parameter_specs[0].parent_int_values.values",
            id="condition out of the range",
        ),
        pytest.param(
            {
                "studySpec": study_spec(
                    integer("m", 1, 3, conditionalParameterSpecs=[below(double("a"), "1")])
                )
            },
            f"{P}.conditional_parameter_specs[0].parent_categorical_values",
            id="condition of another kind",
        ),
        pytest.param(
            {"studySpec": study_spec(double("m", conditionalParameterSpecs=[below(double("a"), 0.5)]))},
            f"{P}.conditional_parameter_specs[0].parent_discrete_values",
            id="condition on a double",
        ),
        pytest.param(
            {
                "studySpec": study_spec(
                    categorical("m", "x", conditionalParameterSpecs=[{"parameterSpec": double("a")}])
                )
            },
            f"{P}.conditional_parameter_specs[0]",
            id="no condition",
        ),
        pytest.param(
            {
                "studySpec": study_spec(
                    categorical(
                        "m",
                        "x",
                        "y",
                        conditionalParameterSpecs=[below(double("a"), "x", "y"), below(double("a"), "y")],
                    )
                )
            },
            f"{P}.conditional_parameter_specs[1].parameter_spec.parameter_id",
            id="twice for one value",
        ),
        pytest.param(
            {
                "studySpec": study_spec(
                    categorical("m", "x", conditionalParameterSpecs=[below(double("m"), "x")])
                )
            },
            f"{P}.conditional_parameter_specs[0].parameter_spec.parameter_id",
            id="named as its parent",
        ),
        pytest.param(
            {"studySpec": study_spec(convexAutomatedStoppingSpec={"minStepCount": 5, "maxStepCount": 4})},
            f"{SPEC}.convex_automated_stopping_spec.min_step_count",
            id="least step above the last",
        ),
        pytest.param(
            {"studySpec": study_spec(convexAutomatedStoppingSpec={"learningRateParameterName": "y"})},
            f"{SPEC}.convex_automated_stopping_spec.learning_rate_parameter_name",
            id="unknown learning rate",
        ),
        pytest.param(
            {"studySpec": study_spec(studyStoppingConfig={"maxNumTrials": 0})},
            f"{SPEC}.study_stopping_config.max_num_trials",
            id="stop after no trial",
        ),
        pytest.param(
            {"studySpec": study_spec(studyStoppingConfig={"maximumRuntimeConstraint": {}})},
            f"{SPEC}.study_stopping_config.maximum_runtime_constraint",
            id="constraint without a time",
        ),
    ],
)
def test_a_job_that_is_wrong_in_one_place(changes: dict[str, Any], field: str) -> None:
    assert [path for path, _ in found(**changes)] == [field]


def test_all_violations_are_found_at_once() -> None:
    assert (
        len(found(maxTrialCount=0, parallelTrialCount=0, studySpec=study_spec(double("", 2, 1), metrics=[])))
        == 5
    )
