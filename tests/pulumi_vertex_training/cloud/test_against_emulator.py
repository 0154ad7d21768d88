"""The gateways against a real emulator: the calls of a job's and a bucket's whole life."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import emulator_api, errors, logs, objects, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.services.training import SLEEP, job, pool
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

_numbers = itertools.count(1)


def ended(endpoint: Endpoint, record: JobRecord) -> JobRecord:
    eventually(lambda: custom_jobs.get(endpoint, record.name).state.is_terminal)
    return custom_jobs.get(endpoint, record.name)


@pytest.fixture
def bucket(emulator: Endpoint) -> Iterator[str]:
    name = f"gateway-{next(_numbers)}"
    buckets.create(emulator, {"name": name, "location": "us-central1"})
    yield name
    if name in {item["name"] for item in _all_buckets(emulator)}:
        buckets.delete(emulator, name, force=True)


def _all_buckets(endpoint: Endpoint) -> list[dict[str, str]]:
    url = f"{endpoint.storage_api_url}/storage/v1/b"
    return list(rest.call(endpoint, "GET", url, query={"project": endpoint.project}).get("items", []))


def test_the_life_of_a_job(emulator: Endpoint, bucket: str) -> None:
    # The job ends with its chief, which therefore waits until the worker has spoken.
    chief = (
        "import os, time; print('from the chief', flush=True)\n"
        f"while not os.path.exists('/gcs/{bucket}/end'): time.sleep(0.05)"
    )
    programs = [chief, "import sys; print('from a worker', file=sys.stderr, flush=True); " + SLEEP]
    labels = {"run": "abc-1", "kind": "life"}
    created = custom_jobs.create(emulator, job("life", *programs, labels=labels))
    assert created.state is JobState.JOB_STATE_PENDING
    assert created.name.startswith("projects/")
    assert created.labels == labels
    assert [one.name for one in custom_jobs.list_by_label(emulator, labels)] == [created.name]
    assert custom_jobs.list_by_label(emulator, {"run": "abc"}) == []
    # By project id, as the user writes it, and by number, as the service does.
    by_id = f"projects/local/locations/us-central1/customJobs/{created.job_id}"
    assert custom_jobs.get(emulator, by_id).name == created.name
    eventually(lambda: "from a worker" in {entry.message for entry in logs.entries(emulator, created.job_id)})
    objects.upload(emulator, bucket, "end", b"")
    over = ended(emulator, created)
    assert over.state is JobState.JOB_STATE_SUCCEEDED, over.error
    assert over.create_time and over.start_time and over.end_time
    assert over.create_time <= over.start_time <= over.end_time
    assert created.name not in [one.name for one in custom_jobs.list_live(emulator)]
    replicas = emulator_api.replicas(emulator, created.job_id)
    assert replicas is not None
    assert [(one.name, one.role, one.state) for one in replicas] == [
        ("workerpool0-0", "chief", "succeeded"),
        ("workerpool1-0", "worker", "stopped"),
    ]
    assert replicas[0].exit_code == 0
    by_task: dict[str, list[str]] = {}
    entries = list(logs.entries(emulator, created.job_id))
    for entry in entries:
        by_task.setdefault(entry.task, []).append(entry.message)
    assert "from the chief" in by_task["workerpool0-0"]
    assert "from a worker" in by_task["workerpool1-0"]
    assert "Job is running." in by_task[""]
    assert [one.order for one in entries] == sorted(one.order for one in entries)
    only = list(logs.entries(emulator, created.job_id, task="workerpool0-0"))
    assert {one.task for one in only} == {"workerpool0-0"}
    custom_jobs.delete(emulator, created.name)
    for gone in (custom_jobs.get, custom_jobs.delete, custom_jobs.cancel):
        with pytest.raises(errors.NotFound):
            gone(emulator, created.name)


def test_a_live_job_is_listed_cancelled_and_not_deleted_before(emulator: Endpoint) -> None:
    created = custom_jobs.create(emulator, job('say "hi"', SLEEP, labels={"run": "live-1"}))
    eventually(lambda: custom_jobs.get(emulator, created.name).state is JobState.JOB_STATE_RUNNING)
    assert [one.name for one in custom_jobs.list_live(emulator, labels={"run": "live-1"})] == [created.name]
    assert created.name in [one.name for one in custom_jobs.list_live(emulator)]
    assert [one.name for one in custom_jobs.list_by_display_name(emulator, 'say "hi"')] == [created.name]
    with pytest.raises(errors.FailedPrecondition, match="RUNNING"):
        custom_jobs.delete(emulator, created.name)
    custom_jobs.cancel(emulator, created.name)
    over = ended(emulator, created)
    assert over.state is JobState.JOB_STATE_CANCELLED
    assert over.error is not None and over.error.code == 1
    with pytest.raises(errors.FailedPrecondition, match="cannot be cancel"):
        custom_jobs.cancel(emulator, created.name)
    assert custom_jobs.list_live(emulator, labels={"run": "live-1"}) == []
    custom_jobs.delete(emulator, created.name)


def test_a_log_is_followed_while_it_is_written(emulator: Endpoint) -> None:
    """Check that the log comes while the job runs: the job only ends once its last line was seen."""
    hold = "\ntime.sleep(600)"
    chief = "import time\nfor i in range(30): print('step', i, flush=True); time.sleep(0.05)" + hold
    worker = "import time\nfor i in range(1000): print('worker', i, flush=True)" + hold
    created = custom_jobs.create(emulator, job("followed", chief, worker))

    def is_over() -> bool:
        return custom_jobs.get(emulator, created.name).state.is_terminal

    last_lines = {"step 29", "worker 999"}
    entries = []
    for entry in logs.follow(emulator, created.job_id, ended=is_over, poll=0.1):
        entries.append(entry)
        if entry.message in last_lines:
            last_lines.remove(entry.message)
            if not last_lines:
                custom_jobs.cancel(emulator, created.name)
    assert not last_lines
    steps = [one.message for one in entries if one.message.startswith("step")]
    assert steps == [f"step {number}" for number in range(30)]
    workers = [one.message for one in entries if one.message.startswith("worker")]
    assert workers == [f"worker {number}" for number in range(1000)]
    assert len({(one.timestamp, one.insert_id) for one in entries}) == len(entries)
    assert sorted(one.order for one in entries) == sorted(
        one.order for one in logs.entries(emulator, created.job_id)
    )


def test_a_failed_job_says_why(emulator: Endpoint) -> None:
    created = custom_jobs.create(emulator, job("fails", "raise SystemExit('no data')"))
    over = ended(emulator, created)
    assert over.state is JobState.JOB_STATE_FAILED
    assert over.error is not None
    assert "The replica workerpool0-0 exited with a non-zero status of 1" in over.error.message
    assert "no data" in over.error.message


def test_what_the_service_refuses_comes_back_by_field(emulator: Endpoint) -> None:
    bad = job("bad", SLEEP)
    bad["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["acceleratorType"] = "NVIDIA_TESLA_T4"
    bad["labels"] = {"Bad Label": "x"}
    with pytest.raises(errors.InvalidArgument) as caught:
        custom_jobs.create(emulator, bad)
    paths = [path for path, _ in caught.value.violations]
    assert any(path.endswith("worker_pool_specs[0].machine_spec.accelerator_type") for path in paths), paths
    assert "acceler" in str(caught.value)


def test_an_image_that_the_emulator_cannot_run(emulator: Endpoint) -> None:
    foreign = job("foreign", SLEEP)
    foreign["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["imageUri"] = "example.com/own:1"
    with pytest.raises((errors.Unimplemented, errors.FailedPrecondition), match=r"example\.com/own:1"):
        custom_jobs.create(emulator, foreign)


def test_jobs_of_another_location_are_not_listed(emulator: Endpoint) -> None:
    elsewhere = dataclasses.replace(emulator, location="europe-west4")
    created = custom_jobs.create(elsewhere, job("elsewhere", "pass"))
    assert created.name not in [one.name for one in custom_jobs.list_jobs(emulator)]
    assert created.name in [one.name for one in custom_jobs.list_jobs(elsewhere)]
    ended(elsewhere, created)


def test_many_jobs_over_several_pages_newest_first(emulator: Endpoint) -> None:
    place = dataclasses.replace(emulator, location="europe-west1")
    created = [custom_jobs.create(place, job(f"many-{number}", "pass")) for number in range(5)]
    paged = dataclasses.replace(custom_jobs.GATEWAY, page_size=2)
    listed = [one.name for one in paged.list_jobs(place)]
    assert listed == [one.name for one in reversed(created)]
    for one in created:
        ended(place, one)


def test_a_wrong_token(emulator: Endpoint) -> None:
    stranger = dataclasses.replace(emulator, token="wrong")
    with pytest.raises(errors.Unauthenticated):
        custom_jobs.list_jobs(stranger)
    with pytest.raises(errors.Unauthenticated):
        objects.read(stranger, "b", "o")
    with pytest.raises(errors.Unauthenticated):
        objects.upload(stranger, "b", "o", b"x")


def test_the_life_of_a_bucket(emulator: Endpoint) -> None:
    wire = {
        "name": "life-of-a-bucket",
        "location": "us-central1",
        "labels": {"team": "ml", "old": "yes"},
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True},
            "publicAccessPrevention": "enforced",
        },
        "versioning": {"enabled": True},
    }
    made = buckets.create(emulator, wire)
    assert (made.location, made.metageneration) == ("US-CENTRAL1", 1)
    assert made.wire["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    assert buckets.get(emulator, made.name) == made
    with pytest.raises(errors.AlreadyExists):
        buckets.create(emulator, wire)
    changed = buckets.patch(emulator, made.name, {"labels": {"old": None, "new": "1"}})
    assert changed.wire["labels"] == {"team": "ml", "new": "1"}
    assert changed.metageneration == 2
    with pytest.raises(errors.Conflict):
        buckets.patch(emulator, made.name, {"labels": {}}, if_metageneration_match=1)
    for content in (b"one", b"two", b"three"):
        objects.upload(emulator, made.name, "dir/a name?", content)
    objects.delete(emulator, made.name, "dir/a name?")
    objects.upload(emulator, made.name, "other", b"x")
    with pytest.raises(errors.FailedPrecondition, match="force_destroy"):
        buckets.delete(emulator, made.name)
    reported: list[int] = []
    buckets.delete(emulator, made.name, force=True, tell=reported.append)
    assert reported == [4]
    for gone in (buckets.get, buckets.delete):
        with pytest.raises(errors.NotFound):
            gone(emulator, made.name)


def test_a_bad_bucket_name_and_a_missing_bucket(emulator: Endpoint) -> None:
    with pytest.raises(errors.InvalidArgument):
        buckets.create(emulator, {"name": "Not A Bucket", "location": "us-central1"})
    with pytest.raises(errors.NotFound):
        objects.get(emulator, "no-such-bucket", "o")
    with pytest.raises(errors.NotFound):
        objects.upload(emulator, "no-such-bucket", "o", b"x")
    with pytest.raises(errors.NotFound):
        list(objects.list_objects(emulator, "no-such-bucket"))
    assert objects.find(emulator, "no-such-bucket", "o") is None


NAMES = ["plain", "dir/sub/file.tar.gz", "a b+c%20&d=e?f#g", "ünï/cödé", "colon:in:name", "trailing/"]


@pytest.mark.parametrize("name", NAMES)
def test_an_object_of_any_name(emulator: Endpoint, bucket: str, tmp_path: Path, name: str) -> None:
    content = name.encode() * 100
    record = objects.upload(emulator, bucket, name, content, content_type="text/plain", metadata={"k": "v"})
    assert (record.name, record.size) == (name, len(content))
    assert objects.get(emulator, bucket, name) == record
    assert (record.content_type, record.metadata) == ("text/plain", {"k": "v"})
    assert objects.read(emulator, bucket, name) == content
    objects.download(emulator, bucket, name, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == content
    assert [one.name for one in objects.list_objects(emulator, bucket, prefix=name)] == [name]
    objects.delete(emulator, bucket, name)
    with pytest.raises(errors.NotFound):
        objects.read(emulator, bucket, name)
    with pytest.raises(errors.NotFound):
        objects.delete(emulator, bucket, name)
    assert objects.find(emulator, bucket, name) is None


def uploads(endpoint: Endpoint) -> int:
    """Return the number of upload requests that the emulator has received; its log has only the last ones."""
    counts = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/requests")["counts"]
    return int(counts.get("storage.objects.insert", 0))


def test_a_big_file_goes_up_once(emulator: Endpoint, bucket: str, tmp_path: Path) -> None:
    file = tmp_path / "big"
    content = hashlib.sha256(b"seed").digest() * (20 * 1024 * 1024 // 32)  # more than one multipart request
    file.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    first = objects.ensure(emulator, bucket, "big", file, sha256=digest)
    assert first.sent
    assert first.record.metadata == {"sha256": digest}
    before = uploads(emulator)
    second = objects.ensure(emulator, bucket, "big", file, sha256=digest)
    assert not second.sent
    assert second.record == first.record
    assert uploads(emulator) == before > 0
    changed = bytearray(content)
    changed[-1] ^= 1
    third = objects.ensure(emulator, bucket, "big", bytes(changed))
    assert third.sent
    assert third.record.generation > first.record.generation
    target = tmp_path / "back"
    objects.download(emulator, bucket, "big", target)
    assert target.read_bytes() == bytes(changed)


def test_a_generation_that_has_passed(emulator: Endpoint, bucket: str) -> None:
    first = objects.upload(emulator, bucket, "o", b"1", if_generation_match=0)
    with pytest.raises(errors.Conflict):
        objects.upload(emulator, bucket, "o", b"2", if_generation_match=0)
    second = objects.upload(emulator, bucket, "o", b"2", if_generation_match=first.generation)
    with pytest.raises(errors.NotFound):
        objects.delete(emulator, bucket, "o", generation=first.generation)
    objects.delete(emulator, bucket, "o", generation=second.generation)


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of a separate emulator, and stop that emulator afterwards."""
    yield tmp_path
    emulator_reset.reset(tmp_path)


