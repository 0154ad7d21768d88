"""Run Prefect's worker for Vertex AI, as a work pool of type `vertex-ai` does, and Prefect's blocks."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from google.cloud import aiplatform
from google.cloud.aiplatform import gapic
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import InfrastructureNotFound
from prefect.testing.utilities import prefect_test_harness
from prefect_gcp import GcpCredentials
from prefect_gcp.cloud_storage import GcsBucket
from prefect_gcp.secret_manager import GcpSecret
from prefect_gcp.workers.vertex import VertexAIWorker, VertexAIWorkerJobConfiguration

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-16.py310:latest"
State = gapic.JobState
LOOP = asyncio.new_event_loop()
"""Prefect keeps one client of Vertex AI, which works in the event loop that it was created in."""


@flow
def nothing() -> None:
    """Do nothing: only the name of the flow is used."""


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    # Prefect's own server answers on this machine only.
    with prefect_test_harness(server_startup_timeout=500):
        yield


async def configuration(program: str, **variables: Any) -> VertexAIWorkerJobConfiguration:
    """Return what the default template of a work pool makes of its variables."""
    values = {"region": "us-central1", "image": IMAGE, "job_watch_poll_interval": 0.1, **variables}
    values["command"] = f"python3 -c {json.dumps(program)}"
    return await VertexAIWorkerJobConfiguration.from_template_and_values(
        base_job_template=VertexAIWorker.get_default_base_job_template(), values=values
    )


async def ran(program: str, *, kill: bool = False, **variables: Any) -> tuple[Any, gapic.CustomJob]:
    """Run a flow as a job of the worker. Return the worker's result, and the job."""
    async with get_client() as client, VertexAIWorker("pool") as worker:
        run = await client.create_flow_run(nothing, name="a run")
        settings = await configuration(program, **variables)
        settings.prepare_for_flow_run(run, flow=await client.read_flow(run.flow_id))
        async with anyio.create_task_group() as group:
            results: list[Any] = []

            async def task(*, task_status: Any) -> None:
                results.append(await worker.run(run, settings, task_status))

            name = await group.start(task)
            if kill:
                await worker.kill_infrastructure(name, settings)
    return results[0], aiplatform.CustomJob.get(name)._gca_resource


def test_a_run() -> None:
    result, job = LOOP.run_until_complete(
        ran("import os; assert os.environ['COLOUR'] == 'red'", env={"COLOUR": "red"})
    )
    assert (result.status_code, job.state) == (0, State.JOB_STATE_SUCCEEDED)
    assert result.identifier == job.display_name
    assert job.display_name.startswith("a run-")
    assert job.labels["prefect-io_flow-run-name"] == "a-run"
    assert job.job_spec.service_account == GcpCredentials()._service_account_email


def test_a_run_that_fails() -> None:
    result, job = LOOP.run_until_complete(ran("raise SystemExit(3)"))
    assert (result.status_code, job.state) == (1, State.JOB_STATE_FAILED)


def test_a_run_that_is_killed() -> None:
    result, job = LOOP.run_until_complete(ran("import time; time.sleep(600)", kill=True))
    assert (result.status_code, job.state) == (1, State.JOB_STATE_CANCELLED)


def test_a_job_that_is_missing() -> None:
    async def kill() -> None:
        async with VertexAIWorker("pool") as worker:
            name = "projects/local/locations/us-central1/customJobs/1234"
            await worker.kill_infrastructure(name, await configuration("pass"))

    with pytest.raises(InfrastructureNotFound):
        LOOP.run_until_complete(kill())


def test_variables_of_the_pool() -> None:
    _, job = LOOP.run_until_complete(
        ran(
            "pass",
            machine_type="g2-standard-4",
            accelerator_type="NVIDIA_L4",
            accelerator_count=1,
            boot_disk_size_gb=150,
            maximum_run_time_hours=2,
            service_account_name="trainer@local.iam.gserviceaccount.com",
            scheduling={"strategy": "SPOT", "restart_job_on_worker_restart": True},
        )
    )
    (pool,) = job.job_spec.worker_pool_specs
    machine, scheduling = pool.machine_spec, job.job_spec.scheduling
    assert (machine.machine_type, machine.accelerator_count) == ("g2-standard-4", 1)
    assert (machine.accelerator_type, pool.disk_spec.boot_disk_size_gb) == (
        gapic.AcceleratorType.NVIDIA_L4,
        150,
    )
    assert (scheduling.timeout.total_seconds(), scheduling.strategy.name) == (7200, "SPOT")
    assert scheduling.restart_job_on_worker_restart
    assert job.job_spec.service_account == "trainer@local.iam.gserviceaccount.com"


def test_a_run_of_a_deployment() -> None:
    """Let a worker find the scheduled run of a deployment in its pool."""

    async def deployed() -> Any:
        template = VertexAIWorker.get_default_base_job_template()
        for name, value in {"region": "us-central1", "image": IMAGE, "job_watch_poll_interval": 0.1}.items():
            template["variables"]["properties"][name]["default"] = value
        async with get_client() as client:
            await client.create_work_pool(
                WorkPoolCreate(name="of-vertex", type="vertex-ai", base_job_template=template)
            )
            flow_id = await client.create_flow(nothing)
            deployment = await client.create_deployment(
                flow_id,
                name="nightly",
                work_pool_name="of-vertex",
                job_variables={"command": "python3 -c pass"},
            )
            run = await client.create_flow_run_from_deployment(deployment)
            async with VertexAIWorker("of-vertex") as worker:
                assert await worker.get_and_submit_flow_runs()
            return await client.read_flow_run(run.id)

    name = LOOP.run_until_complete(deployed()).infrastructure_pid
    assert aiplatform.CustomJob.get(name).state == State.JOB_STATE_SUCCEEDED


@pytest.mark.parametrize("source", ["file", "info"])
def test_credentials_with_a_key(source: str) -> None:
    file = os.environ["GOOGLE_APPLICATION_CREDENTIALS"]
    key = {"file": file, "info": json.loads(Path(file).read_text())}[source]
    _, job = LOOP.run_until_complete(ran("pass", credentials={f"service_account_{source}": key}))
    assert job.state == State.JOB_STATE_SUCCEEDED


def test_a_bucket() -> None:
    bucket = GcsBucket(bucket="of-prefect", gcp_credentials=GcpCredentials(), bucket_folder="flows/")
    bucket.write_path("a b.txt", b"hello")
    assert bucket.read_path("a b.txt") == b"hello"
    assert [blob.name for blob in bucket.list_blobs()] == ["flows/a b.txt"]


def test_a_secret() -> None:
    secret = GcpSecret(secret_name="password", gcp_credentials=GcpCredentials())
    secret.write_secret(b"123")
    secret.write_secret(b"456")
    assert secret.read_secret() == b"456"
    secret.delete_secret()
