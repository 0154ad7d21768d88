"""Capacity that a test sets: a job that finds no machines waits, and then fails in the service's words."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import (
    JobEmulator,
    job,
    pool,
    processes_of,
    running_jobs,
    wait_for_flags,
)
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.kernel.times import parse
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

STOCKOUT = (
    "Resources are insufficient in region: us-central1. Try a different region or use a different "
    "accelerator."
)
HOUR = 3600
PATH = "/_local/capacities"


def gpus(code: str = "pass", *, count: int = 1, **options: Any) -> dict[str, Any]:
    """Return a pool whose replicas have L4 accelerators."""
    machine = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": count}
    return {**pool(code, **options), "machineSpec": machine}


def capacity(emulator: JobEmulator, machine: str, available: int, **more: Any) -> dict[str, Any]:
    return emulator.call("POST", PATH, {"machine": machine, "available": available, **more}).ok().json()


def advance(emulator: JobEmulator, seconds: float) -> None:
    emulator.call("POST", "/_local/clock/freeze", {})
    assert emulator.call("POST", "/_local/clock/advance", {"seconds": seconds}).status == 200


def state(emulator: JobEmulator, name: str) -> str:
    return str(emulator.get(name)["state"])


@pytest.mark.parity(
    "Custom jobs: capacity",
    own_way="there are machines for every job, unless `vertex-emulator capacity` sets how many; the "
    "message is the service's, its code and the time until the job fails are ours",
)
@pytest.mark.parametrize("machine", ["NVIDIA_L4", "g2-standard-4"])
def test_a_job_without_machines_is_pending_and_then_fails(emulator: JobEmulator, machine: str) -> None:
    capacity(emulator, machine, 0, waitSeconds=HOUR)
    advance(emulator, 0)
    name = emulator.create(gpus())
    advance(emulator, HOUR - 1)
    emulator.settle()
    assert state(emulator, name) == "JOB_STATE_PENDING"
    assert processes_of(name) == []
    advance(emulator, 1)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert ended["error"] == {"code": 8, "message": STOCKOUT}
    assert "startTime" not in ended
    assert parse(ended["endTime"]) - parse(ended["createTime"]) == timedelta(seconds=HOUR)


@pytest.mark.parity("Custom jobs: capacity")
def test_flex_start_waits_for_its_own_time(emulator: JobEmulator) -> None:
    capacity(emulator, "NVIDIA_L4", 0, waitSeconds=1)
    advance(emulator, 0)
    flex = {"strategy": "FLEX_START", "maxWaitDuration": f"{2 * HOUR}s"}
    name = emulator.create(gpus(), scheduling=flex)
    forever = emulator.create(gpus(), scheduling={**flex, "maxWaitDuration": "0s"})
    advance(emulator, 2 * HOUR - 1)
    emulator.settle()
    assert state(emulator, name) == "JOB_STATE_PENDING"
    advance(emulator, 1)
    ended = emulator.wait(name)
    words = "The job had waited for 7200 s (job_spec.scheduling.max_wait_duration)."
    assert ended["error"] == {"code": 8, "message": f"{STOCKOUT} {words}"}
    assert "startTime" not in ended
    advance(emulator, 365 * 24 * HOUR)
    emulator.settle()
    assert state(emulator, forever) == "JOB_STATE_PENDING"


def test_a_job_starts_once_there_are_machines(emulator: JobEmulator) -> None:
    capacity(emulator, "NVIDIA_L4", 2, waitSeconds=HOUR)
    first = emulator.create(gpus(wait_for_flags("go"), count=2))
    emulator.wait(first, "JOB_STATE_RUNNING")
    second = emulator.create(gpus("print('hello')"))
    other = emulator.create(pool("pass"))
    assert emulator.wait(other)["state"] == "JOB_STATE_SUCCEEDED", "it has another machine type"
    assert state(emulator, second) == "JOB_STATE_PENDING"
    (emulator.flags / "go").touch()
    assert emulator.wait(second)["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.printed(second) == ["hello"]


def test_a_job_that_found_machines_waits_for_slots_without_limit(emulator: JobEmulator) -> None:
    """Remove the capacity, so that the job lacks only a slot: that never fails a job."""
    emulator.call("PUT", "/_local/replica-limit", {"replicas": 1})
    capacity(emulator, "NVIDIA_L4", 0, waitSeconds=HOUR)
    advance(emulator, 0)
    first = emulator.create(pool(wait_for_flags("go")))
    emulator.wait(first, "JOB_STATE_RUNNING")
    second = emulator.create(gpus())
    assert emulator.call("DELETE", PATH).json() == {"removed": 1}
    emulator.settle()
    advance(emulator, 2 * HOUR)
    emulator.settle()
    assert state(emulator, second) == "JOB_STATE_PENDING"
    (emulator.flags / "go").touch()
    assert emulator.wait(second)["state"] == "JOB_STATE_SUCCEEDED"


def test_regions_and_strategies_have_their_own(emulator: JobEmulator) -> None:
    capacity(emulator, "NVIDIA_L4", 0, waitSeconds=0)
    capacity(emulator, "NVIDIA_L4", 8, region="europe-west4")
    capacity(emulator, "NVIDIA_L4", 0, region="europe-west4", strategy="SPOT", waitSeconds=0)
    europe = "/v1/projects/local/locations/europe-west4/customJobs"
    spot = {"scheduling": {"strategy": "SPOT"}}
    ends = {}
    for case, path, more in (
        ("none anywhere", "/v1/projects/local/locations/us-central1/customJobs", {}),
        ("but there", europe, {}),
        ("without Spot", europe, spot),
    ):
        body = job(gpus())
        body["jobSpec"].update(more)
        ends[case] = emulator.wait(emulator.call("POST", path, body).json()["name"])["state"]
    assert ends == {
        "none anywhere": "JOB_STATE_FAILED",
        "but there": "JOB_STATE_SUCCEEDED",
        "without Spot": "JOB_STATE_FAILED",
    }


def test_a_job_that_waits_for_machines_can_be_cancelled(emulator: JobEmulator) -> None:
    capacity(emulator, "NVIDIA_L4", 0, waitSeconds=HOUR)
    name = emulator.create(gpus())
    assert emulator.cancel(name).status == 200
    ended = emulator.get(name)
    assert (ended["state"], "startTime" in ended) == ("JOB_STATE_CANCELLED", False)


def test_a_start_delay_comes_first(emulator: JobEmulator) -> None:
    emulator.call("PUT", "/_local/start-delay", {"seconds": HOUR})
    capacity(emulator, "NVIDIA_L4", 0, waitSeconds=HOUR)
    advance(emulator, 0)
    name = emulator.create(gpus())
    advance(emulator, HOUR)
    emulator.settle()
    assert state(emulator, name) == "JOB_STATE_PENDING"
    advance(emulator, HOUR)
    ended = emulator.wait(name)
    assert ended["error"]["message"] == STOCKOUT


def test_a_job_waits_for_machines_over_a_restart(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as first:
        set_one = capacity(first, "NVIDIA_L4", 0, region="us-central1", strategy="SPOT", waitSeconds=HOUR)
        advance(first, 0)
        name = first.create(gpus(), scheduling={"strategy": "SPOT"})
    with running_jobs(tmp_path, sandbox=sandbox) as second:
        assert second.call("GET", PATH).json() == {"capacities": [set_one]}
        assert state(second, name) == "JOB_STATE_PENDING"
        advance(second, HOUR)
        assert second.wait(name)["error"]["message"] == STOCKOUT


def test_capacities_are_listed_and_removed(emulator: JobEmulator) -> None:
    assert capacity(emulator, "NVIDIA_L4", 1) == {
        "machine": "NVIDIA_L4",
        "region": "*",
        "strategy": "*",
        "available": 1,
        "waitSeconds": 10,
    }
    capacity(emulator, "NVIDIA_L4", 2)
    capacity(emulator, "n1-standard-4", 3, region="europe-west4", strategy="SPOT", waitSeconds=5)
    assert [each["available"] for each in emulator.call("GET", PATH).json()["capacities"]] == [2, 3]
    control = Control(url=emulator.daemon.url, token=emulator.daemon.token)
    with pytest.raises(ControlError, match="There is no machine type or accelerator ''"):
        control.clear_capacities(machine="")
    misspelt = emulator.call("DELETE", f"{PATH}?machines=NVIDIA_L4")
    assert (misspelt.status, "'machines' is not known" in misspelt.message) == (400, True)
    assert control.clear_capacities(machine="NVIDIA_L4") == 1
    assert control.clear_capacities(region="us-central1") == 0
    assert control.clear_capacities() == 1
    assert control.capacities() == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param({"available": 1}, "no machine type or accelerator None", id="no machine"),
        pytest.param({"machine": "NVIDIA_L44", "available": 1}, "Did you mean 'NVIDIA_L4'?", id="misspelt"),
        pytest.param({"machine": "n1-standard-5", "available": 1}, "Did you mean", id="no type"),
        pytest.param({"machine": "NVIDIA_L4"}, "available must be", id="no number"),
        pytest.param({"machine": "NVIDIA_L4", "available": 0.5}, "whole number, not 0.5", id="half a GPU"),
        pytest.param({"machine": "NVIDIA_L4", "available": 1, "region": "x"}, "region must be", id="region"),
        pytest.param(
            {"machine": "NVIDIA_L4", "available": 1, "strategy": "LOW_COST"},
            "strategy must be STANDARD, SPOT, FLEX_START or *, not 'LOW_COST'.",
            id="strategy",
        ),
        pytest.param(
            {"machine": "NVIDIA_L4", "available": 1, "waitSeconds": -1}, "waitSeconds must", id="wait"
        ),
        pytest.param({"machine": "NVIDIA_L4", "available": 1, "zone": "a"}, "'zone' is unknown", id="zone"),
    ],
)
def test_what_is_no_capacity(idle: JobEmulator, body: object, says: str) -> None:
    answer = idle.call("POST", PATH, body)
    assert (answer.status, says in answer.message) == (400, True), answer.body
    assert idle.call("GET", PATH).json() == {"capacities": []}
