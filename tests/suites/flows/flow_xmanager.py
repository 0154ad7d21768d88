"""Run XManager's client of Vertex AI: it launches groups of jobs, waits for them, and stops them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from absl import flags
from google.cloud import aiplatform
from google.cloud.aiplatform import gapic
from xmanager import xm
from xmanager.cloud import auth, vertex
from xmanager.xm_local import executables, executors
from xmanager.xm_local import status as local_status

flags.FLAGS(["flow"])
IMAGE = "python:3.11"
Status = local_status.LocalWorkUnitStatusEnum


@pytest.fixture(scope="module")
def client() -> Any:
    vertex.set_default_client(vertex.Client(location="us-central1"))
    return vertex.get_default_client()


def job(program: str, *, tensorboard: Any = None, **requirements: Any) -> Any:
    image = executables.GoogleContainerRegistryImage(name="image", image_path=IMAGE)
    executor = executors.Vertex(xm.JobRequirements(**requirements), tensorboard=tensorboard)
    arguments = xm.SequentialArgs.from_collection(["python3", "-c", xm.ShellSafeArg(program)])
    return xm.Job(image, executor=executor, args=arguments)


def launched(**jobs: Any) -> Any:
    (handle,) = vertex.launch("experiment", "1", xm.JobGroup(**jobs))
    return handle


def spec_of(handle: Any) -> Any:
    return aiplatform.CustomJob.get(handle.job_name)._gca_resource.job_spec


def status_of(handle: Any) -> Any:
    return handle.get_status()._status


def test_the_project_is_the_emulators(client: Any) -> None:
    assert client.parent == "projects/local/locations/us-central1"


def test_a_job(client: Any) -> None:
    handle = launched(train=job("print(1)"))
    asyncio.run(handle.wait())
    assert status_of(handle) == Status.COMPLETED
    assert spec_of(handle).service_account == auth.get_service_account()


def test_a_job_that_fails(client: Any) -> None:
    handle = launched(train=job("raise SystemExit(3)"))
    with pytest.raises(RuntimeError, match="exited with"):
        asyncio.run(handle.wait())
    assert status_of(handle) == Status.FAILED


def test_stop(client: Any) -> None:
    handle = launched(train=job("import time; time.sleep(600)"))
    assert status_of(handle) == Status.RUNNING
    handle.stop()
    with pytest.raises(RuntimeError, match=r"(?i)cancel"):
        asyncio.run(handle.wait())
    assert status_of(handle) == Status.CANCELLED


def test_a_group_of_jobs_is_one_job_with_pools(client: Any) -> None:
    program = "import json, os; assert len(json.loads(os.environ['CLUSTER_SPEC'])['cluster']) == 2"
    handle = launched(chief=job(program), workers=job(program, replicas=2))
    asyncio.run(handle.wait())
    assert [pool.replica_count for pool in spec_of(handle).worker_pool_specs] == [1, 2]


@pytest.mark.parametrize(
    ("requirements", "machine", "accelerator", "count"),
    [
        ({"t4": 1}, "n1-standard-4", "NVIDIA_TESLA_T4", 1),
        ({"l4_24th": 1}, "g2-standard-4", "NVIDIA_L4", 1),
        ({"a100": 8}, "a2-highgpu-8g", "NVIDIA_TESLA_A100", 8),
        ({"h100": 8}, "n1-standard-4", "NVIDIA_H100_80GB", 8),
        ({"tpu_v3": 8}, "cloud-tpu", "TPU_V3", 8),
    ],
)
def test_machines(client: Any, requirements: Any, machine: str, accelerator: str, count: int) -> None:
    handle = launched(train=job("pass", **requirements))
    found = spec_of(handle).worker_pool_specs[0].machine_spec
    assert (found.machine_type, gapic.AcceleratorType(found.accelerator_type).name) == (machine, accelerator)
    assert found.accelerator_count == count


def test_a_tensorboard(client: Any) -> None:
    board = asyncio.run(client.get_or_create_tensorboard("board"))
    assert asyncio.run(client.get_or_create_tensorboard("board")) == board
    capability = executors.TensorboardCapability(name=board, base_output_directory="gs://of-xmanager/out")
    handle = launched(train=job("pass", tensorboard=capability))
    asyncio.run(handle.wait())
    assert spec_of(handle).tensorboard == board


def test_the_service_account(client: Any) -> None:
    assert auth.get_service_account() == "xmanager@local.iam.gserviceaccount.com"


def test_apis(client: Any) -> None:
    auth.enable_apis()
