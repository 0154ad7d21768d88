"""The requests for a training pipeline equal those of Google's own clients for the same pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import PipelineServiceClient
from google.cloud.aiplatform_v1 import types as api

import pulumi_vertex_training as vt
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from pulumi_vertex_training.kinds.training_pipeline.kind import read
from pulumi_vertex_training.kinds.training_pipeline.spec import (
    CUSTOM_TASK,
    TUNING_TASK,
    TrainingPipelineSpec,
    to_wire,
)
from support.client.clients.recorded_requests import Recorder, Sent, all_fields, created, fields_in
from support.client.specs import pipeline_specs
from support.client.specs.model_requests import EVERY_MODEL, as_googles
from support.emulated.emulator import running, storage_client
from support.ground import jobs
from support.scripted_service import Answer, Asked
from vertex_training.findings.options import CheckOptions

PARENT = "projects/my-project/locations/us-central1"
TASK = {
    "worker_pool_specs": [pipeline_specs.POOL],
    "base_output_directory": "gs://b/out/",
    "scheduling": {"timeout": "3600s"},
}
STUDY = {
    "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
    "parameters": [
        {"parameter_id": "depth", "integer_value_spec": {"min_value": 1, "max_value": 9}},
        {"parameter_id": "rate", "double_value_spec": {"min_value": 0.1, "max_value": 1}},
    ],
}
SHARES = {"training_fraction": 0.5, "validation_fraction": 0.25, "test_fraction": 0.125}
SPLITS: Mapping[str, Mapping[str, Any]] = {
    "fraction_split": SHARES,
    "filter_split": {"training_filter": "a", "validation_filter": "b", "test_filter": "-"},
    "predefined_split": {"key": "set"},
    "timestamp_split": {**SHARES, "key": "at"},
    "stratified_split": {**SHARES, "key": "label"},
}
DATA = {
    "dataset_id": "123",
    "annotations_filter": "labels.a:*",
    "annotation_schema_uri": "gs://google-cloud-aiplatform/schema/dataset/annotation/x.yaml",
    "saved_query_id": "7",
    "persist_ml_use_assignment": True,
}
WHOLE: dict[str, Any] = {
    "display_name": "everything",
    "custom_task": TASK,
    "model_id": "digits",
    "parent_model": f"{PARENT}/models/digits",
    "encryption_spec": {"kms_key_name": f"{PARENT}/keyRings/r/cryptoKeys/k"},
    "labels": {"team": "vision"},
}
EVERY: dict[str, dict[str, Any]] = {
    **{
        split: {
            **WHOLE,
            "input_data_config": {**DATA, split: value, "gcs_destination": "gs://b/data/"},
        }
        for split, value in SPLITS.items()
    },
    "bigquery": {**WHOLE, "input_data_config": {**DATA, "bigquery_destination": "bq://my-project"}},
    "tuning": {
        **{key: value for key, value in WHOLE.items() if key != "custom_task"},
        "tuning_task": {
            "study_spec": STUDY,
            "max_trial_count": 4,
            "parallel_trial_count": 2,
            "max_failed_trial_count": 1,
            "trial_job_spec": TASK,
        },
    },
    **{f"model {name}": {**WHOLE, "model_to_upload": value} for name, value in EVERY_MODEL.items()},
}
"""Every field at least once, more together than the service would allow."""

OUTPUT_ONLY = {
    *(TrainingPipelineSpec.SERVER_OWNED - {"training_task_definition", "training_task_inputs"}),
    *(f"model_to_upload.{name}" for name in ModelSpec.SERVER_OWNED),
}


def googles(declared: Mapping[str, Any]) -> api.TrainingPipeline:
    """Return the same pipeline in Google's types, built from their names."""
    values = dict(declared)
    custom, tuning = values.pop("custom_task", None), values.pop("tuning_task", None)
    values["training_task_definition"] = CUSTOM_TASK if custom else TUNING_TASK
    values["training_task_inputs"] = (
        _with_directory(custom)
        if custom
        else {**tuning, "trial_job_spec": _with_directory(tuning["trial_job_spec"])}
    )
    if "input_data_config" in values:
        data = dict(values["input_data_config"])
        if "gcs_destination" in data:
            data["gcs_destination"] = {"output_uri_prefix": data["gcs_destination"]}
        if "bigquery_destination" in data:
            data["bigquery_destination"] = {"output_uri": data["bigquery_destination"]}
        values["input_data_config"] = data
    if "model_to_upload" in values:
        values["model_to_upload"] = as_googles(values["model_to_upload"])
    return api.TrainingPipeline(values)


