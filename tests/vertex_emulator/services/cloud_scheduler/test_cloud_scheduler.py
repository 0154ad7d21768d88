"""Cloud Scheduler in the emulator, by Google's own client over gRPC and by its clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import scheduler_v1
from google.cloud.scheduler_v1.services.cloud_scheduler.transports import CloudSchedulerGrpcTransport
from google.protobuf.field_mask_pb2 import FieldMask

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import Answer, call, running
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon

PARENT = "projects/local/locations/us-central1"
DATASETS = f"https://us-central1-aiplatform.googleapis.com/v1/{PARENT}/datasets"
BODY = {
    "displayName": "made",
    "metadataSchemaUri": "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml",
    "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://b/a.csv"]}}},
}
DAY = 86_400


class Scheduler:
    """An emulator with a frozen clock, and Google's client of Cloud Scheduler."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.client = scheduler_v1.CloudSchedulerClient(
            transport=CloudSchedulerGrpcTransport(channel=connected(daemon, daemon.token))
        )

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        return call(self.daemon.url, method, path, body=body, token=self.daemon.token)

    def advance(self, seconds: float) -> None:
        assert self.call("POST", "/_local/clock/advance", {"seconds": seconds}).status == 200

    def create(self, name: str, schedule: str = "0 3 * * *", **fields: Any) -> scheduler_v1.Job:
        job = {
            "name": f"{PARENT}/jobs/{name}",
            "schedule": schedule,
            "http_target": {
                "uri": DATASETS,
                "headers": {"Content-Type": "application/json"},
                "body": json.dumps({**BODY, "labels": {"by": name}}).encode(),
            },
            **fields,
        }
        return self.client.create_job(parent=PARENT, job=job)

    def get(self, name: str) -> scheduler_v1.Job:
        return self.client.get_job(name=f"{PARENT}/jobs/{name}")

    def made(self, name: str) -> int:
        """Return the number of datasets that the calls of a job have made."""
        found = self.call("GET", f"/v1/{PARENT}/datasets?filter=labels.by%3D{name}").json()
        return len(found.get("datasets", []))


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        found = Scheduler(daemon)
        found.call("POST", "/_local/clock/freeze", {})
        yield found


@pytest.mark.parity(
    "Schedules: jobs of Cloud Scheduler",
    own_way="the same methods, over gRPC and REST; the clock of the emulator decides when a job is due",
)
def test_a_job_calls_at_each_time_of_its_schedule(scheduler: Scheduler) -> None:
    job = scheduler.create("daily", time_zone="Asia/Tokyo")
    assert (job.state, job.time_zone) == (scheduler_v1.Job.State.ENABLED, "Asia/Tokyo")
    first = job.schedule_time
    scheduler.advance(DAY)
    eventually(lambda: scheduler.made("daily") == 1)
    eventually(lambda: scheduler.get("daily").last_attempt_time)
    assert scheduler.get("daily").schedule_time - first == timedelta(days=1)
    scheduler.advance(3 * DAY)
    eventually(lambda: scheduler.made("daily") == 4)
    assert scheduler.get("daily").status.code == 0


@pytest.mark.parity("Schedules: jobs of Cloud Scheduler")
def test_a_paused_job_calls_only_on_demand(scheduler: Scheduler) -> None:
    name = scheduler.create("paused").name
    paused = scheduler.client.pause_job(name=name)
    assert paused.state == scheduler_v1.Job.State.PAUSED
    assert not paused.schedule_time
    with pytest.raises(exceptions.FailedPrecondition, match="not enabled"):
        scheduler.client.pause_job(name=name)
    scheduler.advance(DAY)
    scheduler.client.run_job(name=name)
    eventually(lambda: scheduler.made("paused") == 1)
    resumed = scheduler.client.resume_job(name=name)
    assert resumed.state == scheduler_v1.Job.State.ENABLED
    with pytest.raises(exceptions.FailedPrecondition, match="not paused"):
        scheduler.client.resume_job(name=name)
    scheduler.advance(DAY)
    eventually(lambda: scheduler.made("paused") == 2)


