"""Google's clients and faults, and stale lists of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from google.api_core import exceptions
from google.api_core.retry import Retry
from google.cloud import aiplatform_v1
from google.cloud.aiplatform_v1.services.job_service.transports import JobServiceRestTransport

from support.emulated.emulator import found_sandbox, storage_client
from support.emulated.job_emulator import IMAGE, SLEEP, JobEmulator, Token, running_jobs
from support.waiting import eventually
from vertex_emulator.client.control import Control

PARENT = "projects/local/locations/us-central1"
LIST = "JobService.ListCustomJobs"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobEmulator]:
    with running_jobs(tmp_path / "data", sandbox=found_sandbox()) as found:
        yield found
        Control(url=found.daemon.url, token=found.daemon.token).clear_faults()
        names = [each["name"] for each in found.call("GET", "/_local/jobs").json()["jobs"]]
        for name in names:
            found.cancel(name)
        for name in names:
            found.wait(name)


@pytest.fixture
def control(jobs: JobEmulator) -> Control:
    return Control(url=jobs.daemon.url, token=jobs.daemon.token)


@pytest.fixture
def client(jobs: JobEmulator) -> Iterator[Any]:
    """Google's client of Vertex AI."""
    transport = JobServiceRestTransport(
        host=jobs.daemon.url.removeprefix("http://"),
        url_scheme="http",
        credentials=Token(jobs.daemon.token),
    )
    transport._session.trust_env = False
    with aiplatform_v1.JobServiceClient(transport=transport) as made:
        yield made


def declared(name: str, code: str = "") -> Any:
    task = aiplatform_v1.ContainerSpec(image_uri=IMAGE, command=["python3", "-c", code])
    machine = aiplatform_v1.MachineSpec(machine_type="n1-standard-4")
    pool = aiplatform_v1.WorkerPoolSpec(machine_spec=machine, replica_count=1, container_spec=task)
    return aiplatform_v1.CustomJob(
        display_name=name, job_spec=aiplatform_v1.CustomJobSpec(worker_pool_specs=[pool])
    )


def listed(client: Any, **request: Any) -> list[str]:
    found = client.list_custom_jobs(request={"parent": PARENT, **request})
    return [each.display_name for each in found]


def test_a_retrying_client_survives_503(client: Any, control: Control) -> None:
    control.add_fault({"method": LIST, "status": 503, "times": 2})
    retry = Retry(initial=0.01, maximum=0.02, timeout=10)
    assert list(client.list_custom_jobs(parent=PARENT, retry=retry)) == []
    assert control.requests()["counts"] == {LIST: 3}


def test_a_client_that_does_not_retry_gets_the_error(client: Any, control: Control) -> None:
    control.add_fault({"method": LIST, "status": 429, "message": "Quota exceeded."})
    with pytest.raises(exceptions.TooManyRequests, match=r"Quota exceeded\."):
        client.list_custom_jobs(parent=PARENT)


def test_the_storage_client_survives_503_and_a_lost_answer(jobs: JobEmulator, control: Control) -> None:
    with storage_client(jobs.daemon.storage_url) as storage:
        bucket = storage.create_bucket("unreliable", location="us-central1")
        control.add_fault({"method": "storage.objects.list", "status": 503})
        control.add_fault({"method": "storage.buckets.get", "drop": "after"})
        bucket.blob("o").upload_from_string(b"data")
        assert [blob.name for blob in storage.list_blobs(bucket)] == ["o"]
        assert storage.get_bucket("unreliable").name == "unreliable"
    assert [each["fired"] for each in control.faults()] == [1, 1]


def test_a_create_whose_answer_is_lost_makes_one_job(client: Any, control: Control) -> None:
    control.add_fault({"method": "CreateCustomJob", "drop": "after"})
    with pytest.raises(requests.ConnectionError):
        client.create_custom_job(parent=PARENT, custom_job=declared("once"))
    assert listed(client) == ["once"]


def test_a_create_that_does_not_arrive_makes_none(client: Any, control: Control) -> None:
    control.add_fault({"method": "CreateCustomJob", "drop": "before"})
    with pytest.raises(requests.ConnectionError):
        client.create_custom_job(parent=PARENT, custom_job=declared("never"))
    assert listed(client) == []


def test_a_create_that_a_client_gave_up_waiting_for_is_carried_out(client: Any, control: Control) -> None:
    control.add_fault({"method": "CreateCustomJob", "drop": "after", "stall": 2})
    with pytest.raises((requests.Timeout, exceptions.RetryError)):
        client.create_custom_job(parent=PARENT, custom_job=declared("slow"), timeout=0.8)
    eventually(lambda: listed(client) == ["slow"])


def test_a_list_that_does_not_show_the_last_job_yet(client: Any, control: Control) -> None:
    client.create_custom_job(parent=PARENT, custom_job=declared("first"))
    client.create_custom_job(parent=PARENT, custom_job=declared("second"))
    control.add_fault({"method": LIST, "stale": {"changes": 1}})
    assert listed(client) == ["first"]
    assert listed(client) == ["second", "first"]
    control.add_fault({"method": "*", "stale": {"changes": 2}})
    assert listed(client) == []
    assert listed(client) == ["second", "first"]


def test_a_list_that_shows_a_deleted_job_as_it_was(client: Any, control: Control, jobs: JobEmulator) -> None:
    gone = client.create_custom_job(parent=PARENT, custom_job=declared("gone")).name
    assert jobs.wait(gone)["state"] == "JOB_STATE_SUCCEEDED"
    client.create_custom_job(parent=PARENT, custom_job=declared("kept"))
    client.delete_custom_job(name=gone)
    assert listed(client) == ["kept"]
    control.add_fault({"method": LIST, "stale": {"changes": 1}, "times": 3})
    found = list(client.list_custom_jobs(parent=PARENT))
    assert [(each.display_name, each.state.name) for each in found[1:]] == [("gone", "JOB_STATE_SUCCEEDED")]
    assert listed(client, filter='display_name="gone"') == ["gone"]
    assert listed(client, filter='display_name="other"') == []
    with pytest.raises(exceptions.NotFound):
        client.get_custom_job(name=gone)


def test_a_list_as_it_was_some_seconds_ago(client: Any, control: Control, jobs: JobEmulator) -> None:
    """Let time pass by the emulator's clock alone."""

    def states(seconds: float) -> list[str]:
        control.add_fault({"method": LIST, "stale": {"seconds": seconds}})
        return [each.state.name for each in client.list_custom_jobs(parent=PARENT)]

    control.freeze_clock()
    name = client.create_custom_job(parent=PARENT, custom_job=declared("sleeper", SLEEP)).name
    jobs.wait(name, "JOB_STATE_RUNNING")
    control.advance_clock(2)
    jobs.cancel(name)
    jobs.wait(name)
    assert states(600) == []
    assert states(1) == ["JOB_STATE_RUNNING"]
    assert states(0) == ["JOB_STATE_CANCELLED"]


def test_pages_of_a_stale_list(client: Any, control: Control) -> None:
    for number in range(5):
        client.create_custom_job(parent=PARENT, custom_job=declared(f"job-{number}"))
    control.add_fault({"method": LIST, "stale": {"changes": 1}, "times": "always"})
    assert listed(client, page_size=2) == ["job-3", "job-2", "job-1", "job-0"]
    assert control.requests()["counts"][LIST] == 2
