"""Jobs that wait for their start: nothing of theirs runs, and they cost nobody anything."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.emulated.job_emulator import JobEmulator, pool, processes_of, running_jobs
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


def delay(emulator: JobEmulator, seconds: float) -> None:
    answer = emulator.call("PUT", "/_local/start-delay", {"seconds": seconds})
    assert (answer.status, answer.json()) == (200, {"seconds": seconds})


def test_a_job_waits_without_a_process(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    name = emulator.create(pool("print('hello')"))
    assert emulator.get(name)["state"] == "JOB_STATE_PENDING"
    assert processes_of(name) == []
    assert emulator.call("GET", "/_local/info").json()["liveJobs"] == 1


def test_a_job_runs_after_its_delay(emulator: JobEmulator) -> None:
    delay(emulator, 0.4)
    begun = time.monotonic()
    name = emulator.create(pool("print('hello')"))
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert time.monotonic() - begun >= 0.4
    assert emulator.printed(name) == ["hello"]


def test_only_jobs_created_later_wait(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    waits = emulator.create(pool("pass"))
    delay(emulator, 0)
    assert emulator.wait(emulator.create(pool("pass")))["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.get(waits)["state"] == "JOB_STATE_PENDING"


def test_a_waiting_job_is_cancelled_at_once(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    name = emulator.create(pool("pass"))
    assert emulator.delete(name).status == 400
    assert emulator.cancel(name).status == 200
    found = emulator.get(name)
    assert (found["state"], found["error"]["code"]) == ("JOB_STATE_CANCELLED", 1)
    assert "startTime" not in found
    assert emulator.cancel(name).status == 400
    delay(emulator, 0)
    assert emulator.get(name)["state"] == "JOB_STATE_CANCELLED"


def test_jobs_wait_on_after_a_restart_of_the_emulator(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as first:
        delay(first, 0.5)
        soon = first.create(pool("pass"))
        delay(first, 3600)
        later = first.create(pool("pass"))
    with running_jobs(tmp_path, sandbox=sandbox) as second:
        assert second.wait(soon)["state"] == "JOB_STATE_SUCCEEDED"
        assert second.get(later)["state"] == "JOB_STATE_PENDING"
        assert processes_of(later) == []
        second.cancel(later)


def test_many_cost_next_to_nothing(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    names = [emulator.create(pool("pass"), name=f"digits-{number}") for number in range(40)]
    assert emulator.call("GET", "/_local/info").json()["liveJobs"] == 40
    assert {emulator.get(name)["state"] for name in names} == {"JOB_STATE_PENDING"}
    assert not any(emulator.folder(name).joinpath("supervisor.json").exists() for name in names)


def test_many_begin_together(emulator: JobEmulator) -> None:
    delay(emulator, 0.3)
    names = [emulator.create(pool("pass")) for _ in range(4)]
    emulator.until(lambda: all(emulator.get(name)["state"] == "JOB_STATE_SUCCEEDED" for name in names))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param({"seconds": -1}, "seconds must be a number of seconds from 0", id="negative"),
        pytest.param({"seconds": True}, "not True", id="no number"),
        pytest.param({"seconds": "5"}, "not '5'", id="text"),
        pytest.param({"seconds": 10**400}, "seconds must be", id="more digits than a float has"),
        pytest.param({"seconds": -(10**400)}, "seconds must be", id="as many below 0"),
        pytest.param({}, "not None", id="missing"),
        pytest.param({"seconds": 1, "times": 2}, "'times' is unknown", id="unknown key"),
        pytest.param([], "The body must be a JSON object", id="no object"),
    ],
)
def test_what_is_no_delay(idle: JobEmulator, body: object, says: str) -> None:
    answer = idle.call("PUT", "/_local/start-delay", body)
    assert (answer.status, says in answer.message) == (400, True), answer.body
    assert idle.call("GET", "/_local/start-delay").json() == {"seconds": 0}
