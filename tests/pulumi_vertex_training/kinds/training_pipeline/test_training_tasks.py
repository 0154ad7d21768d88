from __future__ import annotations

import pulumi
import pytest

import pulumi_vertex_training as vt
from support.ground.jobs import REDUCTION_SERVER
from vertex_training.fields.decode import decode
from vertex_training.job.job_spec import JobSpec
from vertex_training.job.rules.job_spec import job_spec_problems

IMAGE = "repo/trainer:1"
EXECUTOR = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"


def spec_of(task):
    return decode(JobSpec, task).spec


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="defaults"),
        pytest.param({"replica_count": 3, "args": ["--a", 1, 0.5]}, id="workers and arguments"),
        pytest.param({"timeout": 3600, "scheduling_strategy": "SPOT"}, id="scheduling"),
        pytest.param(
            {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1},
            id="accelerator",
        ),
    ],
)
def test_a_task_is_a_job_without_faults(options):
    assert list(job_spec_problems(spec_of(vt.task_from_image(IMAGE, **options)))) == []


def test_replicas_are_a_chief_and_workers():
    task = vt.task_from_image(IMAGE, replica_count=4)
    assert [pool["replica_count"] for pool in task["worker_pool_specs"]] == [1, 3]


def test_numbers_among_arguments_are_texts():
    task = vt.task_from_image(IMAGE, args=["--epochs", 3, 0.5])
    assert task["worker_pool_specs"][0]["container_spec"]["args"] == ["--epochs", "3", "0.5"]


def test_seconds_are_durations():
    task = vt.task_from_image(IMAGE, timeout=60, max_wait_duration=30)
    assert task["scheduling"] == {"timeout": "60s", "max_wait_duration": "30s"}


def test_reduction_servers_stand_in_the_third_place():
    task = vt.task_from_image(
        IMAGE,
        reduction_server_replica_count=2,
        reduction_server_machine_type="n1-highcpu-16",
        reduction_server_container_uri=REDUCTION_SERVER,
    )
    assert task["worker_pool_specs"][1] == {}
    assert task["worker_pool_specs"][2]["replica_count"] == 2


def test_a_package_by_its_address():
    task = vt.task_from_package("gs://b/t.tar.gz", container_uri=EXECUTOR, python_module="trainer.task")
    package = task["worker_pool_specs"][0]["python_package_spec"]
    assert (package["package_uris"], package["python_module"]) == (["gs://b/t.tar.gz"], "trainer.task")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(
            lambda: vt.task_from_image(IMAGE, machine_typ="x"), "did you mean machine_type?", id="misspelt"
        ),
        pytest.param(
            lambda: vt.task_from_package("gs://b/t.tar.gz", container_uri=EXECUTOR),
            "python_module is missing",
            id="no module",
        ),
        pytest.param(
            lambda: vt.task_from_image(IMAGE, reduction_server_replica_count=1),
            "needs reduction_server_machine_type",
            id="reduction servers of no machine",
        ),
        pytest.param(lambda: vt.task_from_image(IMAGE, replica_count=0), "replica_count", id="no replica"),
    ],
)
def test_what_cannot_be_a_task(make, words):
    with pytest.raises(pulumi.RunError, match="(?s).*" + words.replace("?", "[?]")):
        make()
