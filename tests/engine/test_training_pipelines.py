"""`TrainingPipeline` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from typing import Any

import pytest

from support.engine import Engine
from support.waiting import eventually
from vertex_training.cloud import models, objects, operations, rest, training_pipelines
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import NotFound
from vertex_training.cloud.jobs import JobRecord

MODEL = "projects/local/locations/us-central1/models/digits"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
SAVE = """
import glob, json, os
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
data = os.environ.get("AIP_TRAINING_DATA_URI", "").replace("gs://", "/gcs/", 1)
rows = sum(len(open(name).read().split()) - 1 for name in glob.glob(data)) if data else 0
open(folder + "model.txt", "w").write(str(rows))
json.dump({"rows": rows}, open(folder + "metrics.json", "w"))
print("trained")
"""
PROGRAM = """
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
pipeline = vt.TrainingPipeline(
    "digits",
    custom_task=vt.task_from_image(
        "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest",
        command=["python3", "-c", {code!r}],
        environment_variables={{"GENERATION": {generation!r}}},
    ),
    staging_bucket=bucket,
    wait="done",
    **{arguments!r},
)
pulumi.export("id", pipeline.id)
pulumi.export("model", pipeline.model)
pulumi.export("version", pipeline.model_version)
pulumi.export("rows", pipeline.completion["metrics"]["rows"])
pulumi.export("state", pipeline.completion["state"])
"""
UPLOADED = {
    "model_to_upload": {"display_name": "digits", "container_spec": {"image_uri": SERVING}},
    "model_id": "digits",
}


def write(engine: Engine, *, code: str = SAVE, generation: int = 1, **arguments: Any) -> None:
    engine.write(PROGRAM.format(code=code, generation=str(generation), arguments=arguments))


def versions(engine: Engine) -> list[str]:
    return [one.version for one in models.versions(engine.endpoint(), MODEL)]


def pipelines(engine: Engine) -> list[JobRecord]:
    return training_pipelines.GATEWAY.list_jobs(engine.endpoint())


def dataset(endpoint: Endpoint, *rows: str) -> str:
    """A table in the bucket as a dataset; its id."""
    objects.upload(endpoint, "staging", "rows.csv", "\n".join(["x", *rows]).encode())
    operation = rest.call(
        endpoint,
        "POST",
        f"{endpoint.vertex_url}/v1/{endpoint.parent}/datasets",
        body={
            "displayName": "rows",
            "metadataSchemaUri": "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml",
            "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://staging/rows.csv"]}}},
        },
    )
    done = operations.wait(endpoint, operation, action="create dataset rows", timeout=30)
    return str(done["response"]["name"]).rpartition("/")[2]


def test_the_life_of_a_pipeline(engine: Engine) -> None:
    write(engine, **UPLOADED)
    engine.up().ok()
    found = engine.outputs()
    assert found["state"] == "SUCCEEDED"
    assert found["model"].endswith("/models/digits")
    assert (found["version"], found["rows"]) == ("1", 0)
    assert "unchanged" in engine.up().ok().output
    refresh = ("refresh", "--yes", "--skip-preview", "--non-interactive")
    assert "unchanged" in engine.run(*refresh).ok().output

    write(engine, generation=2, **UPLOADED)
    planned = engine.preview("--diff").ok().output
    assert "GENERATION" in planned
    assert "the pipeline is replaced" in planned
    output = engine.up().ok().output
    assert "model digits@1 is kept" in output
    assert engine.outputs()["version"] == "2"
    assert versions(engine) == ["2", "1"]
    assert len(pipelines(engine)) == 1

    output = engine.destroy().ok().output
    assert "model digits@2 is deleted" in output
    assert versions(engine) == ["1"]
    assert pipelines(engine) == []


def test_a_pipeline_with_data_and_without_a_model(engine: Engine) -> None:
    engine.write('vt.StagingBucket("staging", name="staging", force_destroy=True)')
    engine.up().ok()
    rows = dataset(engine.endpoint(), *map(str, range(10)))
    data = {
        "dataset_id": rows,
        "fraction_split": {"training_fraction": 0.6, "validation_fraction": 0.2, "test_fraction": 0.2},
    }
    write(engine, input_data_config=data)
    engine.up().ok()
    found = engine.outputs()
    assert (found["rows"], found.get("model"), found["state"]) == (6, None, "SUCCEEDED")
    assert "unchanged" in engine.up().ok().output
    assert engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    assert "unchanged" in engine.up().ok().output


def test_destroying_deletes_the_last_version_with_its_model(engine: Engine) -> None:
    write(engine, **UPLOADED)
    engine.up().ok()
    engine.destroy().ok()
    with pytest.raises(NotFound):
        versions(engine)


def test_with_on_delete_cancel_pipeline_and_model_stay(engine: Engine) -> None:
    write(engine, on_delete="cancel", **UPLOADED)
    engine.up().ok()
    engine.destroy().ok()
    assert versions(engine) == ["1"]
    assert [one.state_name for one in pipelines(engine)] == ["PIPELINE_STATE_SUCCEEDED"]


def test_a_pipeline_that_fails_uploads_nothing(engine: Engine) -> None:
    write(engine, code="raise SystemExit(3)", **UPLOADED)
    output = engine.up().failed().output
    assert "training pipeline" in output
    assert "FAILED" in output
    with pytest.raises(NotFound):
        versions(engine)


def test_every_mistake_is_found_in_the_preview(engine: Engine) -> None:
    write(
        engine,
        model_to_upload={"display_name": "digits"},
        input_data_config={
            "dataset_id": "1",
            "fraction_split": {"training_fraction": 80},
            "predefined_split": {"key": ""},
        },
        model_id="Digits",
    )
    output = engine.preview().failed().output
    for words in (
        "container_spec: is missing, and a model is uploaded",
        "80 is no fraction",
        "fraction_split and predefined_split are given",
        "'' is no column",
        "'Digits' is no id",
    ):
        assert words in output


def test_a_model_of_another_pipeline_with_the_same_id_stays(engine: Engine) -> None:
    write(engine, **UPLOADED)
    engine.up().ok()
    models.delete(engine.endpoint(), MODEL)
    (ours,) = pipelines(engine)
    wire = {key: ours.wire[key] for key in ("displayName", "trainingTaskDefinition", "trainingTaskInputs")}
    serving = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING}}
    theirs = training_pipelines.GATEWAY.create(
        engine.endpoint(), {**wire, "modelToUpload": serving, "modelId": "digits"}
    )
    eventually(lambda: training_pipelines.GATEWAY.get(engine.endpoint(), theirs.name).state.is_terminal)
    assert versions(engine) == ["1"]
    output = engine.destroy().ok().output
    assert "is deleted with the pipeline" not in output
    assert versions(engine) == ["1"]


TUNING = """
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
pipeline = vt.TrainingPipeline(
    "digits",
    tuning_task={{
        "study_spec": {{
            "metrics": [{{"metric_id": "depth", "goal": "MAXIMIZE"}}],
            "parameters": [
                {{"parameter_id": "depth", "integer_value_spec": {{"min_value": 1, "max_value": 2}}}}
            ],
            "algorithm": "GRID_SEARCH",
        }},
        "max_trial_count": 2,
        "parallel_trial_count": 2,
        "trial_job_spec": vt.task_from_image(
            "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest",
            command=["python3", "-c", {code!r}],
        ),
    }},
    staging_bucket=bucket,
    wait="done",
    **{arguments!r},
)
pulumi.export("state", pipeline.completion["state"])
pulumi.export("version", pipeline.completion["model_version"])
"""
REPORT = """
import os, sys
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
depth = sys.argv[-1].rpartition("=")[2]
open(folder + "model.txt", "w").write(depth)
import json
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
    file.write(json.dumps({"timestamp": 1.0, "trial": "1", "depth": depth, "global_step": "1"}) + "\\n")
"""


def test_a_pipeline_that_tunes(engine: Engine) -> None:
    engine.write(TUNING.format(code=REPORT, arguments=UPLOADED))
    engine.up().ok()
    assert engine.outputs()["state"] == "SUCCEEDED"
    assert "unchanged" in engine.up().ok().output
