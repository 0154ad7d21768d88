"""`get_staging_bucket`, `get_model` and so on, on the real engine: resources that others have made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.engine import Engine, Result
from support.waiting import eventually
from vertex_emulator.client import launcher

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
# A program that writes the metrics of a model:
METRICS = 'import os, pathlib; d = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")); d.mkdir(parents=True, exist_ok=True); (d / "metrics.json").write_text(\'{"accuracy": 0.5}\')'  # noqa: E501
PROGRAM = """
bucket = vt.get_staging_bucket("somebodys-data")
pulumi.export("bucket", [bucket.url, bucket.location, bucket.labels])
repository = vt.get_image_repository("images")
pulumi.export("repository", [repository.url, repository.registry_host, repository.description])
model = vt.get_model("churn", version="best")
pulumi.export("model", [model.version_id, list(model.version_aliases), model.container_image_uri])
machines = vt.get_persistent_resource("gpus")
pulumi.export("machines", [pool.machine_spec.machine_type for pool in machines.resource_pools])
job = vt.get_custom_job(config.require("job"))
pulumi.export("job", [job.display_name, job.state, job.metrics["accuracy"]])
"""
MISSING = 'vt.get_custom_job("123")\n'


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The results of one stack: looked up in a deployment and in a preview, missing, without an emulator."""

    outputs: dict[str, Any]
    preview: Result
    missing: Result
    stopped: Result


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    launcher.ensure(engine.data_dir)
    endpoint = engine.endpoint()
    bucket = {"name": "somebodys-data", "location": "us-central1", "labels": {"team": "vision"}}
    buckets.create(endpoint, bucket)
    repositories.create(
        endpoint, f"{endpoint.parent}/repositories/images", {"format": "DOCKER", "description": "ours"}
    )
    models.upload(
        endpoint,
        {"displayName": "churn", "containerSpec": {"imageUri": SERVING}, "versionAliases": ["best"]},
        model_id="churn",
    )
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"}
    persistent_resources.create(endpoint, "gpus", {"resourcePools": [pool]})
    job = custom_jobs.create(
        endpoint,
        {
            "displayName": "from outside",
            "jobSpec": {
                "workerPoolSpecs": [
                    {**pool, "containerSpec": {"imageUri": IMAGE, "command": ["python3", "-c", METRICS]}}
                ],
                "baseOutputDirectory": {"outputUriPrefix": "gs://somebodys-data/run"},
            },
        },
    )
    eventually(lambda: custom_jobs.get(endpoint, job.name).state.is_terminal)
    engine.set("job", job.name)
    engine.write(PROGRAM)
    preview, made = engine.preview_and_up()
    made.ok()
    outputs = engine.outputs()
    engine.write(MISSING)
    missing = engine.preview()
    launcher.stop(engine.data_dir)
    return Steps(outputs=outputs, preview=preview, missing=missing, stopped=engine.preview())


def test_each_kind_is_looked_up(steps: Steps) -> None:
    assert steps.outputs["bucket"] == ["gs://somebodys-data", "us-central1", {"team": "vision"}]
    assert steps.outputs["repository"] == [
        "us-central1-docker.pkg.dev/local/images",
        "us-central1-docker.pkg.dev",
        "ours",
    ]
    assert steps.outputs["model"] == ["1", ["default", "best"], SERVING]
    assert steps.outputs["machines"] == ["n1-standard-4"]


def test_a_job_has_its_metrics(steps: Steps) -> None:
    assert steps.outputs["job"] == ["from outside", "SUCCEEDED", 0.5]


def test_a_preview_looks_up_too(steps: Steps) -> None:
    assert "+ 1 to create" in steps.preview.ok().output


def test_a_missing_resource_is_an_error_without_a_traceback(steps: Steps) -> None:
    output = steps.missing.failed().output
    assert "custom job 123 cannot be looked up" in output
    assert "vertex-training jobs" in output
    assert "Traceback" not in output


def test_a_preview_does_not_start_the_emulator(steps: Steps) -> None:
    output = steps.stopped.failed().output
    assert "a preview starts nothing. Run `vertex-training emulator start`" in output
