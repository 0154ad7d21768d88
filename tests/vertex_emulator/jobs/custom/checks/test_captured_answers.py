"""A request of a public notebook, and what the real service answered, word for word.

The notebook is "UJ2,12 Custom Training Prebuilt Container TF Keras" of GoogleCloudPlatform/vertex-ai-samples,
run in February 2021. Two things are not as captured: the name of the bucket, and the
accelerator, which was an NVIDIA_TESLA_K80. The service has refused those since.
"""

from __future__ import annotations

import re

import pytest

from support.emulated.job_emulator import PARENT, JobEmulator

SENT = {
    "displayName": "custom_job_TF_20210227173057",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {
                    "machineType": "n1-standard-4",
                    "acceleratorType": "NVIDIA_TESLA_T4",
                    "acceleratorCount": 1,
                },
                "replicaCount": 1,
                "pythonPackageSpec": {
                    "executorImageUri": "gcr.io/cloud-aiplatform/training/tf-gpu.2-1:latest",
                    "packageUris": ["gs://bucket/trainer_cifar.tar.gz"],
                    "pythonModule": "trainer.task",
                    "args": ["--model-dir=gs://bucket/model", "--epochs=20"],
                },
            }
        ]
    },
}


@pytest.mark.parity("The interface: names", same="the number is computed from the id")
@pytest.mark.parity("Custom jobs: create, get, list")
def test_the_answer_of_a_creation(emulator: JobEmulator) -> None:
    """Expect the project's number for its id, a count as text, a boot disk, one time, and nothing else."""
    answer = emulator.call("POST", f"{PARENT}/customJobs", SENT).json()
    name, created = answer.pop("name"), answer.pop("createTime")
    assert re.fullmatch(r"projects/\d+/locations/us-central1/customJobs/\d+", name)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", created)
    assert answer == {
        "displayName": "custom_job_TF_20210227173057",
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {
                        "machineType": "n1-standard-4",
                        "acceleratorType": "NVIDIA_TESLA_T4",
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
        "updateTime": created,
    }
