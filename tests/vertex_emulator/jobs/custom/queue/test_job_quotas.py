"""Quotas that a test sets: jobs are refused, or queued until enough quota is free."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    job,
    pool,
    processes_of,
    running_jobs,
    wait_for_flags,
)
from support.waiting import TIMEOUT
from vertex_emulator.jobs.custom.store import CUSTOM_JOB, WaitingJobs
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.times import parse
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.services.quotas import metrics
from vertex_training.catalog import accelerators, quota_metrics

EXCEEDED = "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_"
FLEX = {"strategy": "FLEX_START"}


def gpus(code: str = SLEEP, *, count: int = 1, kind: str = "NVIDIA_L4", **options: Any) -> dict[str, Any]:
    """Return a pool whose replicas have accelerators."""
    machine = {"machineType": "g2-standard-4", "acceleratorType": kind, "acceleratorCount": count}
    return {**pool(code, **options), "machineSpec": machine}


def quota(emulator: JobEmulator, metric: str, limit: int, **more: Any) -> dict[str, Any]:
    return emulator.call("POST", "/_local/quotas", {"metric": metric, "limit": limit, **more}).ok().json()


def advance(emulator: JobEmulator, seconds: float) -> None:
    emulator.call("POST", "/_local/clock/freeze", {})
    assert emulator.call("POST", "/_local/clock/advance", {"seconds": seconds}).status == 200


def state(emulator: JobEmulator, name: str) -> str:
    return str(emulator.get(name)["state"])


@pytest.mark.parity("Custom jobs: quotas", same="with the quotas that are set; no quotas by default")
def test_what_never_fits_is_refused(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 3)
    error = emulator.refused(job(gpus(), gpus(replicas=3)))
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert error["message"] == EXCEEDED + "nvidia_l4_gpus"
    assert emulator.call("GET", "/_local/jobs").json() == {"jobs": []}
    assert list((emulator.data_dir / "jobs").iterdir()) == []


def test_several_metrics_are_named(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 0)
    quota(emulator, "g2_cpus", 3)
    message = emulator.refused(job(gpus()))["message"]
    assert message.startswith(EXCEEDED)
    assert set(message.removeprefix("The following quota metrics exceed quota limits: ").split(", ")) == {
        f"{quota_metrics.PREFIX}nvidia_l4_gpus",
        f"{quota_metrics.PREFIX}g2_cpus",
    }


@pytest.mark.parity("Custom jobs: quotas")
def test_a_job_is_queued_until_another_ends(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 2)
    first = emulator.create(gpus(wait_for_flags("go")), gpus())
    emulator.wait(first, "JOB_STATE_RUNNING")
    second = emulator.create(gpus("print('hello')"))
    assert state(emulator, second) == "JOB_STATE_QUEUED"
    assert processes_of(second) == []
    third = emulator.create(pool("pass"))
    assert emulator.wait(third)["state"] == "JOB_STATE_SUCCEEDED", "it needs no GPU"
    assert state(emulator, second) == "JOB_STATE_QUEUED"
    (emulator.flags / "go").touch()
    assert emulator.wait(second)["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.printed(second) == ["hello"]


def test_only_so_many_are_let_in_at_once(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 1)
    names = [emulator.create(gpus(wait_for_flags("go"), kind="NVIDIA_L4")) for _ in range(3)]
    assert [state(emulator, name) for name in names[1:]] == ["JOB_STATE_QUEUED"] * 2
    emulator.cancel(names[0])
    emulator.wait(names[1], "JOB_STATE_RUNNING")
    assert state(emulator, names[2]) == "JOB_STATE_QUEUED"
    quota(emulator, "NVIDIA_L4", 2)
    emulator.wait(names[2], "JOB_STATE_RUNNING")
    (emulator.flags / "go").touch()


def test_a_queued_job_can_be_cancelled(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 1)
    emulator.create(gpus())
    name = emulator.create(gpus())
    assert emulator.cancel(name).status == 200
    assert emulator.get(name)["state"] == "JOB_STATE_CANCELLED"


def test_refused_or_queued_on_request(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 1, whenExceeded="refuse")
    emulator.create(gpus())
    assert emulator.refused(job(gpus()))["status"] == "RESOURCE_EXHAUSTED"
    quota(emulator, "NVIDIA_L4", 0, whenExceeded="queue")
    assert state(emulator, emulator.create(gpus())) == "JOB_STATE_QUEUED"


def test_regions_and_projects_have_their_own(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 1)
    quota(emulator, "NVIDIA_L4", 0, region="europe-west4")
    assert state(emulator, emulator.create(gpus())) != "JOB_STATE_QUEUED"
    assert state(emulator, emulator.create(gpus())) == "JOB_STATE_QUEUED"
    elsewhere = "/v1/projects/local/locations/europe-west1/customJobs"
    other = "/v1/projects/other/locations/us-central1/customJobs"
    refused = "/v1/projects/local/locations/europe-west4/customJobs"
    for path in (elsewhere, other):
        made = emulator.call("POST", path, job(gpus()))
        assert made.json()["state"] == "JOB_STATE_PENDING", path
    assert emulator.refused(job(gpus()), path=refused)["code"] == 429


@pytest.mark.parity("Custom jobs: strategies")
def test_spot_vms_have_a_quota_of_their_own(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 0, preemptible=True)
    message = emulator.refused(job(gpus(), scheduling={"strategy": "SPOT"}))["message"]
    assert message == EXCEEDED + "preemptible_nvidia_l4_gpus"
    assert emulator.refused(job(gpus(), scheduling=FLEX))["message"] == message
    assert state(emulator, emulator.create(gpus())) in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING")


@pytest.mark.parity(
    "Custom jobs: maximum wait",
    same="by the emulator's clock",
    fields=("job_spec.scheduling.max_wait_duration",),
)
def test_flex_start_waits_for_a_day(emulator: JobEmulator) -> None:
    quota(emulator, "NVIDIA_L4", 0, preemptible=True, whenExceeded="queue")
    advance(emulator, 0)
    name = emulator.create(gpus(), scheduling=FLEX)
    shorter = emulator.create(gpus(), scheduling={**FLEX, "maxWaitDuration": "3600s"})
    forever = emulator.create(gpus(), scheduling={**FLEX, "maxWaitDuration": "0s"})
    advance(emulator, 3600)
    ended = emulator.wait(shorter)
    assert (ended["state"], ended["error"]["code"]) == ("JOB_STATE_FAILED", 8)
    assert ended["error"]["message"] == (
        "Resources are insufficient in region: us-central1. Try a different region or use a different "
        "accelerator. The job had waited for 3600 s (job_spec.scheduling.max_wait_duration)."
    )
    assert "startTime" not in ended
    assert state(emulator, name) == "JOB_STATE_QUEUED"
    advance(emulator, 23 * 3600)
    ended = emulator.wait(name)
    assert parse(ended["endTime"]) - parse(ended["createTime"]) == timedelta(days=1)
    advance(emulator, 365 * 24 * 3600)
    emulator.settle()
    assert state(emulator, forever) == "JOB_STATE_QUEUED"


def test_flex_start_gives_up_while_machines_are_provisioned(emulator: JobEmulator) -> None:
    emulator.call("PUT", "/_local/start-delay", {"seconds": 7200})
    advance(emulator, 0)
    name = emulator.create(gpus(), scheduling={**FLEX, "maxWaitDuration": "3600s"})
    usual = emulator.create(gpus("pass"))
    advance(emulator, 3600)
    assert emulator.wait(name)["error"]["code"] == 8
    assert state(emulator, usual) == "JOB_STATE_PENDING"
    advance(emulator, 3600)
    assert emulator.wait(usual)["state"] == "JOB_STATE_SUCCEEDED"


def test_flex_start_that_was_due_before_it_gives_up_starts(emulator: JobEmulator) -> None:
    """Let both times pass before the queue runs: the clock jumped, or no emulator ran."""
    emulator.call("PUT", "/_local/start-delay", {"seconds": 3600})
    advance(emulator, 0)
    name = emulator.create(gpus("pass"), scheduling={**FLEX, "maxWaitDuration": "7200s"})
    advance(emulator, 8000)
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


class InterruptedWaitingJobs(WaitingJobs):
    """Waiting jobs whose removal fails, as if the emulator were killed there."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.tried = threading.Event()

    def remove(self, job_id: str) -> bool:
        self.tried.set()
        raise OSError(f"as if the emulator were killed while the job {job_id} ends")