def _with_directory(task: Mapping[str, Any]) -> dict[str, Any]:
    pools = [
        {**pool, "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100}}
        for pool in task["worker_pool_specs"]
    ]
    directory = {"output_uri_prefix": task["base_output_directory"]}
    return {**task, "worker_pool_specs": pools, "base_output_directory": directory}


def answer(asked: Asked) -> Answer:
    """Answer that the pipeline has ended and that no models exist."""
    if asked.method == "GET" and "/trainingPipelines/" in asked.path:
        name = asked.path.removeprefix("/v1/")
        return Answer(document={"name": name, "displayName": "x", "state": "PIPELINE_STATE_SUCCEEDED"})
    if asked.method == "GET" and "/models/" in asked.path:
        return Answer(status=404, document={"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}})
    return created(asked)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder(answer) as made:
        yield made


def ours(recorder: Recorder, declared: Mapping[str, Any]) -> Sent:
    spec = read(declared, options=CheckOptions(location="us-central1")).draft
    recorder.take()
    training_pipelines.GATEWAY.create(recorder.google(), to_wire(spec))
    return created_of(recorder)


def created_of(recorder: Recorder) -> Sent:
    """Return the only create request that was sent."""
    (only,) = (sent for sent in recorder.take() if sent.method == "POST")
    inputs = only.body.get("trainingTaskInputs") or only.body["training_task_inputs"]
    kind = api.HyperparameterTuningJob if {"studySpec", "study_spec"} & set(inputs) else api.CustomJobSpec
    normal = only.normal(api.TrainingPipeline, inside={"training_task_inputs": kind})
    # There is no order in aliases (Vertex AI API, MergeVersionAliasesRequest).
    normal.body.get("model_to_upload", {}).get("version_aliases", []).sort()
    return normal


@pytest.mark.parametrize("name", EVERY)
def test_the_generated_client_sends_the_same(recorder: Recorder, name: str) -> None:
    client = recorder.client(PipelineServiceClient)
    client.create_training_pipeline(parent=PARENT, training_pipeline=googles(EVERY[name]))
    theirs = created_of(recorder)
    assert ours(recorder, EVERY[name]) == theirs


def test_every_field_of_the_api_is_sent_once() -> None:
    sent: set[str] = set()
    for declared in EVERY.values():
        spec = read(declared).draft
        assert spec is not None
        sent |= fields_in(api.TrainingPipeline, to_wire(spec))
    assert all_fields(api.TrainingPipeline, leave_out=OUTPUT_ONLY) - sent == set()


MODEL = {
    "display_name": "digits-model",
    "container_spec": {
        "image_uri": pipeline_specs.SERVING,
        "command": ["serve"],
        "args": ["--fast"],
        "env": [{"name": "A", "value": "1"}],
        "ports": [8080],
        "predict_route": "/predict",
        "health_route": "/health",
    },
    "description": "what we trained",
    "predict_schemata": {"instance_schema_uri": "gs://b/instance.yaml"},
    "labels": {"stage": "test"},
    "version_aliases": ["default", "golden"],
    "version_description": "the first",
}
OF_THE_SDK = {
    "model_serving_container_image_uri": pipeline_specs.SERVING,
    "model_serving_container_command": ["serve"],
    "model_serving_container_args": ["--fast"],
    "model_serving_container_environment_variables": {"A": "1"},
    "model_serving_container_ports": [8080],
    "model_serving_container_predict_route": "/predict",
    "model_serving_container_health_route": "/health",
    "model_description": "what we trained",
    "model_instance_schema_uri": "gs://b/instance.yaml",
    "labels": {"team": "vision"},
}
RUN = {
    "model_display_name": "digits-model",
    "model_labels": {"stage": "test"},
    "model_id": "digits",
    "model_version_aliases": ["golden"],
    "model_version_description": "the first",
}
TASK_OPTIONS: dict[str, Any] = {
    "args": ["--epochs", "3"],
    "environment_variables": {"B": "2"},
    "replica_count": 3,
    "machine_type": "n1-standard-8",
    "accelerator_type": "NVIDIA_TESLA_T4",
    "accelerator_count": 1,
    "boot_disk_type": "pd-standard",
    "boot_disk_size_gb": 200,
    "reduction_server_replica_count": 2,
    "reduction_server_machine_type": "n1-highcpu-16",
    "reduction_server_container_uri": jobs.REDUCTION_SERVER,
    "base_output_dir": "gs://b/out/",
    "service_account": "t@my-project.iam.gserviceaccount.com",
    "network": "projects/12345/global/networks/net",
    "timeout": 3600,
    "restart_job_on_worker_restart": True,
    "enable_web_access": True,
    "enable_dashboard_access": True,
    "tensorboard": f"{PARENT}/tensorboards/7",
    "disable_retries": True,
    "persistent_resource_id": "pool-1",
    "max_wait_duration": 1800,
}


def declared_with(task: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "display_name": "digits",
        "custom_task": task,
        "model_to_upload": MODEL,
        "model_id": "digits",
        "labels": {"team": "vision"},
    }


def test_a_container_training_job_of_the_sdk(recorder: Recorder, sdk: Any) -> None:
    job = sdk.CustomContainerTrainingJob(
        display_name="digits", container_uri="repo/trainer:1", command=["train"], **OF_THE_SDK
    )
    job.run(**RUN, **TASK_OPTIONS)
    theirs = created_of(recorder)
    task = vt.task_from_image("repo/trainer:1", command=["train"], **TASK_OPTIONS)
    assert ours(recorder, declared_with(task)) == theirs


def test_a_package_training_job_of_the_sdk(recorder: Recorder, sdk: Any) -> None:
    executor = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
    job = sdk.CustomPythonPackageTrainingJob(
        display_name="digits",
        python_package_gcs_uri="gs://b/trainer-1.tar.gz",
        python_module_name="trainer.task",
        container_uri=executor,
        **OF_THE_SDK,
    )
    job.run(**RUN, **TASK_OPTIONS)
    theirs = created_of(recorder)
    task = vt.task_from_package(
        "gs://b/trainer-1.tar.gz", python_module="trainer.task", container_uri=executor, **TASK_OPTIONS
    )
    assert ours(recorder, declared_with(task)) == theirs


def test_a_script_training_job_of_the_sdk(
    recorder: Recorder, sdk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare a script, which the SDK packs and uploads while it runs; the rest is as for a package."""
    script = tmp_path / "train.py"
    script.write_text("print('trained')\n")
    executor = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
    job = sdk.CustomTrainingJob(
        display_name="digits",
        script_path=str(script),
        container_uri=executor,
        requirements=["numpy==2.0"],
        staging_bucket="gs://staging-of-scripts",
        **OF_THE_SDK,
    )
    with running(tmp_path / "emulator") as emulator, storage_client(emulator.storage_url) as storage:
        storage.create_bucket("staging-of-scripts")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.storage_url)
        job.run(**RUN, **TASK_OPTIONS)
        (packed,) = storage.list_blobs("staging-of-scripts")
    theirs = created_of(recorder)
    task = vt.task_from_package(
        f"gs://staging-of-scripts/{packed.name}",
        python_module="aiplatform_custom_trainer_script.task",
        container_uri=executor,
        **TASK_OPTIONS,
    )
    assert ours(recorder, declared_with(task)) == theirs


def test_a_job_without_options_and_model(recorder: Recorder, sdk: Any) -> None:
    job = sdk.CustomContainerTrainingJob(display_name="digits", container_uri="repo/trainer:1")
    job.run(base_output_dir="gs://b/out/")
    theirs = created_of(recorder)
    task = vt.task_from_image("repo/trainer:1", base_output_dir="gs://b/out/")
    assert ours(recorder, {"display_name": "digits", "custom_task": task}) == theirs
