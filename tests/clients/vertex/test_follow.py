"""`vertex-training logs --follow` shows every line of a job once, under all circumstances."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask
from support.emulated.job_emulator import PARENT, job, pool
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.daemon import reset as emulator_reset

pytestmark = pytest.mark.slow

REPLICAS = 8
LINES = 600

CHATTY = f"""
import os, sys, time

rank = os.environ["RANK"]
for n in range({LINES}):
    print(rank, n, flush=n % 50 == 49)
    if n % 100 == 99:
        time.sleep(0.5)
"""
"""Bursts, in which many lines have times that are close together."""


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "emulator"
    yield folder
    emulator_reset.stop_and_end_jobs(folder)


def submit(emulator: launcher.Emulator, code: str, *, replicas: int) -> str:
    bucket = "/storage/v1/b?project=local"
    ask(emulator, "POST", bucket, {"name": "done"})
    body = job(pool(code), pool(code, replicas=replicas - 1))
    answer = ask(emulator, "POST", f"{PARENT}/customJobs", body)
    assert answer.status == 200, answer.body
    return str(answer.json()["name"])


class Follower:
    """The command in a process of its own."""

    def __init__(self, data_dir: Path, name: str, *more: str) -> None:
        self.shown = data_dir.parent / "shown"
        with self.shown.open("w") as out, self.shown.with_suffix(".errors").open("w") as errors:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "pulumi_vertex_training.cli",
                    "logs",
                    name,
                    "--follow",
                    "--json",
                    *more,
                ],
                env={**os.environ, "VERTEX_TRAINING_DATA_DIR": str(data_dir)},
                stdout=out,
                stderr=errors,
            )

    def has_begun(self) -> None:
        """Wait for the first entry that it shows."""
        eventually(lambda: self.shown.stat().st_size > 0)

    def end(self) -> list[dict[str, Any]]:
        """Return the shown entries after the command has ended."""
        code = self.process.wait(timeout=120)
        text = self.shown.read_text()
        assert code == 0, text[-1000:] + self.shown.with_suffix(".errors").read_text()
        return [json.loads(line) for line in text.splitlines()]


def said(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the numbers of the lines of each rank, in the shown order."""
    found: dict[str, list[int]] = {}
    for entry in entries:
        words = entry["message"].split()
        if len(words) == 2 and words[0].isdigit() and entry["severity"] == "INFO":
            found.setdefault(words[0], []).append(int(words[1]))
    return found


ALL = {str(rank): list(range(LINES)) for rank in range(REPLICAS)}
DONE = "\nopen('/gcs/done/' + rank, 'w').close()"
WAIT = f"""{DONE}
while rank == "0" and len(os.listdir("/gcs/done")) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.1)
"""
"""The chief ends last: its end would stop the others."""


@pytest.mark.parity(
    "The interface: following a log",
    own_way="`vertex-training logs --follow` prints every line once, even if the emulator is restarted",
)
def test_bursts_of_many_replicas(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    name = submit(emulator, CHATTY + WAIT, replicas=REPLICAS)
    assert said(Follower(data_dir, name).end()) == ALL


@pytest.mark.parity("The interface: following a log")
def test_the_emulator_is_restarted_meanwhile(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    name = submit(emulator, CHATTY + WAIT, replicas=REPLICAS)
    follower = Follower(data_dir, name)
    follower.has_begun()
    launcher.stop(data_dir)
    time.sleep(1)
    launcher.ensure(data_dir)
    entries = follower.end()
    assert said(entries) == ALL
    assert entries[-1]["message"] == "Job completed successfully."


@pytest.mark.parity("The interface: following a log")
def test_nothing_is_shown_twice(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    name = submit(emulator, CHATTY + WAIT, replicas=2)
    entries = Follower(data_dir, name).end()
    assert max(Counter((each["timestamp"], each["insertId"]) for each in entries).values()) == 1


def test_a_frozen_clock(data_dir: Path) -> None:
    """Check entries whose times differ by microseconds only, or are equal in different tasks."""
    emulator = launcher.ensure(data_dir)
    Control(url=emulator.url, token=emulator.token).freeze_clock()
    code = CHATTY.replace("0.5", "0.2") + WAIT
    entries = Follower(data_dir, submit(emulator, code, replicas=3)).end()
    assert said(entries) == {rank: ALL[rank] for rank in "012"}


def test_a_fast_clock(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    Control(url=emulator.url, token=emulator.token).scale_clock(1000)
    entries = Follower(data_dir, submit(emulator, CHATTY + WAIT, replicas=REPLICAS)).end()
    assert said(entries) == ALL


def test_one_replica_of_a_job(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    name = submit(emulator, CHATTY + WAIT, replicas=3)
    entries = Follower(data_dir, name, "--task", "workerpool1-1").end()
    assert said(entries) == {"2": ALL["2"]}


def test_a_job_that_has_ended(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    name = submit(emulator, CHATTY.replace("0.5", "0") + WAIT, replicas=2)
    first = Follower(data_dir, name).end()
    assert Follower(data_dir, name).end() == first


def test_a_job_that_is_cancelled_meanwhile(data_dir: Path) -> None:
    emulator = launcher.ensure(data_dir)
    name = submit(emulator, CHATTY + DONE + "\ntime.sleep(600)", replicas=2)
    follower = Follower(data_dir, name)
    objects = "/storage/v1/b/done/o"

    def written() -> list[Any]:
        return ask(emulator, "GET", objects).json().get("items", [])

    eventually(lambda: len(written()) == 2)
    ask(emulator, "POST", f"/v1/{name}:cancel", {})
    assert said(follower.end()) == {rank: ALL[rank] for rank in "01"}