@pytest.mark.parametrize("cancelled", [False, True], ids=["expired", "cancelled"])
def test_a_waiting_job_whose_end_was_interrupted_never_runs(
    tmp_path: Path, sandbox: Sandbox, cancelled: bool
) -> None:
    made: list[InterruptedWaitingJobs] = []

    def waiting_jobs(database: Database) -> WaitingJobs:
        made.append(InterruptedWaitingJobs(database))
        return made[0]

    with running_jobs(tmp_path, sandbox=sandbox, waiting_jobs=waiting_jobs) as first:
        quota(first, "cpus", 0, whenExceeded="queue", preemptible=True)
        name = first.create(pool("pass"), scheduling={**FLEX, "maxWaitDuration": "3600s"})
        if cancelled:
            assert first.cancel(name).status == 429
        else:
            advance(first, 3600)
        assert made[0].tried.wait(TIMEOUT)
    with running_jobs(tmp_path, sandbox=sandbox) as second:
        ended = second.wait(name)
        assert ended["state"] == ("JOB_STATE_CANCELLED" if cancelled else "JOB_STATE_FAILED")
        assert not second.folder(name).joinpath("supervisor.json").exists()


def test_the_start_delay_follows_the_queue(emulator: JobEmulator) -> None:
    emulator.call("PUT", "/_local/start-delay", {"seconds": 60})
    quota(emulator, "cpus", 4, whenExceeded="queue")
    advance(emulator, 0)
    first, second = emulator.create(pool("pass")), emulator.create(pool("pass"))
    advance(emulator, 60)
    assert emulator.wait(first)["state"] == "JOB_STATE_SUCCEEDED"
    emulator.wait(second, "JOB_STATE_PENDING")
    assert processes_of(second) == []
    advance(emulator, 60)
    ended = emulator.wait(second)
    assert parse(ended["startTime"]) - parse(ended["createTime"]) == timedelta(seconds=120)