def test_the_same_clients_work_after_a_restart(data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    def endpoint() -> Endpoint:
        running = launcher.ensure(data_dir)
        return Endpoint(
            kind="emulator", project="local", location="us-central1", url=running.url, token=running.token
        )

    before = endpoint()
    created = custom_jobs.create(before, job("survivor", SLEEP, labels={"run": "s-1"}))
    buckets.create(before, {"name": "survives", "location": "us-central1"})
    launcher.stop(data_dir)
    caplog.set_level("DEBUG", "google.api_core")
    for call in (
        lambda: custom_jobs.get(before, created.name),
        lambda: buckets.get(before, "survives"),
        lambda: objects.find(before, "survives", "o"),
        lambda: list(logs.entries(before, created.job_id)),
    ):
        with pytest.raises(errors.Unavailable, match="vertex-training emulator start"):
            call()
    assert "Retrying" not in caplog.text, "a refused connection is not tried again"
    assert endpoint() == before, "the address and the token stay the same"
    assert custom_jobs.get(before, created.name).name == created.name
    assert buckets.get(before, "survives").name == "survives"
    custom_jobs.cancel(before, created.name)
    ended(before, created)


def test_a_job_of_five_replicas_has_five_states(emulator: Endpoint) -> None:
    wire = job("five", SLEEP)
    wire["jobSpec"]["workerPoolSpecs"] += [pool(SLEEP, replicas=3), {}, pool(SLEEP)]
    created = custom_jobs.create(emulator, wire)

    def all_running() -> tuple[emulator_api.ReplicaState, ...]:
        found = emulator_api.replicas(emulator, created.job_id) or ()
        return found if len(found) == 5 and all(one.state == "running" for one in found) else ()

    replicas = eventually(all_running)
    assert [(one.name, one.role) for one in replicas] == [
        ("workerpool0-0", "chief"),
        ("workerpool1-0", "worker"),
        ("workerpool1-1", "worker"),
        ("workerpool1-2", "worker"),
        ("workerpool3-0", "evaluator"),
    ]
    assert {one.exit_code for one in replicas} == {None}
    custom_jobs.cancel(emulator, created.name)
    ended(emulator, created)
    after = emulator_api.replicas(emulator, created.job_id) or ()
    assert {one.state for one in after} == {"stopped"}


def test_replicas_of_a_missing_job_and_of_google(emulator: Endpoint) -> None:
    with pytest.raises(errors.NotFound):
        emulator_api.replicas(emulator, "12345")
    google = Endpoint(kind="google", project="p", location="us-central1", token="t")
    assert emulator_api.replicas(google, "12345") is None