@pytest.mark.parity("Schedules: jobs of Cloud Scheduler")
def test_an_update_replaces_the_fields_of_its_mask(scheduler: Scheduler) -> None:
    job = scheduler.create("changed", description="before", retry_config={"retry_count": 2})
    job.schedule, job.time_zone, job.description = "*/5 * * * *", "Asia/Seoul", "ignored"
    changed = scheduler.client.update_job(
        job=job, update_mask=FieldMask(paths=["schedule", "time_zone", "retry_config"])
    )
    assert (changed.schedule, changed.time_zone, changed.description) == (
        "*/5 * * * *",
        "Asia/Seoul",
        "before",
    )
    assert changed.retry_config.retry_count == 2
    assert changed.schedule_time.minute % 5 == 0


@pytest.mark.parity("Schedules: jobs of Cloud Scheduler")
def test_jobs_are_listed_by_name_and_deleted(scheduler: Scheduler) -> None:
    for name in ("list-b", "list-a", "list-c"):
        scheduler.create(name)
    pages = scheduler.client.list_jobs(request={"parent": PARENT, "page_size": 2})
    listed = [job.name.rpartition("/")[2] for job in pages]
    assert [name for name in listed if name.startswith("list-")] == ["list-a", "list-b", "list-c"]
    with pytest.raises(exceptions.InvalidArgument, match="The page size is -"):
        scheduler.client.list_jobs(request={"parent": PARENT, "page_size": -1})
    scheduler.client.delete_job(name=f"{PARENT}/jobs/list-b")
    with pytest.raises(exceptions.NotFound):
        scheduler.get("list-b")
    with pytest.raises(exceptions.AlreadyExists):
        scheduler.create("list-a")


@pytest.mark.parity(
    "Schedules: retries of Cloud Scheduler",
    own_way="the same; max_retry_duration is not used, because there are at most five retries",
)
def test_a_failed_call_is_recorded_and_tried_again(scheduler: Scheduler) -> None:
    target = {"uri": DATASETS, "headers": {"Content-Type": "application/json"}, "body": b"{}"}
    retries = {"retry_count": 1, "max_retry_duration": {"seconds": 1}}
    scheduler.create("failing", http_target=target, retry_config=retries)
    scheduler.advance(DAY)
    failed = eventually(lambda: (job := scheduler.get("failing")).status.code and job)
    assert failed.status.code == 3, "INVALID_ARGUMENT"
    first = failed.last_attempt_time
    scheduler.advance(6)
    eventually(lambda: scheduler.get("failing").last_attempt_time > first)


@pytest.mark.parity("Schedules: cron expressions")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"schedule": "0 25 * * *"}, "schedule"),
        ({"schedule": "every 24 hours"}, "five fields"),
        ({"time_zone": "Mars/Base"}, "Mars/Base"),
        ({"attempt_deadline": {"seconds": 5}}, "attempt_deadline"),
        ({"retry_config": {"retry_count": 9}}, "retry_count"),
    ],
)
def test_an_invalid_job_is_rejected(scheduler: Scheduler, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=words):
        scheduler.create("invalid", **fields)


@pytest.mark.parity(
    "Schedules: targets of Cloud Scheduler",
    not_done="only the APIs of Google that the emulator serves; no token is checked",
)
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"http_target": {"uri": "https://example.com/x"}}, "only the APIs of Google"),
        ({"http_target": None, "pubsub_target": {"topic_name": "projects/p/topics/t"}}, "pubsub_target"),
    ],
)
def test_another_target_is_not_implemented(scheduler: Scheduler, target: dict[str, Any], words: str) -> None:
    with pytest.raises(exceptions.MethodNotImplemented, match=words):
        scheduler.create("elsewhere", **target)


@pytest.mark.parity("Schedules: jobs of Cloud Scheduler")
def test_jobs_survive_the_emulator_and_make_up_for_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        first = Scheduler(daemon)
        first.call("POST", "/_local/clock/freeze", {})
        first.create("kept")
        before = first.get("kept").schedule_time
    with running(tmp_path / "data") as daemon:
        second = Scheduler(daemon)
        assert second.get("kept").schedule_time == before
        second.advance(DAY)
        eventually(lambda: second.made("kept") == 1)


def test_the_emulator_keeps_running_for_a_job_that_is_not_paused(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        scheduler = Scheduler(daemon)
        assert not daemon._jobs.is_needed()
        name = scheduler.create("needed").name
        assert daemon._jobs.is_needed()
        scheduler.client.pause_job(name=name)
        assert not daemon._jobs.is_needed()