def test_jobs_are_queued_over_a_restart(tmp_path: Path, sandbox: Sandbox) -> None:
    """Restart the emulator: the quota still holds, with its region and its own effect."""
    with running_jobs(tmp_path, sandbox=sandbox) as first:
        quota(first, "cpus", 4, whenExceeded="queue", region="us-central1")
        quota(first, "cpus", 0, whenExceeded="queue", region="us-central1")
        name = first.create(pool("print('hello')"))
        assert state(first, name) == "JOB_STATE_QUEUED"
        listed = first.call("GET", "/_local/quotas").json()
    with running_jobs(tmp_path, sandbox=sandbox) as second:
        assert second.call("GET", "/_local/quotas").json() == listed
        other = second.create(pool("pass"))
        assert [state(second, each) for each in (name, other)] == ["JOB_STATE_QUEUED"] * 2
        assert second.call("DELETE", "/_local/quotas").json() == {"removed": 1}
        assert second.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


def test_quotas_are_listed_and_removed(emulator: JobEmulator) -> None:
    set_one = quota(emulator, "NVIDIA_L4", 4, region="us-central1")
    quota(emulator, "aiplatform.googleapis.com/custom_model_training_cpus", 8)
    assert set_one == {
        "metric": f"{quota_metrics.PREFIX}nvidia_l4_gpus",
        "region": "us-central1",
        "limit": 4,
        "whenExceeded": None,
        "usage": [],
    }
    name = emulator.create(gpus(count=2), pool(SLEEP))
    [l4, cpus] = emulator.call("GET", "/_local/quotas").json()["quotas"]
    [used] = l4["usage"]
    assert (used["region"], used["used"]) == ("us-central1", 2)
    assert [each["used"] for each in cpus["usage"]] == [4]
    emulator.cancel(name)
    emulator.wait(name)
    assert emulator.call("GET", "/_local/quotas").json()["quotas"][0]["usage"] == []
    removed = emulator.call("DELETE", "/_local/quotas?metric=NVIDIA_L4&region=us-central1")
    assert removed.json() == {"removed": 1}
    assert emulator.call("DELETE", "/_local/quotas").json() == {"removed": 1}
    assert emulator.call("GET", "/_local/quotas").json() == {"quotas": []}


@pytest.mark.parametrize(
    ("query", "says"),
    [
        pytest.param("metric=", "There is no quota for ''", id="empty metric"),
        pytest.param("region=", "region must be", id="empty region"),
        pytest.param("region=europe", "region must be", id="no region"),
    ],
)
def test_what_cannot_be_meant_removes_nothing(emulator: JobEmulator, query: str, says: str) -> None:
    quota(emulator, "cpus", 8)
    answer = emulator.call("DELETE", f"/_local/quotas?{query}")
    assert (answer.status, says in answer.message) == (400, True), answer.body
    assert len(emulator.call("GET", "/_local/quotas").json()["quotas"]) == 1


