"""`TrainingPipeline` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from support.waiting import eventually

PARENT = "projects/local/locations/us-central1/models"
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
REPORT = """
import json, os, sys
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
depth = sys.argv[-1].rpartition("=")[2]
open(folder + "model.txt", "w").write(depth)
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
    file.write(json.dumps({"timestamp": 1.0, "trial": "1", "depth": depth, "global_step": "1"}) + "\\n")
"""
HEAD = """
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)


def task(code, **variables):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
    return vt.task_from_image(image, command=["python3", "-c", code], environment_variables=variables)


def pipeline(name, **arguments):
    made = vt.TrainingPipeline(name, staging_bucket=bucket, wait="done", **arguments)
    pulumi.export(
        name,
        {
            "model": made.model,
            "version": made.model_version,
            "completed version": made.completion["model_version"],
            "rows": made.completion["metrics"].apply(lambda metrics: (metrics or {}).get("rows")),
            "state": made.completion["state"],
        },
    )


"""
TUNING = f"""
pipeline(
    "tuning",
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
        "trial_job_spec": task({REPORT!r}),
    }},
    model_to_upload={{"display_name": "tuning", "container_spec": {{"image_uri": "{SERVING}"}}}},
    model_id="tuning",
)
"""


def declare(name: str, *, code: str = SAVE, generation: int = 1, uploads: bool = True, **more: Any) -> str:
    """Return the line of a program that declares a pipeline; a model that it uploads has the same name."""
    upload = {
        "model_to_upload": {"display_name": name, "container_spec": {"image_uri": SERVING}},
        "model_id": name,
    }
    arguments = {**(upload if uploads else {}), **more}
    return f"pipeline({name!r}, custom_task=task({code!r}, GENERATION='{generation}'), **{arguments!r})\n"


def versions(engine: Engine, model_id: str) -> list[str]:
    """Return the versions of a model, the newest first; empty if there is no such model."""
    try:
        found = models.versions(engine.endpoint(), f"{PARENT}/{model_id}")
    except NotFound:
        return []
    return [one.version for one in found]


def dataset(endpoint: Endpoint, *rows: str) -> str:
    """Make a dataset of a table in a bucket of its own, and return its id."""
    buckets.create(endpoint, {"name": "tables", "location": "us-central1"})
    objects.upload(endpoint, "tables", "rows.csv", "\n".join(["x", *rows]).encode())
    operation = rest.call(
        endpoint,
        "POST",
        f"{endpoint.vertex_url}/v1/{endpoint.parent}/datasets",
        body={
            "displayName": "rows",
            "metadataSchemaUri": "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml",
            "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://tables/rows.csv"]}}},
        },
    )
    done = rest.wait(endpoint, operation, action="create dataset rows", timeout=30)
    return str(done["response"]["name"]).rpartition("/")[2]


NAMES = ("digits", "last", "kept", "alone", "contested", "tuning", "failing")


@dataclass(kw_only=True)
class Life:
    """The output of deployments of one stack, its outputs, and the records of the service after each."""

    outputs: list[dict[str, Any]]
    replaced: Result
    failed: Result
    versions: list[dict[str, list[str]]]
    pipelines: list[list[tuple[str, str]]]
    """Name and state of each."""
    destroyed: Result


@pytest.fixture(scope="module")
def life(shared_engine: Engine) -> Life:
    engine = shared_engine
    endpoint = engine.endpoint()
    outputs: list[dict[str, Any]] = []
    found: list[dict[str, list[str]]] = []
    pipelines: list[list[tuple[str, str]]] = []

    def note() -> None:
        outputs.append(engine.outputs())
        found.append({name: versions(engine, name) for name in NAMES})
        jobs = training_pipelines.GATEWAY.list_jobs(endpoint)
        pipelines.append(sorted((one.display_name, one.state_name) for one in jobs))

    data = {
        "dataset_id": dataset(endpoint, *map(str, range(10))),
        "fraction_split": {"training_fraction": 0.6, "validation_fraction": 0.2, "test_fraction": 0.2},
    }
    steady = HEAD + TUNING + declare("last", on_delete="delete") + declare("kept", on_delete="cancel")
    steady += declare("contested", on_delete="delete") + declare("alone")
    steady += declare("data", uploads=False, input_data_config=data)
    engine.write(steady + declare("digits", on_delete="delete"))
    engine.up().ok()
    note()
    second = declare("digits", generation=2, on_delete="delete")
    engine.write(steady + second)
    replaced = engine.up().ok()
    note()
    engine.write(steady + second + declare("failing", code="raise SystemExit(3)"))
    failed = engine.up()

    # A pipeline of somebody else makes a model with the id of the stack's own.
    models.delete(endpoint, f"{PARENT}/contested")
    (ours,) = (
        one for one in training_pipelines.GATEWAY.list_jobs(endpoint) if one.display_name == "contested"
    )
    wire = {key: ours.wire[key] for key in ("trainingTaskDefinition", "trainingTaskInputs")}
    serving = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING}}
    theirs = training_pipelines.GATEWAY.create(
        endpoint, {**wire, "displayName": "theirs", "modelToUpload": serving, "modelId": "contested"}
    )
    eventually(lambda: training_pipelines.GATEWAY.get(endpoint, theirs.name).state.is_terminal)
    note()
    destroyed = engine.destroy().ok()
    note()
    return Life(
        outputs=outputs,
        replaced=replaced,
        failed=failed,
        versions=found,
        pipelines=pipelines,
        destroyed=destroyed,
    )


def test_a_pipeline_uploads_the_model_that_it_has_trained(life: Life) -> None:
    found = life.outputs[0]["digits"]
    assert found["state"] == "SUCCEEDED"
    assert found["model"].endswith("/models/digits")
    assert (found["version"], found["rows"]) == ("1", 0)


def test_a_pipeline_with_data_and_without_a_model(life: Life) -> None:
    found = life.outputs[0]["data"]
    assert (found["rows"], found.get("model"), found["state"]) == (6, None, "SUCCEEDED")


def test_a_pipeline_that_tunes(life: Life) -> None:
    found = life.outputs[0]["tuning"]
    assert (found["state"], found["completed version"]) == ("SUCCEEDED", "1")
    assert life.versions[0]["tuning"] == ["1"]


def test_another_task_replaces_the_pipeline_and_keeps_its_version(life: Life) -> None:
    output = life.replaced.output
    assert "GENERATION" in output
    assert "the pipeline is replaced" in mentions(output, "digits")
    assert "model digits@1" not in output
    assert life.outputs[1]["digits"]["version"] == "2"
    assert life.versions[1]["digits"] == ["2", "1"]
    assert [name for name, _ in life.pipelines[1]].count("digits") == 2


def test_a_pipeline_that_fails_uploads_nothing(life: Life) -> None:
    output = life.failed.failed().output
    assert "training pipeline" in output
    assert "FAILED" in output
    assert life.versions[2]["failing"] == []


def test_destroying_deletes_the_pipelines_and_with_on_delete_the_versions_that_they_made(life: Life) -> None:
    """Check that the versions of earlier runs go, too, and a model with its last version."""
    assert "model digits@2 is deleted" in life.destroyed.output
    assert "model digits@1 is deleted" in life.destroyed.output
    assert life.versions[3]["digits"] == []
    assert (life.versions[2]["last"], life.versions[3]["last"]) == (["1"], [])


def test_a_model_outlives_its_pipeline_without_on_delete(life: Life) -> None:
    assert 'model alone@1 is kept: on_delete="delete" is not set' in life.destroyed.output
    assert life.versions[3]["alone"] == ["1"]


def test_with_on_delete_cancel_pipeline_and_model_stay(life: Life) -> None:
    assert life.versions[3]["kept"] == ["1"]
    assert life.pipelines[3] == [
        ("kept", "PIPELINE_STATE_SUCCEEDED"),
        ("theirs", "PIPELINE_STATE_SUCCEEDED"),
    ]


def test_a_model_of_another_pipeline_with_the_same_id_stays(life: Life) -> None:
    assert life.versions[2]["contested"] == ["1"]
    assert "model contested@1 is deleted" not in life.destroyed.output
    assert life.versions[3]["contested"] == ["1"]
