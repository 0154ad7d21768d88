"""The variables that all replicas share: names, directories, TensorBoard, experiment."""

from __future__ import annotations

import pytest

from support.ground.jobs import pool
from support.ground.specs.environment_views import CONTRACTS, JOB_ID, environment

TENSORBOARD = "projects/116273516712/locations/europe-west4/tensorboards/8468983914898128896"
CONTEXTS = "projects/p/locations/us-central1/metadataStores/default/contexts"


def named(prefix: str, **fields) -> dict[str, str]:
    found = environment(pool(), pool(), pool=1, **fields)
    return {name: value for name, value in found.items() if name.startswith(prefix)}


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CLOUD_ML_PROJECT_ID", "116273516712"),
        ("CLOUD_ML_JOB_ID", JOB_ID),
        ("CLOUD_ML_REGION", "us-central1"),
    ],
)
def test_the_job_and_its_place(name, value, contract):
    assert environment(pool(), contract=contract)[name] == value


@pytest.mark.parity("Custom jobs: the output directory")
@pytest.mark.parametrize("directory", ["gs://b/out", "gs://b/out/", "gs://b/out//"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AIP_MODEL_DIR", "gs://b/out/model/"),
        ("AIP_CHECKPOINT_DIR", "gs://b/out/checkpoints/"),
        ("AIP_TENSORBOARD_LOG_DIR", "gs://b/out/logs/"),
    ],
)
def test_output_directories(directory, name, value):
    assert environment(pool(), base_output_directory=directory)[name] == value


def test_a_bucket_is_a_directory():
    assert environment(pool(), base_output_directory="gs://b")["AIP_MODEL_DIR"] == "gs://b/model/"


@pytest.mark.parametrize("directory", [None, ""])
def test_no_directories_without_an_output_directory(directory):
    assert named("AIP_", base_output_directory=directory) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AIP_TENSORBOARD_RESOURCE_NAME", TENSORBOARD),
        ("AIP_TENSORBOARD_API_URI", "europe-west4-aiplatform.googleapis.com"),
    ],
)
def test_tensorboard(name, value):
    assert named("AIP_TENSORBOARD_", tensorboard=TENSORBOARD)[name] == value


def test_a_tensorboard_without_a_region_is_in_the_jobs():
    found = named("AIP_", tensorboard="mine")
    assert found["AIP_TENSORBOARD_API_URI"] == "us-central1-aiplatform.googleapis.com"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"experiment": "e"}, {"AIP_EXPERIMENT_NAME": "e"}, id="experiment"),
        pytest.param(
            {"experiment": f"{CONTEXTS}/e", "experiment_run": f"{CONTEXTS}/e-r"},
            {"AIP_EXPERIMENT_NAME": f"{CONTEXTS}/e", "AIP_EXPERIMENT_RUN_NAME": f"{CONTEXTS}/e-r"},
            id="experiment and run",
        ),
    ],
)
def test_the_experiment(fields, expected):
    assert named("AIP_EXPERIMENT", **fields) == expected


@pytest.mark.parametrize("name", ["AIP_HTTP_HANDLER_PORT", "AIP_TF_PROFILER_PORT", "TPU_CONFIG"])
def test_values_that_only_the_service_knows_are_absent(name):
    fields = {"enable_web_access": True, "enable_dashboard_access": True, "tensorboard": TENSORBOARD}
    assert name not in environment(pool(), **fields)