def test_a_queue_that_nobody_guards_is_empty(emulator: JobEmulator) -> None:
    quota(emulator, "cpus", 0, whenExceeded="queue")
    name = emulator.create(pool("pass"))
    assert emulator.call("DELETE", "/_local/quotas").status == 200
    emulator.until(lambda: state(emulator, name) == "JOB_STATE_SUCCEEDED")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param({"limit": 1}, "There is no quota for None", id="no metric"),
        pytest.param({"metric": "NVIDIA_L44", "limit": 1}, "Did you mean 'NVIDIA_L4'?", id="misspelt"),
        pytest.param({"metric": "NVIDIA_L4"}, "limit must be", id="no limit"),
        pytest.param({"metric": "NVIDIA_L4", "limit": -1}, "limit must be", id="less than nothing"),
        pytest.param({"metric": "NVIDIA_L4", "limit": 0.5}, "whole number, not 0.5", id="half a GPU"),
        pytest.param({"metric": "cpus", "limit": 1, "region": "europe"}, "region must be", id="region"),
        pytest.param({"metric": "cpus", "limit": 1, "preemptible": 1}, "true or false", id="preemptible"),
        pytest.param({"metric": "cpus", "limit": 1, "whenExceeded": "fail"}, '"refuse" or', id="fail"),
        pytest.param({"metric": "cpus", "limit": 1, "zone": "a"}, "'zone' is unknown", id="zone"),
    ],
)
def test_what_is_no_quota(idle: JobEmulator, body: object, says: str) -> None:
    answer = idle.call("POST", "/_local/quotas", body)
    assert (answer.status, says in answer.message) == (400, True), answer.body
    assert idle.call("GET", "/_local/quotas").json() == {"quotas": []}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("NVIDIA_TESLA_T4", "nvidia_t4_gpus"),
        ("NVIDIA_TESLA_A100", "nvidia_a100_gpus"),
        ("NVIDIA_A100_80GB", "nvidia_a100_80gb_gpus"),
        ("NVIDIA_H100_80GB", "nvidia_h100_gpus"),
        ("TPU_V2", "tpu_v2"),
        ("nvidia_l4_gpus", "nvidia_l4_gpus"),
        ("preemptible_nvidia_l4_gpus", "preemptible_nvidia_l4_gpus"),
        (f"{quota_metrics.PREFIX}preemptible_nvidia_h100_gpus", "preemptible_nvidia_h100_gpus"),
        ("n2_cpus", "n2_cpus"),
        ("n1_cpus", None),
        ("preemptible_NVIDIA_L4", None),
        ("", None),
    ],
)
def test_the_names_of_metrics(given: str, found: str | None) -> None:
    assert metrics.metric(given) == found


def test_every_accelerator_has_a_metric() -> None:
    found = [metrics.metric(name) for name in accelerators.NAMES]
    assert None not in found
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("machine", "replicas", "strategy", "expected"),
    [
        pytest.param({"machineType": "n1-standard-8"}, 3, "STANDARD", {"cpus": 24}, id="vCPUs"),
        pytest.param({"machineType": "n2-standard-8"}, 1, "STANDARD", {"n2_cpus": 8}, id="of N2"),
        pytest.param({"machineType": "x9-standard-8"}, 1, "STANDARD", {}, id="of an unknown type"),
        pytest.param({"machineType": "e2-standard-4"}, 1, "SPOT", {"preemptible_cpus": 4}, id="Spot VMs"),
        pytest.param(
            {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2},
            3,
            "STANDARD",
            {"cpus": 12, "nvidia_t4_gpus": 6},
            id="GPUs",
        ),
        pytest.param({"machineType": "n1-standard-4"}, 0, "STANDARD", {}, id="no replica"),
    ],
)
def test_what_a_job_takes(
    machine: dict[str, Any], replicas: int, strategy: str, expected: dict[str, int]
) -> None:
    from google.protobuf import json_format

    message = descriptors.message(CUSTOM_JOB)
    body = job({**pool(), "machineSpec": machine, "replicaCount": replicas})
    json_format.ParseDict(body, message, descriptor_pool=descriptors.pool())
    assert metrics.demand(message, strategy=strategy) == expected
