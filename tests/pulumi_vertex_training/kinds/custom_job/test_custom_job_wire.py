from __future__ import annotations

import json

import pytest
from google.cloud.aiplatform_v1 import CustomJob
from google.protobuf import json_format
from hypothesis import given

from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from support.ground import jobs
from support.ground.jobs import EMPTY, EXECUTOR, job, package_pool, pool
from vertex_training.job.custom_job import CustomJobSpec, from_wire, normalise, to_wire
from vertex_training.job.job_spec import Scheduling
from vertex_training.topology.pools import MachineSpec, PythonPackageSpec, WorkerPoolSpec

PROTO = CustomJob.pb()

SENT = CustomJobSpec(
    display_name="custom_job_TF_20210227173057",
    worker_pool_specs=(
        WorkerPoolSpec(
            machine_spec=MachineSpec(
                machine_type="n1-standard-4", accelerator_type="NVIDIA_TESLA_K80", accelerator_count=1
            ),
            replica_count=1,
            python_package_spec=PythonPackageSpec(
                executor_image_uri="gcr.io/cloud-aiplatform/training/tf-gpu.2-1:latest",
                package_uris=("gs://bucket/trainer_cifar.tar.gz",),
                python_module="trainer.task",
                args=("--model-dir=gs://bucket/model", "--epochs=20"),
            ),
        ),
    ),
)

ECHO = {
    "name": "projects/116273516712/locations/us-central1/customJobs/2970106362064797696",
    "displayName": "custom_job_TF_20210227173057",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {
                    "machineType": "n1-standard-4",
                    "acceleratorType": "NVIDIA_TESLA_K80",
                    "acceleratorCount": 1,
                },
                "replicaCount": "1",
                "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
                "pythonPackageSpec": {
                    "executorImageUri": "gcr.io/cloud-aiplatform/training/tf-gpu.2-1:latest",
                    "packageUris": ["gs://bucket/trainer_cifar.tar.gz"],
                    "pythonModule": "trainer.task",
                    "args": ["--model-dir=gs://bucket/model", "--epochs=20"],
                },
            }
        ]
    },
    "state": "JOB_STATE_PENDING",
    "createTime": "2021-02-27T17:31:04.494716Z",
    "updateTime": "2021-02-27T17:31:04.494716Z",
}
"""The answer of the real service to `SENT` (a notebook of GoogleCloudPlatform/vertex-ai-samples, 2021)."""


def test_the_captured_answer_reads_as_what_was_sent():
    assert from_wire(ECHO) == normalise(SENT)


def test_the_captured_answer_is_no_difference():
    assert CUSTOM_JOB.drift(SENT, ECHO) == ()


def test_a_whole_job_on_the_wire():
    spec = job(
        package_pool(),
        EMPTY,
        pool(2, gpus=1, env={"A": ""}),
        scheduling=Scheduling(timeout="3600s", disable_retries=True),
        service_account="t@p.iam.gserviceaccount.com",
        base_output_directory="gs://bucket/out/",
        labels={"team": "vision"},
    )
    assert to_wire(spec) == {
        "displayName": "digits",
        "labels": {"team": "vision"},
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": "1",
                    "pythonPackageSpec": {
                        "executorImageUri": EXECUTOR,
                        "packageUris": ["gs://staging/trainer-0.1.tar.gz"],
                        "pythonModule": "trainer.task",
                        "args": ["--epochs=20"],
                    },
                },
                {},
                {
                    "machineSpec": {
                        "machineType": "n1-standard-4",
                        "acceleratorType": "NVIDIA_TESLA_T4",
                        "acceleratorCount": 1,
                    },
                    "replicaCount": "2",
                    "containerSpec": {"imageUri": "repo/trainer:1", "env": [{"name": "A", "value": ""}]},
                },
            ],
            "scheduling": {"timeout": "3600s", "disableRetries": True},
            "serviceAccount": "t@p.iam.gserviceaccount.com",
            "baseOutputDirectory": {"outputUriPrefix": "gs://bucket/out/"},
        },
    }


sendable = jobs.whole_jobs | jobs.topologies.map(lambda pools: job(*pools))


@given(sendable)
def test_from_wire_is_the_inverse_of_to_wire(spec):
    assert from_wire(json.loads(json.dumps(to_wire(spec)))) == spec


