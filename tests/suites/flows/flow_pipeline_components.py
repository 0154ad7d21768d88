"""Run the launchers of google-cloud-pipeline-components as the containers of its steps do: as modules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from google.cloud import aiplatform
from google.cloud.aiplatform import gapic

PACKAGE = "google_cloud_pipeline_components.container.v1"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-16.py310:latest"
TRIAL = (
    "import json, os; "
    "open(os.environ['CLOUD_ML_HP_METRIC_FILE'], 'w')"
    ".write(json.dumps({'loss': 0.5, 'global_step': 1}) + '\\n')"
)
aiplatform.init(project="local", location="us-central1")


def spec(program: str) -> dict[str, Any]:
    container = {"image_uri": IMAGE, "command": ["python3", "-c", program]}
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": container,
    }
    return {"worker_pool_specs": [pool]}


def launch(
    launcher: str, kind: str, payload: dict[str, Any], file: Path, *more: str, status: int = 0
) -> dict[str, Any]:
    """Run a launcher. Return the resource in the file that it wrote for the next step."""
    arguments = ["--type", kind, "--project", "local", "--location", "us-central1", "--payload"]
    command = [sys.executable, "-m", f"{PACKAGE}.{launcher}.launcher", *arguments, json.dumps(payload)]
    done = subprocess.run(
        [*command, "--gcp_resources", str(file), *more], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr[-3000:]
    (resource,) = json.loads(file.read_text())["resources"]
    return dict(resource)


def name_of(resource: dict[str, Any]) -> str:
    return str(resource["resourceUri"].partition("/v1/")[2])


def test_custom_job(tmp_path: Path) -> None:
    payload = {"display_name": "train", "job_spec": spec("print('hello')")}
    file = tmp_path / "resources"
    resource = launch("custom_job", "CustomJob", payload, file)
    assert resource["resourceType"] == "CustomJob"
    name = name_of(resource)
    assert aiplatform.CustomJob.get(name).state == gapic.JobState.JOB_STATE_SUCCEEDED
    # A launcher that starts again finds the job of its file.
    assert name_of(launch("custom_job", "CustomJob", payload, file)) == name


def test_custom_job_that_fails(tmp_path: Path) -> None:
    payload = {"display_name": "fails", "job_spec": spec("raise SystemExit(3)")}
    resource = launch("custom_job", "CustomJob", payload, tmp_path / "resources", status=1)
    assert aiplatform.CustomJob.get(name_of(resource)).state == gapic.JobState.JOB_STATE_FAILED


def test_hyperparameter_tuning_job(tmp_path: Path) -> None:
    study = {
        "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 1}}],
    }
    payload = {
        "display_name": "tune",
        "study_spec": study,
        "max_trial_count": 2,
        "parallel_trial_count": 2,
        "trial_job_spec": spec(TRIAL),
    }
    kind = "HyperparameterTuningJob"
    name = name_of(launch("hyperparameter_tuning_job", kind, payload, tmp_path / "resources"))
    trials = aiplatform.HyperparameterTuningJob.get(name).trials
    assert [trial.final_measurement.metrics[0].value for trial in trials] == [0.5, 0.5]


def test_upload_and_delete_of_a_model(tmp_path: Path) -> None:
    artifact = {"metadata": {}, "name": "model", "uri": "", "type": {"schemaTitle": "google.VertexModel"}}
    outputs = {"outputs": {"artifacts": {"model": {"artifacts": [artifact]}}}}
    outputs["outputs"]["outputFile"] = str(tmp_path / "outputs.json")
    payload = {"display_name": "model", "container_spec": {"image_uri": IMAGE}}
    launch(
        *("model.upload_model", "UploadModel", payload, tmp_path / "resources"),
        *("--executor_input", json.dumps(outputs)),
    )
    (model,) = aiplatform.Model.list(filter='display_name="model"')
    launch("model.delete_model", "DeleteModel", {"model": model.resource_name}, tmp_path / "deletion")
    assert aiplatform.Model.list(filter='display_name="model"') == []


def test_component_of_the_sdk(tmp_path: Path) -> None:
    """Run a step of a dataset component, which calls a method of google-cloud-aiplatform."""
    artifact = {"metadata": {}, "name": "set", "uri": "", "type": {"schemaTitle": "google.VertexDataset"}}
    outputs = {"outputs": {"artifacts": {"dataset": {"artifacts": [artifact]}}}}
    outputs["outputs"]["outputFile"] = str(tmp_path / "outputs.json")
    command = [
        *(sys.executable, "-m", f"{PACKAGE}.aiplatform.remote_runner"),
        *("--cls_name", "TabularDataset", "--method_name", "create"),
        *("--method.project", "local", "--method.location", "us-central1"),
        *("--method.display_name", "table", "--method.gcs_source", "gs://of-pipeline-components/table.csv"),
        *("--executor_input", json.dumps(outputs)),
    ]
    subprocess.run(command, check=True)
    (found,) = aiplatform.TabularDataset.list(filter='display_name="table"')
    assert found.resource_name in (tmp_path / "outputs.json").read_text()
