"""Many jobs at once on a small machine: none is lost, none overtakes, and no more run than the limit lets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.emulated.job_emulator import SLEEP, JobEmulator, job_id, pool, running_jobs, wait_for_flags
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.jobs.custom.queue import slots
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

JOBS, REPLICAS, LIMIT = 50, 4, 16

NOTE = (
    "import os, time\n"
    "began = time.monotonic_ns()\n"
    "time.sleep(0.1)\n"
    "with open('/gcs/flags/times', 'a') as file:\n"
    "    print(os.environ['CLOUD_ML_JOB_ID'], began, time.monotonic_ns(), file=file)\n"
)
"""A replica that leaves word of when it ran."""


def set_limit(emulator: JobEmulator, replicas: int) -> None:
    emulator.call("PUT", "/_local/replica-limit", {"replicas": replicas}).ok()


def waiting_for_go(*, replicas: int = 1) -> dict[str, Any]:
    return pool(wait_for_flags("go"), replicas=replicas)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Mapping[str, Any]:
    """Return the results of `JOBS` jobs that were created one after the other as fast as possible."""
    with running_jobs(tmp_path_factory.mktemp("crowd"), sandbox=sandbox) as emulator:
        set_limit(emulator, LIMIT)
        names = [
            emulator.create(pool(NOTE), pool(NOTE, replicas=REPLICAS - 1), name=f"job-{number}")
            for number in range(JOBS)
        ]
        ended = [emulator.wait(name, seconds=300) for name in names]
        logs = [JobFolder(emulator.folder(name)).supervisor_log for name in names]
        let_in = [log.stat().st_mtime_ns for log in logs]
        lines = (emulator.flags / "times").read_text().splitlines()
        answer = emulator.call("GET", "/v1/projects/local/locations/us-central1/customJobs?pageSize=1000")
        listed = [each["name"] for each in answer.json()["customJobs"]]
    times = [(line.split()[0], int(line.split()[1]), int(line.split()[2])) for line in lines]
    return {"names": names, "ended": ended, "times": times, "listed": listed, "let_in": let_in}


@pytest.mark.parity(
    "Custom jobs: many jobs at once",
    own_way="a limited number of replicas at once; further jobs are PENDING, in order",
)
@pytest.mark.slow
def test_every_job_of_the_crowd_succeeds(crowd: Mapping[str, Any]) -> None:
    assert [each["state"] for each in crowd["ended"]] == ["JOB_STATE_SUCCEEDED"] * JOBS


@pytest.mark.slow
def test_every_job_of_the_crowd_ran_once(crowd: Mapping[str, Any]) -> None:
    """Check the chief; the other replicas are stopped when the chief has ended."""
    chiefs = {job_id(name) for name in crowd["names"]}
    counts = [sum(job == each for job, _, _ in crowd["times"]) for each in chiefs]
    assert 1 <= min(counts) <= max(counts) <= REPLICAS


@pytest.mark.slow
def test_the_crowd_is_listed_the_newest_first(crowd: Mapping[str, Any]) -> None:
    assert crowd["listed"] == crowd["names"][::-1]


@pytest.mark.slow
def test_no_more_replicas_of_the_crowd_ran_at_once_than_the_limit(crowd: Mapping[str, Any]) -> None:
    moments = [(began, 1) for _, began, _ in crowd["times"]] + [(end, -1) for _, _, end in crowd["times"]]
    at_once = most = 0
    for _, step in sorted(moments):
        at_once += step
        most = max(most, at_once)
    assert 0 < most <= LIMIT


@pytest.mark.parity("Custom jobs: many jobs at once")
@pytest.mark.slow
def test_the_crowd_is_let_in_in_its_order(crowd: Mapping[str, Any]) -> None:
    """Compare the times of the output files: an admitted job's supervisor creates its file at its start.

    The supervisors of jobs that are let in at once start beside each other, in any order.
    """
    times = crowd["let_in"]
    order = sorted(range(JOBS), key=times.__getitem__)
    assert max(abs(rank - position) for rank, position in enumerate(order)) < LIMIT // REPLICAS, times


def test_a_job_beyond_the_limit_is_pending_and_has_no_process(emulator: JobEmulator) -> None:
    set_limit(emulator, 2)
    first, second = (emulator.create(waiting_for_go(), waiting_for_go()) for _ in range(2))
    emulator.wait(first, "JOB_STATE_RUNNING")
    assert emulator.get(second)["state"] == "JOB_STATE_PENDING"
    assert not (emulator.folder(second) / "supervisor.json").exists()
    (emulator.flags / "go").touch()
    assert emulator.wait(second)["state"] == "JOB_STATE_SUCCEEDED"


def test_of_many_jobs_so_many_run_as_the_limit_lets(emulator: JobEmulator) -> None:
    set_limit(emulator, 4)
    names = [emulator.create(waiting_for_go(), waiting_for_go()) for _ in range(5)]
    for name in names[:2]:
        emulator.wait(name, "JOB_STATE_RUNNING")
    running = [(emulator.folder(name) / "supervisor.json").exists() for name in names]
    assert running == [True, True, False, False, False]
    (emulator.flags / "go").touch()
    assert [emulator.wait(name)["state"] for name in names] == ["JOB_STATE_SUCCEEDED"] * 5


@pytest.mark.parity("Custom jobs: many jobs at once")
def test_a_small_job_does_not_overtake_a_large_one_that_waits(emulator: JobEmulator) -> None:
    set_limit(emulator, 3)
    first = emulator.create(waiting_for_go(), waiting_for_go())
    large = emulator.create(waiting_for_go(), waiting_for_go())
    small = emulator.create(pool(""))
    emulator.wait(first, "JOB_STATE_RUNNING")
    assert [emulator.get(each)["state"] for each in (large, small)] == ["JOB_STATE_PENDING"] * 2
    (emulator.flags / "go").touch()
    assert [emulator.wait(each)["state"] for each in (large, small)] == ["JOB_STATE_SUCCEEDED"] * 2


def test_a_job_larger_than_the_limit_runs_alone(emulator: JobEmulator) -> None:
    set_limit(emulator, 2)
    small = emulator.create(waiting_for_go())
    large = emulator.create(waiting_for_go(), waiting_for_go(replicas=3))
    emulator.wait(small, "JOB_STATE_RUNNING")
    assert emulator.get(large)["state"] == "JOB_STATE_PENDING"
    (emulator.flags / "go").touch()
    assert emulator.wait(large)["state"] == "JOB_STATE_SUCCEEDED"


def test_a_job_that_waits_can_be_cancelled(emulator: JobEmulator) -> None:
    set_limit(emulator, 1)
    emulator.create(pool(SLEEP))
    second = emulator.create(pool(SLEEP))
    assert emulator.cancel(second).status == 200
    assert emulator.get(second)["state"] == "JOB_STATE_CANCELLED"


def test_a_higher_limit_lets_in_at_once(emulator: JobEmulator) -> None:
    set_limit(emulator, 1)
    emulator.create(pool(SLEEP))
    second = emulator.create(pool(SLEEP))
    set_limit(emulator, 2)
    emulator.wait(second, "JOB_STATE_RUNNING")


def test_jobs_wait_over_a_restart_of_the_emulator(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        set_limit(emulator, 1)
        emulator.create(waiting_for_go())
        second = emulator.create(pool(""))
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        (emulator.flags / "go").touch()
        assert emulator.wait(second)["state"] == "JOB_STATE_SUCCEEDED"


def test_a_reset_brings_the_default_back(emulator: JobEmulator) -> None:
    set_limit(emulator, 1)
    emulator.call("POST", "/_local/reset", {})
    assert emulator.call("GET", "/_local/replica-limit").json() == {"replicas": slots.default_limit()}


@pytest.mark.parametrize("body", [{}, {"replicas": 0}, {"replicas": 1.5}, {"replicas": "8"}, {"limit": 8}])
def test_what_is_no_limit(idle: JobEmulator, body: object) -> None:
    assert idle.call("PUT", "/_local/replica-limit", body).status == 400


@pytest.mark.parametrize(("cpus", "gib", "limit"), [(2, 24, 32), (8, 16, 64), (64, 2, 8), (1, 1, 8)], ids=str)
def test_the_default_limit(cpus: int, gib: int, limit: int) -> None:
    assert slots.limit_of(cpus=cpus, memory=gib << 30) == limit


def test_the_default_limit_is_of_this_machine() -> None:
    memory = psutil.virtual_memory().total
    assert slots.default_limit() == slots.limit_of(cpus=os.cpu_count() or 1, memory=memory)