@pytest.mark.parametrize("enums_as_numbers", [True, False])
@pytest.mark.parametrize("snake_case", [True, False])
@given(spec=sendable)
def test_google_s_own_messages_carry_a_job_there_and_back(spec, enums_as_numbers, snake_case):
    message = json_format.ParseDict(to_wire(spec), PROTO())
    echo = json_format.MessageToDict(
        message, use_integers_for_enums=enums_as_numbers, preserving_proto_field_name=snake_case
    )
    assert normalise(from_wire(echo)) == normalise(spec)
    assert CUSTOM_JOB.drift(spec, echo) == ()


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        pytest.param({}, {"scheduling": {}}, id="empty scheduling"),
        pytest.param({}, {"scheduling": {"timeout": "604800s"}}, id="the default timeout"),
        pytest.param(
            {"scheduling": Scheduling(disable_retries=True)},
            {"scheduling": {"disableRetries": True, "timeout": "604800s"}},
            id="the default timeout beside others",
        ),
        pytest.param(
            {}, {"serviceAccount": "service-1@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"}, id="account"
        ),
        pytest.param(
            {}, {"baseOutputDirectory": {"outputUriPrefix": "gs://b/run-1/"}}, id="the run's directory"
        ),
        pytest.param(
            {"base_output_directory": "gs://b/x"},
            {"baseOutputDirectory": {"outputUriPrefix": "gs://b/x/"}},
            id="a slash",
        ),
    ],
)
def test_what_the_service_fills_in_is_no_difference(declared, found):
    spec = job(**declared)
    echo = to_wire(normalise(spec))
    echo["jobSpec"].update(found)
    assert CUSTOM_JOB.drift(spec, echo) == ()


@pytest.mark.parametrize(
    ("declared", "found", "same"),
    [
        ("projects/1/global/networks/n", "projects/1/global/networks/n", True),
        ("projects/my-project/global/networks/n", "projects/1/global/networks/n", True),
        ("projects/1/global/networks/n", "projects/1/global/networks/other", False),
        ("projects/1/global/networks/n", "projects/2/global/networks/n", False),
        ("projects/a/global/networks/n", "projects/b/global/networks/n", False),
    ],
)
def test_the_project_s_number_in_place_of_its_id_is_no_difference(declared, found, same):
    echo = to_wire(normalise(job(network=found)))
    assert (CUSTOM_JOB.drift(job(network=declared), echo) == ()) is same


def test_trailing_empty_pools_that_come_back_are_no_difference():
    spec = job(pool(), pool(2))
    echo = to_wire(spec)
    echo["jobSpec"]["workerPoolSpecs"] += [{}, {}]
    assert CUSTOM_JOB.drift(spec, echo) == ()


def test_labels_of_the_service_and_of_the_run_are_no_difference():
    echo = {**to_wire(job()), "labels": {"team": "vision", "goog-managed": "x", "vertex-training-run": "1"}}
    assert CUSTOM_JOB.drift(job(labels={"team": "vision"}), echo) == ()


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (job(pool(), pool(2)), "worker_pool_specs[1].replica_count"),
        (job(pool(image="repo/trainer:2"), pool(1)), "worker_pool_specs[0].container_spec.image_uri"),
        (job(pool(), pool(), labels={"team": "vision"}), "labels.team"),
        (job(pool(), pool(), scheduling=Scheduling(timeout="60s")), "scheduling.timeout"),
        (job(pool(), pool(), service_account="a@p.iam.gserviceaccount.com"), "service_account"),
    ],
)
def test_a_real_difference_is_found(spec, path):
    assert [change.path for change in CUSTOM_JOB.drift(spec, to_wire(job(pool(), pool())))] == [path]


def test_a_disk_that_is_not_the_default_is_found():
    echo = to_wire(normalise(job()))
    echo["jobSpec"]["workerPoolSpecs"][0]["diskSpec"]["bootDiskSizeGb"] = 200
    [change] = CUSTOM_JOB.drift(job(), echo)
    assert (change.old, change.new) == (100, 200)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"displayName": 1}, "display_name"),
        ({"displayName": "a", "jobSpec": {"workerPoolSpecs": {}}}, "worker_pool_specs"),
        ({"jobSpec": {"workerPoolSpecs": [{"replicaCount": "x"}]}}, r"worker_pool_specs\[0\].replica_count"),
    ],
)
def test_what_is_no_custom_job_is_refused_with_the_path(wire, path):
    with pytest.raises(ValueError, match=path):
        from_wire(wire)
