from __future__ import annotations

import pytest
from google.cloud.aiplatform_v1 import HyperparameterTuningJob, StudySpec, Trial
from google.protobuf import json_format

from support.ground.specs.tuning_specs import RATE, study
from vertex_training.study.study import IntegerValueSpec, MetricSpec, ParameterSpec, SafetyMetricConfig
from vertex_training.study.trials import as_output, best_as_output, best_trial, read_trials

LOSS = MetricSpec(metric_id="loss", goal="MINIMIZE")
ACCURACY = MetricSpec(metric_id="accuracy", goal="MAXIMIZE")
FAST = MetricSpec(
    metric_id="seconds", goal="MINIMIZE", safety_config=SafetyMetricConfig(safety_threshold=2.0)
)
LAYERS = ParameterSpec(parameter_id="layers", integer_value_spec=IntegerValueSpec(min_value=1, max_value=8))


def metrics_of(values):
    return [{"metricId": name, "value": value} for name, value in values.items()]


def trial(number, state="SUCCEEDED", *, parameters=None, measurements=(), **metrics):
    """Return a trial in the API's JSON."""
    return {
        "id": str(number),
        "state": state,
        "parameters": [{"parameterId": n, "value": v} for n, v in (parameters or {}).items()],
        "finalMeasurement": {"stepCount": "9", "metrics": metrics_of(metrics)} if metrics else None,
        "measurements": [
            {"stepCount": str(i), "metrics": metrics_of(each)} for i, each in enumerate(measurements, start=1)
        ],
    }


def best(spec, *trials):
    found = best_trial(read_trials({"trials": list(trials)}, spec), spec)
    return found and found.id


@pytest.mark.parametrize(
    ("spec", "trials", "wanted"),
    [
        pytest.param(study(), [trial(1, loss=3), trial(2, loss=1), trial(3, loss=2)], "2", id="the least"),
        pytest.param(
            study(metrics=(ACCURACY,)), [trial(1, accuracy=0.5), trial(2, accuracy=0.9)], "2", id="the most"
        ),
        pytest.param(study(), [trial(2, loss=1), trial(1, loss=1)], "1", id="the earlier of two"),
        pytest.param(study(), [trial(10, loss=1), trial(9, loss=1)], "9", id="earlier by number"),
        pytest.param(study(), [], None, id="no trials"),
        pytest.param(study(), [trial(1)], None, id="no metric"),
        pytest.param(study(), [trial(1, accuracy=1)], None, id="another metric"),
        pytest.param(study(), [trial(1, "ACTIVE", loss=0), trial(2, loss=1)], "2", id="one that runs"),
        pytest.param(study(), [trial(1, "INFEASIBLE", loss=0), trial(2, loss=1)], "2", id="one that failed"),
        pytest.param(study(), [trial(1, loss="NaN"), trial(2, loss=5)], "2", id="not a number"),
        pytest.param(study(), [trial(1, loss="-Infinity"), trial(2, loss=5)], "2", id="infinity"),
        pytest.param(study(), [trial(1, loss=0), trial(2, loss=5)], "1", id="a zero"),
        pytest.param(
            study(metrics=(LOSS, ACCURACY)),
            [trial(1, loss=1, accuracy=0.1), trial(2, loss=2, accuracy=0.9)],
            "1",
            id="the first of two metrics",
        ),
        pytest.param(
            study(metrics=(FAST, LOSS)),
            [trial(1, loss=1, seconds=3), trial(2, loss=2, seconds=2)],
            "2",
            id="only what is safe",
        ),
        pytest.param(
            study(metrics=(FAST, LOSS)), [trial(1, loss=1)], None, id="what does not say that it is safe"
        ),
    ],
)
def test_the_best_trial(spec, trials, wanted):
    assert best(spec, *trials) == wanted


@pytest.mark.parametrize(
    ("selection", "step", "value"),
    [("BEST_MEASUREMENT", 2, 0.5), ("LAST_MEASUREMENT", 3, 0.7), (None, 3, 0.7)],
)
def test_the_measurement_without_a_final_one(selection, step, value):
    spec = study(measurement_selection_type=selection)
    reported = [{"loss": 0.9}, {"loss": 0.5}, {"loss": 0.7}]
    (found,) = read_trials({"trials": [trial(1, "ACTIVE", measurements=reported)]}, spec)
    assert (found.step_count, found.metrics) == (step, {"loss": value})


def test_the_final_measurement_wins():
    spec = study(measurement_selection_type="BEST_MEASUREMENT")
    (found,) = read_trials({"trials": [trial(1, measurements=[{"loss": 0.1}], loss=0.3)]}, spec)
    assert found.metrics == {"loss": 0.3}


def test_values_of_integer_parameters_are_whole_numbers():
    wire = {"trials": [trial(1, parameters={"layers": 3.0, "rate": 1.0, "model": "dnn"})]}
    (found,) = read_trials(wire, study(LAYERS, RATE))
    assert [(name, type(value)) for name, value in found.parameters.items()] == [
        ("layers", int),
        ("rate", float),
        ("model", str),
    ]


def test_trials_are_in_the_order_of_their_numbers():
    found = read_trials({"trials": [trial(10), trial(9), trial(1)]}, study())
    assert [one.id for one in found] == ["1", "9", "10"]


def test_google_s_own_message_of_a_trial_is_read():
    message = HyperparameterTuningJob(
        trials=[
            Trial(
                id="1",
                state=Trial.State.SUCCEEDED,
                parameters=[Trial.Parameter(parameter_id="layers", value=3)],
                final_measurement={"step_count": 5, "metrics": [{"metric_id": "loss", "value": 0.0}]},
                custom_job="projects/1/locations/us-central1/customJobs/2",
                infeasible_reason="",
            )
        ]
    )
    wire = json_format.MessageToDict(HyperparameterTuningJob.pb(message))
    (found,) = read_trials(wire, study(LAYERS))
    assert (found.parameters, found.metrics, found.step_count) == ({"layers": 3}, {"loss": 0.0}, 5)


def test_the_states_are_those_of_the_installed_api():
    assert "SUCCEEDED" in Trial.State.__members__
    assert "GOAL_TYPE_UNSPECIFIED" in StudySpec.MetricSpec.GoalType.__members__


def test_a_trial_as_output():
    (found,) = read_trials({"trials": [trial(2, parameters={"rate": 0.5}, loss=0.25)]}, study())
    assert as_output(found, "gs://b/out/") == {
        "id": "2",
        "state": "SUCCEEDED",
        "parameters": {"rate": 0.5},
        "metrics": {"loss": 0.25},
        "step_count": 9,
        "start_time": None,
        "end_time": None,
        "infeasible_reason": None,
        "custom_job": None,
        "model_directory": "gs://b/out/2/model/",
    }


def test_the_best_trial_as_output():
    (found,) = read_trials({"trials": [trial(2, parameters={"rate": 0.5}, loss=0.25)]}, study())
    assert best_as_output(found, study(), "gs://b/out") == {
        "id": "2",
        "parameters": {"rate": 0.5},
        "metric_id": "loss",
        "metric": 0.25,
        "model_directory": "gs://b/out/2/model/",
    }


@pytest.mark.parametrize(
    ("state", "base"), [("INFEASIBLE", "gs://b/out/"), ("ACTIVE", "gs://b/out/"), ("SUCCEEDED", None)]
)
def test_a_trial_without_a_model_has_no_directory(state, base):
    (found,) = read_trials({"trials": [trial(1, state)]}, study())
    assert as_output(found, base)["model_directory"] is None
