from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.tensorboard.mirror import Mirror, Source, source_of
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.emulated.emulator import running

BUCKET = "logs-bucket"
JOB = Source(name="train-1", directory=f"gs://{BUCKET}/train/")
STUDY = Source(name="search-2", directory=f"gs://{BUCKET}/search/", has_trials=True)


@dataclass(frozen=True, kw_only=True)
class Logs:
    """A bucket with logs, and the folder of their copy."""

    endpoint: Endpoint
    folder: Path
    mirror: Mirror

    def write(self, name: str, content: bytes) -> None:
        objects.upload(self.endpoint, BUCKET, name, content)

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    with running(tmp_path / "emulator") as daemon:
        endpoint = Endpoint(
            kind="emulator", project="local", location="us-central1", url=daemon.url, token=daemon.token
        )
        folder = tmp_path / "copy"
        folder.mkdir()
        yield Logs(endpoint=endpoint, folder=folder, mirror=Mirror(folder, [JOB, STUDY]))


def test_logs_of_jobs_and_trials_are_copied_and_nothing_else(logs: Logs) -> None:
    assert logs.mirror.refresh(logs.endpoint) == 0  # there is no bucket yet
    buckets.create(logs.endpoint, {"name": BUCKET, "location": "us-central1"})
    assert logs.mirror.refresh(logs.endpoint) == 0
    for name in (
        "train/logs/events.out.tfevents.1",
        "train/logs/validation/events.out.tfevents.2",
        "train/model/model.bin",
        "train/checkpoints/1",
        "search/1/logs/events.out.tfevents.3",
        "search/12/logs/events.out.tfevents.4",
        "search/1/model/model.bin",
        "other/logs/events.out.tfevents.5",
    ):
        logs.write(name, name.encode())
    assert logs.mirror.refresh(logs.endpoint) == 4
    assert sorted(logs.files()) == [
        "search-2/trial-1/events.out.tfevents.3",
        "search-2/trial-12/events.out.tfevents.4",
        "train-1/events.out.tfevents.1",
        "train-1/validation/events.out.tfevents.2",
    ]
    assert logs.mirror.refresh(logs.endpoint) == 0


def test_a_file_that_grows_stays_the_same_file(logs: Logs) -> None:
    buckets.create(logs.endpoint, {"name": BUCKET, "location": "us-central1"})
    logs.write("train/logs/events", b"one")
    logs.mirror.refresh(logs.endpoint)
    with (logs.folder / "train-1" / "events").open("rb") as opened:
        assert opened.read() == b"one"
        logs.write("train/logs/events", b"one, two")
        assert logs.mirror.refresh(logs.endpoint) == 1
        assert opened.read() == b", two"
    logs.write("train/logs/events", b"won")
    assert logs.mirror.refresh(logs.endpoint) == 1
    assert logs.files() == {"train-1/events": b"won"}


def test_a_name_that_is_no_path_below_the_folder_is_left_out(logs: Logs) -> None:
    buckets.create(logs.endpoint, {"name": BUCKET, "location": "us-central1"})
    for name in (
        "train/logs/a//b",
        "train/logs/x\x1b]0;owned\x07",
        f"train/logs/{'long' * 100}",
        "train/logs/same",
        "train/logs/same/below",
    ):
        logs.write(name, b"x")
    assert logs.mirror.refresh(logs.endpoint) == 1
    assert logs.files() == {"train-1/same": b"x"}
    for name in ("logs/../../escaped", "logs/..", "logs/./x", "logs//x", "logs/"):
        assert logs.mirror._target(JOB, name) is None


def test_the_folder_of_a_job_has_its_name_as_far_as_files_can(tmp_path: Path) -> None:
    def named(display_name: str, collection: str = "customJobs") -> Source:
        name = f"projects/1/locations/us-central1/{collection}/42"
        record = JobRecord(name=name, display_name=display_name, state=JobState.JOB_STATE_RUNNING)
        return source_of(record, "gs://b/run")

    assert named("train") == Source(name="train-42", directory="gs://b/run/")
    assert named("../a b\x1b$(x)").name == "a-b-x-42"
    assert named("\x1b").name == "42"
    assert named("search", "hyperparameterTuningJobs").has_trials
