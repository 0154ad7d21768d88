"""Custom jobs with a tensorboard: real processes write event files, and the API shows their scalars."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, pool, raise_flag, wait_for_flags
from support.emulated.services.experiments import Experiments, event, write_events
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon

WRITE = """
import base64, os
folder = os.environ["AIP_TENSORBOARD_LOG_DIR"].replace("gs://", "/gcs/", 1)
def write(name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        file.write(base64.b64decode(data))
"""


@pytest.fixture(scope="module")
def jobs(emulator: Daemon) -> JobEmulator:
    """Return the jobs of the module's emulator."""
    return JobEmulator(emulator)


def encoded(step: int, **values: float) -> str:
    return base64.b64encode(event(step, values)).decode()


def create(jobs: JobEmulator, board: str, code: str, *, folder: str) -> str:
    return jobs.create(
        pool(WRITE + code),
        name=folder,
        tensorboard=board,
        serviceAccount="train@local.iam.gserviceaccount.com",
        baseOutputDirectory={"outputUriPrefix": f"gs://flags/{folder}"},
    )


def values(api: Experiments, board: str, job: str) -> dict[str, dict[str, dict[int, float]]]:
    """Return the scalars of a job's experiment by run and by name."""
    experiment = f"{board}/experiments/{job.rpartition('/')[2]}"
    found: dict[str, Any] = {}
    for run in api.get(f"{experiment}/runs").get("tensorboardRuns", []):
        series = api.get(f"{run['name']}/timeSeries").get("tensorboardTimeSeries", [])
        found[run["displayName"]] = {each["displayName"]: api.read(each["name"]) for each in series}
    return found


@pytest.mark.parity("Custom jobs: TensorBoard")
def test_scalars_are_shown_while_the_job_runs_and_when_it_has_ended(
    api: Experiments, jobs: JobEmulator
) -> None:
    board = api.board("with-a-job")
    code = (
        f"write('train/events.out.tfevents.1', '{encoded(1, loss=1.0, accuracy=0.5)}')\n"
        + raise_flag("first-scalars")
        + wait_for_flags("more-scalars")
        + f"write('train/events.out.tfevents.1', '{encoded(2, loss=0.5)}')\n"
        + f"write('events.out.tfevents.2', '{encoded(9, score=2.0)}')\n"
    )
    job = create(jobs, board, code, folder="uploads")
    eventually((jobs.flags / "first-scalars").exists)
    assert values(api, board, job) == {"train": {"loss": {1: 1.0}, "accuracy": {1: 0.5}}}
    experiment = api.get(f"{board}/experiments/{job.rpartition('/')[2]}")
    assert (experiment["displayName"], experiment["source"]) == (job.rpartition("/")[2], job)
    (jobs.flags / "more-scalars").touch()
    assert jobs.wait(job)["state"] == "JOB_STATE_SUCCEEDED"
    assert values(api, board, job) == {
        "train": {"loss": {1: 1.0, 2: 0.5}, "accuracy": {1: 0.5}},
        "default": {"score": {9: 2.0}},
    }
    jobs.delete(job)
    assert values(api, board, job)["default"] == {"score": {9: 2.0}}


@pytest.mark.parity("Custom jobs: TensorBoard")
def test_the_last_scalars_are_uploaded_without_a_reader(api: Experiments, jobs: JobEmulator) -> None:
    board = api.board("unread")
    job = create(jobs, board, f"write('events.out.tfevents.1', '{encoded(3, loss=0.25)}')\n", folder="unread")
    assert jobs.wait(job)["state"] == "JOB_STATE_SUCCEEDED"
    with closing(sqlite3.connect(jobs.daemon.folder.database)) as database:
        pending = "SELECT job FROM tensorboard_uploads WHERE job = ?"
        eventually(lambda: not database.execute(pending, (job,)).fetchall())
        series = "SELECT id FROM tensorboard_time_series WHERE id LIKE ?"
        assert len(database.execute(series, (f"%/{job.rpartition('/')[2]}/%",)).fetchall()) == 1


def test_links_to_files_elsewhere_are_not_read(api: Experiments, jobs: JobEmulator, tmp_path: Path) -> None:
    board = api.board("links")
    write_events(tmp_path / "events.out.tfevents.1", [event(1, {"secret": 1.0})])
    (tmp_path / "folder").mkdir()
    write_events(tmp_path / "folder/events.out.tfevents.1", [event(1, {"secret": 1.0})])
    code = raise_flag("links-ready") + wait_for_flags("links-made")
    job = create(jobs, board, code, folder="links")
    eventually((jobs.flags / "links-ready").exists)
    logs = jobs.flags / "links" / "logs"
    (logs / "events.out.tfevents.1").symlink_to(tmp_path / "events.out.tfevents.1")
    (logs / "linked").symlink_to(tmp_path / "folder")
    assert values(api, board, job) == {}
    (jobs.flags / "links-made").touch()
    jobs.wait(job)
    assert values(api, board, job) == {}


@pytest.mark.parity("Custom jobs: TensorBoard")
def test_a_job_with_a_tensorboard_that_does_not_exist(api: Experiments, jobs: JobEmulator) -> None:
    board = "projects/local/locations/us-central1/tensorboards/404"
    job = create(jobs, board, f"write('events.out.tfevents.1', '{encoded(1, loss=1.0)}')\n", folder="none")
    assert jobs.wait(job)["state"] == "JOB_STATE_SUCCEEDED"
    assert api.refused("GET", f"{board}/experiments")[0] == "NOT_FOUND"
    assert any(
        "if it exists on the emulator" in entry["jsonPayload"]["message"] for entry in jobs.entries(job)
    )
