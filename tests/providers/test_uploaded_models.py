from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training import uploaded_models
from pulumi_vertex_training.resources.model import _id_of
from vertex_training.cloud.jobs import JobRecord, from_wire

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
    ("metadata", "job_id"),
    [
        pytest.param({}, None, id="no job yet"),
        pytest.param({"backingCustomJob": f"{PLACE}/customJobs/9"}, "9", id="custom job"),
        pytest.param(
            {"backingHyperparameterTuningJob": f"{PLACE}/hyperparameterTuningJobs/9"}, None, id="tuning job"
        ),
    ],
)
def test_whose_log_is_shown(metadata: dict[str, Any], job_id: str | None) -> None:
    assert uploaded_models.log_of(record(trainingTaskMetadata=metadata)) == job_id


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("digits", "digits"),
        ("Digits of Alice", "digits-of-alice"),
        ("7digits", "model-7digits"),
        ("x" * 70, "x" * 63),
    ],
)
def test_the_id_of_a_model_by_the_name_of_its_resource(name: str, model_id: str) -> None:
    assert _id_of(name) == model_id
