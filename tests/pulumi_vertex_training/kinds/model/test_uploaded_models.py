from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, from_wire
from pulumi_vertex_training.kinds.training_pipeline import provider as uploaded_models
from pulumi_vertex_training.providers import ModelProvider

PLACE = "projects/1/locations/us-central1"


def record(**wire: Any) -> JobRecord:
    name = f"{PLACE}/trainingPipelines/2"
    return from_wire({"name": name, "state": "PIPELINE_STATE_RUNNING", **wire})


@pytest.mark.parametrize(
    ("wire", "found"),
    [
        pytest.param({}, {"model": None, "model_version": None}, id="before the upload"),
        pytest.param(
            {"modelToUpload": {"displayName": "d"}},
            {"model": None, "model_version": None},
            id="declared only",
        ),
        pytest.param(
            {"modelToUpload": {"name": f"{PLACE}/models/7", "versionId": "3"}},
            {"model": f"{PLACE}/models/7", "model_version": "3"},
            id="uploaded",
        ),
        pytest.param(
            {"modelToUpload": {"name": f"{PLACE}/models/7"}},
            {"model": f"{PLACE}/models/7", "model_version": None},
            id="uploaded, the version not said",
        ),
    ],
)
def test_the_outputs_of_a_pipeline(wire: dict[str, Any], found: dict[str, Any]) -> None:
    assert uploaded_models.outputs(record(**wire)) == found


@pytest.mark.parametrize(
    ("metadata", "job"),
    [
        pytest.param({}, None, id="no job yet"),
        pytest.param({"backingCustomJob": f"{PLACE}/customJobs/9"}, f"{PLACE}/customJobs/9", id="custom job"),
        pytest.param(
            {"backingHyperparameterTuningJob": f"{PLACE}/hyperparameterTuningJobs/9"}, None, id="tuning job"
        ),
    ],
)
def test_whose_log_is_shown(metadata: dict[str, Any], job: str | None) -> None:
    assert uploaded_models.log_of(record(trainingTaskMetadata=metadata)) == job


def test_the_row_of_a_pipeline_that_tunes_names_its_tuning_job() -> None:
    """Do not query a custom job."""
    metadata = {"backingHyperparameterTuningJob": f"{PLACE}/hyperparameterTuningJobs/9"}
    nowhere = Endpoint(
        kind="emulator", project="p", location="us-central1", url="http://127.0.0.1:1", token="t"
    )
    counts = uploaded_models.progress(nowhere, record(trainingTaskMetadata=metadata))
    assert counts.details == "tuning job 9"


@pytest.mark.parametrize(
    ("adopt", "refused"), [("digits@", True), ("@3", True), ("digits@3", False), ("digits", False)]
)
def test_what_is_adopted_is_a_version(adopt: str, refused: bool) -> None:
    declared = {
        "endpoint": "emulator",
        "project": "local",
        "location": "us-central1",
        "display_name": "digits",
        "artifact_uri": "gs://models/one",
        "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"},
        "marks": {"project": "training", "stack": "dev", "resource": "digits"},
        "adopt": adopt,
    }
    said = [failure.reason for failure in ModelProvider().check({}, declared).failures]
    wanted = f"adopt: {adopt!r} is not the name of a version; write MODEL@VERSION, such as digits@3"
    assert said == ([wanted] if refused else [])
