"""Every job that waits says for what: slots, another job, a quota, machines, the start delay."""

from __future__ import annotations

from typing import Any

from support.emulated.job_emulator import SLEEP, JobEmulator, job_id, pool
from support.waiting import eventually

L4 = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}


def gpus(**options: Any) -> dict[str, Any]:
    return {**pool(SLEEP, **options), "machineSpec": L4}


def reason(emulator: JobEmulator, name: str) -> str | None:
    one = emulator.call("GET", f"/_local/jobs/{job_id(name)}").json()["waitsFor"]
    listed = emulator.call("GET", "/_local/waiting-jobs").json()["jobs"].get(job_id(name))
    assert one == listed, "one source for a job and for all"
    return None if one is None else str(one)


def test_slots_and_the_job_before_it(emulator: JobEmulator) -> None:
    emulator.call("PUT", "/_local/replica-limit", {"replicas": 3})
    running = emulator.create(pool(SLEEP), pool(SLEEP))
    emulator.wait(running, "JOB_STATE_RUNNING")
    wide = emulator.create(pool(SLEEP), pool(SLEEP, replicas=49), name="wide")
    behind = emulator.create(pool(SLEEP))
    last = emulator.create(pool(SLEEP))
    assert reason(emulator, running) is None
    assert reason(emulator, wide) == (
        "50 replica slots; 3 run at once here, and 2 are taken (`vertex-emulator replica-limit`)"
    )
    assert reason(emulator, behind) == "custom job wide, which is before it in the queue"
    assert reason(emulator, last) == "custom job wide and 1 more, which are before it in the queue"


def test_the_start_delay(emulator: JobEmulator) -> None:
    emulator.call("PUT", "/_local/start-delay", {"seconds": 3600})
    waits = emulator.create(pool(SLEEP))
    found = reason(emulator, waits)
    assert found == "the start delay of 1 h to pass (`vertex-emulator start-delay`)"


def test_machines(emulator: JobEmulator) -> None:
    body = {"machine": "NVIDIA_L4", "available": 1, "waitSeconds": 3600}
    assert emulator.call("POST", "/_local/capacities", body).status == 200
    waits = emulator.create(gpus(), gpus(replicas=3))
    found = "4 x NVIDIA_L4 in us-central1; 1 are there and 0 in use (`vertex-emulator capacity list`)"
    assert reason(emulator, waits) == found


def test_a_quota(emulator: JobEmulator) -> None:
    assert emulator.call("POST", "/_local/quotas", {"metric": "NVIDIA_L4", "limit": 2}).status == 200
    emulator.create(gpus())
    waits = emulator.create(gpus(), gpus())
    assert emulator.get(waits)["state"] == "JOB_STATE_QUEUED"
    assert reason(emulator, waits) == (
        "2 of the quota nvidia_l4_gpus in us-central1; 1 of 2 are in use (`vertex-emulator quota list`)"
    )


def test_a_job_that_runs_or_has_ended_waits_for_nothing(emulator: JobEmulator) -> None:
    ended = emulator.create(pool("pass"))
    emulator.wait(ended)
    assert reason(emulator, ended) is None
    assert eventually(lambda: emulator.call("GET", "/_local/waiting-jobs").json()["jobs"] == {})
