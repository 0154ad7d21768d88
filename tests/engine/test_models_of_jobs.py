"""No model is lost when what it came from is replaced, on the real Pulumi CLI and an emulator."""

from __future__ import annotations

import pytest

from support.engine import Engine
from vertex_training.cloud import models, training_pipelines
from vertex_training.cloud.errors import NotFound

SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
SAVE = """
import os
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
open(folder + "model.txt", "w").write("model")
"""
FAIL = "raise SystemExit(3)"
PROGRAM = """
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
def task(code, **variables):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
    return vt.task_from_image(image, command=["python3", "-c", code], environment_variables=variables)
container = {{"image_uri": "{serving}"}}
job = vt.CustomJob("first", **task({code!r}), staging_bucket=bucket, wait="done")
directory = job.completion["model_directory"]
vt.Model("of-job", artifact_uri=directory, container_spec=container)
vt.TrainingPipeline(
    "after",
    custom_task=task({save!r}, FROM=directory),
    model_to_upload={{"display_name": "of pipeline", "container_spec": container}},
    model_id="of-pipeline",
    staging_bucket=bucket,
    wait="done",
)
"""


def write(engine: Engine, code: str) -> None:
    engine.write(PROGRAM.format(serving=SERVING, save=SAVE, code=code))


def versions(engine: Engine, model_id: str) -> list[str]:
    name = f"projects/local/locations/us-central1/models/{model_id}"
    return [one.version for one in models.versions(engine.endpoint(), name)]


def test_a_training_that_fails_takes_no_model_away(engine: Engine) -> None:
    write(engine, SAVE)
    engine.up().ok()
    write(engine, FAIL)
    output = engine.up().failed().output
    assert "model of-pipeline@1 is kept" in output
    assert "of-job@1" not in output
    assert versions(engine, "of-job") == ["1"]
    assert versions(engine, "of-pipeline") == ["1"]
    # Later deployments do not run the job again, and have no model either.
    assert "model of-job keeps its files" in engine.up().failed().output
    assert versions(engine, "of-job") == ["1"]

    write(engine, f"{SAVE}\n# again")
    assert "replace" in engine.preview().ok().output
    engine.up().ok()
    assert versions(engine, "of-job") == ["2"]
    assert versions(engine, "of-pipeline") == ["2", "1"]
    assert "unchanged" in engine.up().ok().output


def test_replacing_a_job_on_demand_takes_no_model_away(engine: Engine) -> None:
    write(engine, SAVE)
    engine.up().ok()
    (urn,) = (one["urn"] for one in engine.state() if one["type"].endswith(":CustomJob"))
    engine.up("--replace", urn).ok()
    assert versions(engine, "of-job") == ["2"]
    assert versions(engine, "of-pipeline") == ["2", "1"]


UNTIMELY = """
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
task = vt.task_from_image(image, command=["python3", "-c", "import time; time.sleep(600)"])
container = {{"image_uri": "{serving}"}}
job = vt.CustomJob("first", **task, staging_bucket=bucket)
vt.Model("of-job", artifact_uri=job.completion["model_directory"], container_spec=container)
"""
PARENT = """
made = {{"display_name": "made", "container_spec": container}}
upload = dict(custom_task=task, model_to_upload=made, staging_bucket=bucket)
first = vt.TrainingPipeline("makes", **upload)
vt.TrainingPipeline("adds", **upload, parent_model=first.model)
"""


def test_no_model_is_made_of_a_job_that_has_not_ended(engine: Engine) -> None:
    engine.write(UNTIMELY.format(serving=SERVING))
    output = engine.up().failed().output
    assert "artifact_uri: is None: the job that it comes from has not succeeded, or not yet" in output
    with pytest.raises(NotFound):
        versions(engine, "of-job")
    engine.write((UNTIMELY + PARENT).format(serving=SERVING))
    output = engine.up().failed().output
    assert "adds: parent_model is None; what it comes from has uploaded no model" in output
    (only,) = training_pipelines.GATEWAY.list_jobs(engine.endpoint())
    assert only.display_name == "makes"
