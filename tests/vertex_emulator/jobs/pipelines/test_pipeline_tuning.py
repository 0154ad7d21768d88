"""Pipelines with a tuning task."""

from __future__ import annotations

from typing import Any

import pytest

from support.emulated.job_emulator import PARENT, SLEEP
from support.emulated.services.pipelines import BASE, SAVE, Pipelines, pipeline, pool, serving

DEFINITION = (
    "gs://google-cloud-aiplatform/schema/trainingjob/definition/hyperparameter_tuning_task_1.0.0.yaml"
)
REPORT = (
    SAVE
    + """
import argparse, hypertune
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
rate = parser.parse_args().rate
hypertune.HyperTune().report_hyperparameter_tuning_metric("loss", (rate - 3) ** 2)
"""
)


def tuning(code: str, **fields: Any) -> dict[str, Any]:
    inputs = {
        "studySpec": {
            "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
            "parameters": [{"parameterId": "rate", "discreteValueSpec": {"values": [1, 3, 5]}}],
            "algorithm": "GRID_SEARCH",
        },
        "trialJobSpec": {"workerPoolSpecs": [pool(code)], "baseOutputDirectory": {"outputUriPrefix": BASE}},
        "maxTrialCount": 3,
        "parallelTrialCount": 3,
    }
    return {**pipeline(), "trainingTaskDefinition": DEFINITION, "trainingTaskInputs": inputs, **fields}


@pytest.mark.parity("Training pipelines: tuning task", same="metadata and model are those of the best trial")
def test_the_best_trial_becomes_the_model(pipelines: Pipelines) -> None:
    over = pipelines.wait(pipelines.create(tuning(REPORT, modelToUpload=serving())))
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
    metadata = over["trainingTaskMetadata"]
    job = pipelines.get(metadata["backingHyperparameterTuningJob"])
    assert job["displayName"] == "train-hyperparameter-tuning-job"
    (best,) = (each for each in job["trials"] if each["parameters"][0]["value"] == 3)
    assert metadata["bestTrialBackingCustomJob"] == best["customJob"]
    model = pipelines.get(over["modelToUpload"]["name"])
    assert model["artifactUri"] == f"{BASE}/{best['id']}/model"
    assert pipelines.read(f"{model['artifactUri']}/model.bin") == b"trained"


def test_cancelling_cancels_the_tuning_job(pipelines: Pipelines) -> None:
    name = pipelines.create(tuning(SLEEP))
    pipelines.wait(name, "PIPELINE_STATE_RUNNING")
    pipelines.done("POST", f"/v1/{name}:cancel", {})
    over = pipelines.wait(name)
    assert over["state"] == "PIPELINE_STATE_CANCELLED"
    job = pipelines.get(over["trainingTaskMetadata"]["backingHyperparameterTuningJob"])
    assert job["state"] == "JOB_STATE_CANCELLED"


def test_the_trials_find_the_data(pipelines: Pipelines) -> None:
    dataset = pipelines.dataset(pipelines.put("in/rows.csv", "a\n1\n2\n3\n"))
    config = {
        "datasetId": dataset.rpartition("/")[2],
        "gcsDestination": {"outputUriPrefix": "gs://work/data"},
    }
    program = (
        REPORT
        + "import glob\nassert glob.glob(os.environ['AIP_TRAINING_DATA_URI'].replace('gs://', '/gcs/'))\n"
    )
    over = pipelines.wait(pipelines.create(tuning(program, inputDataConfig=config)))
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"maxTrialCount": 0}, "training_task_inputs.max_trial_count", id="no-trials"),
        pytest.param(
            {"trialJobSpec": {"workerPoolSpecs": [{}]}},
            "training_task_inputs.trial_job_spec.worker_pool_specs[0].replica_count",
            id="no-chief",
        ),
    ],
)
def test_invalid_tuning_tasks(pipelines: Pipelines, change: dict[str, Any], field: str) -> None:
    body = tuning("")
    body["trainingTaskInputs"] |= change
    error = pipelines.refused("POST", f"{PARENT}/trainingPipelines", body)
    assert (error["code"], f"training_pipeline.{field}" in error["message"]) == (400, True), error
