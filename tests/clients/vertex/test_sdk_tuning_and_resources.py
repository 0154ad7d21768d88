"""google-cloud-aiplatform's HyperparameterTuningJob and PersistentResource, in a program for Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import time
from google.cloud import aiplatform
from google.cloud.aiplatform import hyperparameter_tuning as tuning

aiplatform.init(staging_bucket="gs://train")

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"  # it has cloudml-hypertune

def pools(*command):
    return [{
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": list(command)},
    }]

def until(job, *states):
    while job.state.name not in states:
        time.sleep(0.2)
    return job.state.name

def error_of(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]

code = '''
import os, sys
import hypertune
values = dict(each[2:].split("=", 1) for each in sys.argv[1:])
score = float(values["units"]) + (10 if values["kind"] == "b" else 0)
hypertune.HyperTune().report_hyperparameter_tuning_metric("score", score, 1)
'''

def study(name, *command, **options):
    trial = aiplatform.CustomJob(
        display_name=name, worker_pool_specs=pools(*command), base_output_dir="gs://train/study")
    return aiplatform.HyperparameterTuningJob(
        display_name=name,
        custom_job=trial,
        metric_spec={"score": "maximize"},
        parameter_spec={
            "units": tuning.IntegerParameterSpec(min=1, max=2, scale="linear"),
            "kind": tuning.CategoricalParameterSpec(values=["a", "b"]),
        },
        **options,
    )

long = study("long", "sh", "-c", "sleep 600", max_trial_count=2, parallel_trial_count=1)
long.run(sync=False)
long.wait_for_resource_creation()
job = study("grid", "python3", "-c", code, max_trial_count=4, parallel_trial_count=2, search_algorithm="grid",
            labels={"team": "a"})
job.run()
best = max(job.trials, key=lambda each: each.final_measurement.metrics[0].value)
tell(
    state=job.state.name,
    trials=[each.state.name for each in job.trials],
    tried=sorted([str(value.value) for value in sorted(each.parameters, key=lambda one: one.parameter_id)]
                 for each in job.trials),
    best=[best.final_measurement.metrics[0].metric_id, best.final_measurement.metrics[0].value],
    jobs=[bool(aiplatform.CustomJob.get(each.custom_job).state) for each in job.trials],
    listed=sorted(each.display_name for each in aiplatform.HyperparameterTuningJob.list()),
    filtered=[each.display_name for each in aiplatform.HyperparameterTuningJob.list(filter="labels.team=a")],
    got=aiplatform.HyperparameterTuningJob.get(job.resource_name).display_name,
)
tell(before=until(long, "JOB_STATE_RUNNING"))
long.cancel()
tell(cancelled=until(long, "JOB_STATE_CANCELLED"))
job.delete()
tell(deleted=error_of(lambda: aiplatform.HyperparameterTuningJob.get(job.resource_name)))
"""

PERSISTENT = """
import time
from google.cloud import aiplatform
from google.cloud.aiplatform import persistent_resource
from google.cloud.aiplatform_v1.types import persistent_resource as types
from google.cloud.aiplatform_v1.types import machine_resources


aiplatform.init(staging_bucket="gs://train")
Resource = persistent_resource.PersistentResource
machine = machine_resources.MachineSpec(machine_type="n1-standard-4")
POOLS = [types.ResourcePool(machine_spec=machine, replica_count=1)]
made = Resource.create(persistent_resource_id="cluster", resource_pools=POOLS, labels={"team": "a"})
job = aiplatform.CustomJob(
    display_name="on-it",
    worker_pool_specs=[{
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": "python:3.11", "command": ["true"]},
    }],
    persistent_resource_id="cluster",
)
job.run()
tell(
    state=made.state.name,
    name=made.name,
    labels=dict(made.labels),
    job=[job.state.name, job.job_spec.persistent_resource_id],
    listed=[each.name for each in Resource.list()],
    got=Resource("cluster").gca_resource.name.rpartition("/")[2],
)
made.reboot()
tell(rebooted=Resource("cluster").state.name)
made.delete()
tell(left=[each.name for each in Resource.list()])
"""


@pytest.fixture(scope="module")
def tuned(script: Any, bucket: str) -> Any:
    return script(PROGRAM)


@pytest.mark.parity("Tuning jobs: clients of tuning jobs", same="they work unchanged")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("state", "JOB_STATE_SUCCEEDED", id="run waits until the study has succeeded"),
        pytest.param("trials", ["SUCCEEDED"] * 4, id="its trials"),
        pytest.param(
            "tried",
            [["a", "1.0"], ["a", "2.0"], ["b", "1.0"], ["b", "2.0"]],
            id="a grid has every point once",
        ),
        pytest.param("best", ["score", 12.0], id="the metric that a program has reported"),
        pytest.param("jobs", [True] * 4, id="each trial is a custom job"),
        pytest.param("listed", ["grid", "long"], id="list"),
        pytest.param("filtered", ["grid"], id="list by label"),
        pytest.param("got", "grid", id="get"),
        pytest.param("before", "JOB_STATE_RUNNING", id="a study that goes on"),
        pytest.param("cancelled", "JOB_STATE_CANCELLED", id="cancel"),
    ],
)
def test_tuning_jobs(tuned: Mapping[str, Any], what: str, expected: Any) -> None:
    assert tuned[what] == expected


@pytest.mark.smoke
def test_a_deleted_tuning_job_is_not_found(tuned: Mapping[str, Any]) -> None:
    assert tuned["deleted"][0] == "NotFound"


@pytest.fixture(scope="module")
def persistent(script: Any, bucket: str) -> Any:
    return script(PERSISTENT)


@pytest.mark.parity("Persistent resources: clients of persistent resources", same="they work unchanged")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("state", "RUNNING", id="create waits until it runs"),
        pytest.param("name", "cluster", id="its id"),
        pytest.param("labels", {"team": "a"}, id="its labels"),
        pytest.param("job", ["JOB_STATE_SUCCEEDED", "cluster"], id="a job on it"),
        pytest.param("listed", ["cluster"], id="list"),
        pytest.param("got", "cluster", id="get"),
        pytest.param("rebooted", "RUNNING", id="reboot"),
        pytest.param("left", [], id="delete"),
    ],
)
def test_persistent_resources(persistent: Mapping[str, Any], what: str, expected: Any) -> None:
    assert persistent[what] == expected
