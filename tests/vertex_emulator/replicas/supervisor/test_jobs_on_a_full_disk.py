"""Jobs on a full disk: their supervisors wait for space, and say so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.disk import deleted_files_kept, fill, free, run_with_mounts, small_disk
from support.emulated.job_emulator import JobEmulator, pool, running_jobs, wait_for_flags
from support.waiting import eventually
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", mebibytes=48) as folder:
        yield folder


def reserve_of(data: Path) -> Path:
    return data / "state.sqlite3.reserve"


def waits_for(emulator: JobEmulator, name: str) -> str | None:
    answer = emulator.call("GET", f"/_local/jobs/{name.rpartition('/')[2]}")
    assert answer.status == 200, answer.body
    waits: str | None = answer.json()["waitsFor"]
    return waits


def test_a_job_ends_on_a_full_disk(disk: Path, sandbox: Sandbox) -> None:
    """Let its supervisor wait for space, which reading the job makes from the reserve."""
    with running_jobs(disk / "data", sandbox=sandbox) as emulator:
        eventually(lambda: reserve_of(emulator.data_dir).exists())
        name = emulator.create(pool(wait_for_flags("go")))
        emulator.wait(name, "JOB_STATE_RUNNING")
        fill(disk)
        (emulator.flags / "go").touch()
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


def fill_with_the_reserve(disk: Path, reserve: Path) -> None:
    """Fill the disk and leave no reserve, which the emulator may make again while the disk has space."""
    while True:
        os.truncate(reserve, 0)
        fill(disk)
        if reserve.stat().st_size == 0:
            return


def test_a_job_without_space_says_so_until_its_timeout(disk: Path, sandbox: Sandbox) -> None:
    with running_jobs(disk / "data", sandbox=sandbox) as emulator:
        reserve = reserve_of(emulator.data_dir)
        eventually(reserve.exists)
        waiting = emulator.create(pool(wait_for_flags("go")))
        late = emulator.create(pool(wait_for_flags("never")), scheduling={"timeout": "3s"})
        emulator.wait(waiting, "JOB_STATE_RUNNING")
        emulator.until(lambda: emulator.get(late)["state"] in ("JOB_STATE_RUNNING", "JOB_STATE_FAILED"))
        # The end of a replica deletes what it had for itself, which may be enough space for the job's end.
        with deleted_files_kept(disk):
            fill_with_the_reserve(disk, reserve)
            (emulator.flags / "go").touch()
            words = eventually(lambda: waits_for(emulator, waiting))
            assert re.search(
                r"space on the disk of the emulator's data folder \(\d+ (B|KiB) of 48 MiB free on", words
            )
            assert emulator.wait(late)["state"] == "JOB_STATE_FAILED"
            assert emulator.get(waiting)["state"] == "JOB_STATE_RUNNING"
        free(disk)
        assert emulator.wait(waiting)["state"] == "JOB_STATE_SUCCEEDED"


def test_as_an_ordinary_user() -> None:
    run_with_mounts(__file__)
