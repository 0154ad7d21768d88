"""Training pipelines of the emulator, with real processes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from support.emulated.job_emulator import PARENT, SLEEP
from support.emulated.services.pipelines import SAVE, SERVING, Pipelines, pipeline, serving

CAPTURED = (
    "Unable to parse `training_pipeline.training_task_inputs` into custom task `inputs` defined in the file: "
    "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
)
PIPELINES = f"{PARENT}/trainingPipelines"


@pytest.mark.parity("Training pipelines: custom task", same="a normal custom job, with logs")
@pytest.mark.parity("Training pipelines: model to upload", own_way="the same; the files stay where they are")
def test_a_pipeline_trains_and_uploads_its_model(pipelines: Pipelines) -> None:
    created = pipelines.done("POST", PIPELINES, pipeline(SAVE, modelToUpload=serving()))
    assert created["state"] == "PIPELINE_STATE_PENDING"
    assert created["createTime"] == created["updateTime"]
    assert "trainingTaskMetadata" not in created
    over = pipelines.wait(created["name"])
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED"
    assert over["createTime"] <= over["startTime"] <= over["endTime"]
    job = pipelines.get(over["trainingTaskMetadata"]["backingCustomJob"])
    assert (job["displayName"], job["state"]) == ("train-custom-job", "JOB_STATE_SUCCEEDED")
    model = pipelines.get(over["modelToUpload"]["name"])
    assert model["trainingPipeline"] == over["name"]
    assert model["artifactUri"] == "gs://work/out/model"
    assert (model["versionId"], model["versionAliases"]) == ("1", ["default"])
    assert pipelines.read(f"{model['artifactUri']}/model.bin") == b"trained"


def test_without_a_model_the_training_is_all(pipelines: Pipelines) -> None:
    over = pipelines.wait(pipelines.create(pipeline("print('trained')")))
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED"
    assert "modelToUpload" not in over
    assert pipelines.printed(over) == ["trained"]
    assert pipelines.done("GET", f"{PARENT}/models") == {}


@pytest.mark.parity("Training pipelines: custom task")
def test_the_error_of_the_job_is_that_of_the_pipeline(pipelines: Pipelines) -> None:
    over = pipelines.wait(pipelines.create(pipeline("raise SystemExit(3)", modelToUpload=serving())))
    job = pipelines.get(over["trainingTaskMetadata"]["backingCustomJob"])
    assert over["state"] == "PIPELINE_STATE_FAILED"
    assert over["error"] == job["error"]
    assert "non-zero status of 3" in over["error"]["message"]
    assert pipelines.done("GET", f"{PARENT}/models") == {}


@pytest.mark.parity("Training pipelines: model to upload")
def test_a_training_that_leaves_no_files_fails(pipelines: Pipelines) -> None:
    over = pipelines.wait(pipelines.create(pipeline("", modelToUpload=serving())))
    assert over["state"] == "PIPELINE_STATE_FAILED"
    assert over["error"] == {"code": 9, "message": 'There are no files under "gs://work/out/model" to copy.'}


def test_the_artifact_uri_precedes_the_directory(pipelines: Pipelines) -> None:
    pipelines.put("elsewhere/model.bin", "there")
    body = pipeline("", modelToUpload=serving(artifactUri="gs://work/elsewhere"))
    over = pipelines.wait(pipelines.create(body))
    assert pipelines.get(over["modelToUpload"]["name"])["artifactUri"] == "gs://work/elsewhere"


@pytest.mark.parity("Training pipelines: model to upload")
def test_a_further_version_of_a_model(pipelines: Pipelines) -> None:
    first = pipelines.wait(pipelines.create(pipeline(SAVE, modelToUpload=serving(), modelId="my-model")))
    name = first["modelToUpload"]["name"]
    assert name.endswith("/models/my-model")
    model = serving(versionAliases=["golden"], versionDescription="better")
    second = pipelines.wait(pipelines.create(pipeline(SAVE, modelToUpload=model, parentModel=name)))
    assert (second["modelToUpload"]["name"], second["modelToUpload"]["versionId"]) == (name, "2")
    assert pipelines.get(name)["versionId"] == "1"
    golden = pipelines.get(f"{name}@golden")
    assert (golden["versionId"], golden["versionDescription"]) == ("2", "better")


@pytest.mark.parity(
    "Training pipelines: cancel and delete of pipelines",
    same="with a captured message; that a live pipeline cannot be deleted is our rule",
)
def test_cancelling_a_pipeline_cancels_its_job(pipelines: Pipelines) -> None:
    name = pipelines.create(pipeline(SLEEP))
    pipelines.wait(name, "PIPELINE_STATE_RUNNING")
    assert pipelines.done("POST", f"/v1/{name}:cancel", {}) == {}
    over = pipelines.wait(name)
    assert over["state"] == "PIPELINE_STATE_CANCELLED"
    assert over["error"]["code"] == 1
    job = pipelines.get(over["trainingTaskMetadata"]["backingCustomJob"])
    assert job["state"] == "JOB_STATE_CANCELLED"


@pytest.mark.parity("Training pipelines: cancel and delete of pipelines")
def test_an_ended_pipeline_cannot_be_cancelled(pipelines: Pipelines) -> None:
    name = pipelines.create(pipeline("raise SystemExit(1)"))
    pipelines.wait(name)
    error = pipelines.refused("POST", f"/v1/{name}:cancel", {})
    assert (error["code"], error["status"]) == (400, "FAILED_PRECONDITION")
    assert error["message"] == (
        f'The TrainingPipeline "{name}" is in state PIPELINE_STATE_FAILED and cannot be canceled.'
    )


@pytest.mark.parity("Training pipelines: cancel and delete of pipelines")
def test_deleting(pipelines: Pipelines) -> None:
    name = pipelines.create(pipeline(SLEEP))
    assert pipelines.refused("DELETE", f"/v1/{name}")["status"] == "FAILED_PRECONDITION"
    pipelines.done("POST", f"/v1/{name}:cancel", {})
    over = pipelines.wait(name)
    assert pipelines.operation("DELETE", f"/v1/{name}")["done"] is True
    assert pipelines.refused("GET", f"/v1/{name}")["status"] == "NOT_FOUND"
    assert pipelines.refused("DELETE", f"/v1/{name}")["status"] == "NOT_FOUND"
    assert pipelines.get(over["trainingTaskMetadata"]["backingCustomJob"])["state"] == "JOB_STATE_CANCELLED"


@pytest.mark.parity("Training pipelines: list of pipelines", same="all of them, with read masks")
@pytest.mark.parametrize(
    ("query", "count"),
    [
        pytest.param("", 2, id="all"),
        pytest.param('state="PIPELINE_STATE_SUCCEEDED"', 1, id="state"),
        pytest.param("training_task_definition:*custom_task*", 2, id="task"),
        pytest.param("training_task_definition:*automl*", 0, id="another-task"),
    ],
)
def test_lists(listed: Pipelines, query: str, count: int) -> None:
    found = listed.done("GET", f"{PIPELINES}?filter={quote(query)}&readMask=displayName")
    assert len(found.get("trainingPipelines", [])) == count
    assert all(set(each) == {"displayName"} for each in found.get("trainingPipelines", []))


BAD = [
    pytest.param({"displayName": ""}, 400, "display_name", id="no-name"),
    pytest.param({"trainingTaskDefinition": ""}, 400, "training_task_definition", id="no-task"),
    pytest.param(
        {"trainingTaskDefinition": "gs://x/automl_tables_1.0.0.yaml"}, 400, "automl_tables", id="automl"
    ),
    pytest.param({"trainingTaskInputs": {"workerPoolSpecs": {}}}, 400, CAPTURED, id="inputs"),
    pytest.param(
        {"trainingTaskInputs": {"workerPoolSpecs": [{}]}},
        400,
        "training_task_inputs.worker_pool_specs[0].replica_count",
        id="no-chief",
    ),
    pytest.param({"labels": {"A": "b"}}, 400, "training_pipeline.labels", id="labels"),
    pytest.param(
        {"modelToUpload": {"displayName": "m"}}, 400, "container_spec.image_uri", id="no-serving-container"
    ),
    pytest.param(
        {"modelToUpload": {"containerSpec": {"imageUri": SERVING}}},
        400,
        "model_to_upload.display_name",
        id="a-model-without-a-name",
    ),
    pytest.param({"modelToUpload": serving(), "modelId": "1x"}, 400, "Field: model_id", id="model-id"),
    pytest.param(
        {"modelToUpload": serving(), "parentModel": "projects/local/locations/us-central1/models/nobody"},
        404,
        "The Model does not exist",
        id="no-parent",
    ),
    pytest.param(
        {"inputDataConfig": {"datasetId": "7", "gcsDestination": {"outputUriPrefix": "gs://work/d"}}},
        404,
        "The Dataset does not exist",
        id="no-dataset",
    ),
]


@pytest.mark.parametrize(("fields", "status", "text"), BAD)
def test_invalid_pipelines(idle: Pipelines, fields: dict[str, Any], status: int, text: str) -> None:
    error = idle.refused("POST", PIPELINES, {**pipeline(), **fields})
    assert (error["code"], text in error["message"]) == (status, True), error
    assert idle.done("GET", PIPELINES) == {}


def test_a_model_without_a_folder_is_rejected(idle: Pipelines) -> None:
    body = pipeline(modelToUpload=serving())
    del body["trainingTaskInputs"]["baseOutputDirectory"]
    assert "The folder of the model is unknown" in idle.refused("POST", PIPELINES, body)["message"]


def test_an_id_in_use_is_rejected(pipelines: Pipelines) -> None:
    pipelines.upload(serving(), modelId="mine")
    error = pipelines.refused("POST", PIPELINES, pipeline(modelToUpload=serving(), modelId="mine"))
    assert error["status"] == "ALREADY_EXISTS"


def test_a_reset_ends_pipelines_and_forgets_models(pipelines: Pipelines) -> None:
    pipelines.upload(serving())
    name = pipelines.create(pipeline(SLEEP))
    pipelines.wait(name, "PIPELINE_STATE_RUNNING")
    assert pipelines.call("POST", "/_local/reset", {}).status == 200
    assert pipelines.done("GET", PIPELINES) == {}
    assert pipelines.done("GET", f"{PARENT}/models") == {}
    assert pipelines.done("GET", "/_local/jobs") == {"jobs": []}
