"""The outputs of `HyperparameterTuningJob` about its trials, and the check of its declaration."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.jobs import from_wire as record_of
from pulumi_vertex_training.core.running.declaration import declared_in
from pulumi_vertex_training.core.running.job_diff import completed
from pulumi_vertex_training.core.running.outcome import gone, outcome
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.provider import DECLARED as TUNING_JOB
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.provider import results, trial_counts
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import to_wire
from support.client.hashes import hash_of
from support.client.specs.tuning_job_specs import tuning_job
from vertex_training.fields.decode import UNKNOWN

ENDPOINT = Endpoint(
    kind="emulator",
    project="p",
    location="us-central1",
    url="http://127.0.0.1:1",
    storage_url="http://127.0.0.1:1",
    token="t",
)
NAME = "projects/1/locations/us-central1/hyperparameterTuningJobs/7"


def trial(number: int, state: str = "SUCCEEDED", loss: float | None = None) -> dict[str, Any]:
    metrics = [{"metricId": "loss", "value": loss}] if loss is not None else []
    return {
        "id": str(number),
        "state": state,
        "parameters": [{"parameterId": "rate", "value": 0.5}],
        "finalMeasurement": {"metrics": metrics},
    }


def record(*trials: dict[str, Any], state: str = "JOB_STATE_RUNNING") -> JobRecord:
    return record_of({**to_wire(tuning_job()), "name": NAME, "state": state, "trials": list(trials)})


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        pytest.param([], "0/4 trials", id="none yet"),
        pytest.param([trial(1, "ACTIVE")], "0/4 trials, 1 running", id="the first"),
        pytest.param(
            [trial(1, loss=0.5), trial(2, "STOPPING")],
            "1/4 trials, 1 running, best loss 0.5 (trial 1)",
            id="one is done",
        ),
        pytest.param(
            [trial(1, loss=0.5), trial(2, "INFEASIBLE"), trial(3, loss=0.123456789)],
            "3/4 trials, 1 failed, best loss 0.123457 (trial 3)",
            id="one failed",
        ),
        pytest.param([trial(1)], "1/4 trials", id="one without a metric"),
        pytest.param([trial(1, "REQUESTED")], "0/4 trials", id="one is to begin"),
    ],
)
def test_how_far_it_is(trials: list[dict[str, Any]], words: str) -> None:
    assert ", ".join(filter(None, trial_counts(ENDPOINT, record(*trials)))) == words


def test_the_model_of_the_job_is_that_of_its_best_trial() -> None:
    ended = record(trial(1, loss=0.5), trial(2, loss=0.25), state="JOB_STATE_SUCCEEDED")
    found = outcome(ended, "gs://b/out/", TUNING_JOB) | results(ENDPOINT, ended, "gs://b/out/")
    assert found["model_directory"] == found["best_trial"]["model_directory"] == "gs://b/out/2/model/"
    assert [one["id"] for one in found["trials"]] == ["1", "2"]


def test_a_job_without_a_best_trial_has_no_model() -> None:
    ended = record(trial(1, "INFEASIBLE"), state="JOB_STATE_FAILED")
    found = outcome(ended, "gs://b/out/", TUNING_JOB) | results(ENDPOINT, ended, "gs://b/out/")
    assert (found["best_trial"], found["model_directory"]) == (None, None)


def test_a_job_that_is_gone_has_no_trials() -> None:
    found = gone(NAME, TUNING_JOB)
    assert (found["state"], found["trials"], found["best_trial"]) == ("GONE", [], None)


def test_a_name_tells_the_kind() -> None:
    assert declared_in("hyperparameterTuningJobs") is TUNING_JOB


RATE = {"parameter_id": "rate", "double_value_spec": {"min_value": 0.001, "max_value": 0.1}}


def props(**more: Any) -> dict[str, Any]:
    """Return the inputs as Pulumi passes them: every number is a float."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1.0,
        "container_spec": {"image_uri": "python:3.11"},
    }
    return {
        "display_name": "search",
        "study_spec": {"metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}], "parameters": [RATE]},
        "max_trial_count": 8.0,
        "parallel_trial_count": 2.0,
        "trial_job_spec": {"worker_pool_specs": [pool]},
        "endpoint": "google",
        "project": "my-project",
        "location": "us-central1",
        "marks": {"resource": "search", "stack": "s", "project": "p"},
        **more,
    }


def problems(**more: Any) -> list[str]:
    return [problem.rule for problem in TUNING_JOB.decode_inputs(props(**more)).problems]


def test_a_declaration_that_is_right() -> None:
    assert problems(staging_bucket="staging") == []


def test_without_a_staging_bucket_the_models_have_no_place() -> None:
    assert problems() == ["trial-output"]


def test_a_staging_bucket_that_is_not_known_yet_is_one() -> None:
    assert problems(staging_bucket=UNKNOWN) == []


@pytest.mark.parametrize("bucket", ["b x", "Staging", "s3://staging", "st", "b x/prefix"])
def test_a_staging_bucket_that_cannot_be_one_is_refused_in_the_preview(bucket: str) -> None:
    (problem,) = TUNING_JOB.decode_inputs(props(staging_bucket=bucket)).problems
    assert (problem.path, problem.rule) == ("staging_bucket", "output-directory")


def test_a_staging_bucket_with_a_prefix() -> None:
    assert problems(staging_bucket="staging/of-mine") == []


def test_each_run_has_a_directory_of_its_own() -> None:
    inputs = TUNING_JOB.decode_inputs(props(staging_bucket="staging")).spec
    assert inputs is not None
    wire = TUNING_JOB.wire(TUNING_JOB.of_run(inputs, "beef-1"))
    assert wire["trialJobSpec"]["baseOutputDirectory"] == {"outputUriPrefix": "gs://staging/search/beef-1/"}


def test_what_check_returns_is_checked_to_the_same_again() -> None:
    inputs = TUNING_JOB.decode_inputs(props(staging_bucket="staging")).spec
    assert inputs is not None
    checked = completed(TUNING_JOB, inputs, frozenset())
    again = TUNING_JOB.decode_inputs(checked).spec
    assert again is not None
    assert completed(TUNING_JOB, again, frozenset()) == checked


def study(**more: Any) -> dict[str, Any]:
    return {"study_spec": {**props()["study_spec"], **more}}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param(study(algorithm="ALGORITHM_UNSPECIFIED"), True, id="the service's algorithm"),
        pytest.param(study(algorithm=3.0), False, id="an algorithm by number"),
        pytest.param(study(measurement_selection_type="LAST_MEASUREMENT"), True, id="the last measurement"),
        pytest.param({"max_trial_count": 8}, True, id="a whole number"),
        pytest.param({"max_trial_count": 9.0}, False, id="another number of trials"),
        pytest.param({"marks": {}}, True, id="the marks"),
        pytest.param({"staging_bucket": "staging"}, False, id="a bucket for the output"),
    ],
)
def test_what_is_a_new_run(change: dict[str, Any], same: bool) -> None:
    assert (hash_of(TUNING_JOB, props(**change)) == hash_of(TUNING_JOB, props())) is same


def test_camel_case_is_the_same_declaration() -> None:
    camel = {
        "metrics": [{"metricId": "loss", "goal": 2.0}],
        "parameters": [{"parameterId": "rate", "doubleValueSpec": {"minValue": 0.001, "maxValue": 0.1}}],
    }
    assert hash_of(TUNING_JOB, props(study_spec=camel)) == hash_of(TUNING_JOB, props())


def test_a_bound_that_is_not_known_yet_is_no_finding() -> None:
    bounds = {"min_value": 1.0, "max_value": UNKNOWN}
    parameter = {"parameter_id": "rate", "double_value_spec": bounds}
    assert problems(staging_bucket="staging", **study(parameters=[parameter])) == []


def test_the_request_is_the_api_s_message_with_marks() -> None:
    inputs = TUNING_JOB.decode_inputs(props(staging_bucket="staging")).spec
    wire = TUNING_JOB.wire(inputs)
    assert wire["labels"]["pulumi-resource"] == "search"
    assert wire["studySpec"]["parameters"][0]["doubleValueSpec"] == {"minValue": 0.001, "maxValue": 0.1}
    assert (wire["maxTrialCount"], wire["parallelTrialCount"]) == (8, 2)
    assert "maxFailedTrialCount" not in wire
