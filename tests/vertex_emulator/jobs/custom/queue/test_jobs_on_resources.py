"""Jobs on a persistent resource of the emulator: they run at once, queue, and grow with it."""

from __future__ import annotations

from typing import Any

import pytest

from support.emulated.job_emulator import SLEEP, JobEmulator, pool, raise_flag, wait_for_flags
from support.emulated.services.machines import (
    COLLECTION,
    PLACE,
    begin,
    finished,
    machines,
    made,
    on_it,
    patched,
    sizes,
    state,
    submit,
    used,
)
from support.waiting import eventually


@pytest.mark.parity(
    "Custom jobs: jobs on a persistent resource",
    same="its machines are counted, and are processes of this machine",
    fields=("job_spec.persistent_resource_id",),
)
@pytest.mark.parity(
    "Persistent resources: jobs on it", same="its machines are counted, and are processes of this machine"
)
def test_a_job_runs_on_it_at_once(emulator: JobEmulator) -> None:
    made(emulator, machines(3))
    emulator.call("PUT", "/_local/start-delay", {"seconds": 3600})
    emulator.call("POST", "/_local/quotas", {"metric": "cpus", "limit": 0})
    name = submit(emulator, pool(wait_for_flags("go")), pool(wait_for_flags("go"), replicas=1))
    emulator.wait(name, "JOB_STATE_RUNNING")
    assert used(emulator) == [2]
    (emulator.flags / "go").touch()
    emulator.wait(name, "JOB_STATE_SUCCEEDED")
    assert used(emulator) == [0]


def test_jobs_on_it_take_no_quota(emulator: JobEmulator) -> None:
    made(emulator)
    emulator.call("POST", "/_local/quotas", {"metric": "cpus", "limit": 4})
    emulator.wait(submit(emulator), "JOB_STATE_RUNNING")
    emulator.wait(emulator.create(pool(SLEEP)), "JOB_STATE_RUNNING")


@pytest.mark.parity("Custom jobs: jobs on a persistent resource")
@pytest.mark.parity("Persistent resources: jobs on it")
def test_they_queue_when_it_is_full_and_go_on_in_order(emulator: JobEmulator) -> None:
    made(emulator, machines(2))
    code = "import os\nopen('/gcs/flags/' + os.environ['CLOUD_ML_JOB_ID'], 'w').close()\n"
    first = submit(emulator, pool(wait_for_flags("go")), pool(wait_for_flags("go")))
    large = submit(emulator, pool(code + wait_for_flags("go2")), pool(wait_for_flags("go2")))
    small = submit(emulator, pool(code))
    assert [state(emulator, each) for each in (large, small)] == ["JOB_STATE_QUEUED"] * 2
    (emulator.flags / "go").touch()
    emulator.wait(first, "JOB_STATE_SUCCEEDED")
    emulator.wait(large, "JOB_STATE_RUNNING")
    assert state(emulator, small) == "JOB_STATE_QUEUED"
    (emulator.flags / "go2").touch()
    emulator.wait(small, "JOB_STATE_SUCCEEDED")


def test_a_small_job_does_not_overtake_a_large_one(emulator: JobEmulator) -> None:
    made(emulator, machines(2))
    first = submit(emulator, pool(wait_for_flags("go")))
    large = submit(emulator, pool(SLEEP), pool(SLEEP))
    small = submit(emulator)
    assert [state(emulator, each) for each in (large, small)] == ["JOB_STATE_QUEUED"] * 2
    assert used(emulator) == [1]
    emulator.cancel(large)
    emulator.wait(small, "JOB_STATE_RUNNING")
    assert state(emulator, first) in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING")


def test_a_full_resource_holds_up_nobody_on_another(emulator: JobEmulator) -> None:
    made(emulator, machines(1))
    made(emulator, machines(1), name="others")
    submit(emulator)
    assert state(emulator, submit(emulator)) == "JOB_STATE_QUEUED"
    emulator.wait(submit(emulator, name="others"), "JOB_STATE_RUNNING")
    emulator.wait(emulator.create(pool(SLEEP)), "JOB_STATE_RUNNING")


@pytest.mark.parity("Persistent resources: autoscaling", same="at once")
def test_it_grows_to_what_is_needed_and_shrinks_again(emulator: JobEmulator) -> None:
    made(emulator, machines(1, autoscalingSpec={"minReplicaCount": 1, "maxReplicaCount": 3}))
    first = submit(emulator, pool(wait_for_flags("go")), pool(wait_for_flags("go"), replicas=2))
    emulator.wait(first, "JOB_STATE_RUNNING")
    assert (sizes(emulator), used(emulator)) == ([3], [3])
    assert state(emulator, submit(emulator, pool(raise_flag("ran")))) == "JOB_STATE_QUEUED"
    (emulator.flags / "go").touch()
    emulator.wait(first, "JOB_STATE_SUCCEEDED")
    eventually((emulator.flags / "ran").exists)
    eventually(lambda: (sizes(emulator), used(emulator)) == ([1], [0]))


def test_a_larger_pool_lets_a_queued_job_in(emulator: JobEmulator) -> None:
    pools = made(emulator, machines(1))["resourcePools"]
    submit(emulator)
    second = submit(emulator)
    assert state(emulator, second) == "JOB_STATE_QUEUED"
    finished(
        emulator,
        patched(
            emulator, {"resourcePools": [{**pools[0], "replicaCount": 2}]}, "resource_pools.replica_count"
        ).json(),
    )
    emulator.wait(second, "JOB_STATE_RUNNING")


@pytest.mark.parity("Persistent resources: resize, relabel")
def test_a_pool_cannot_be_smaller_than_what_is_used(emulator: JobEmulator) -> None:
    pools = made(emulator, machines(2))["resourcePools"]
    emulator.wait(submit(emulator, pool(SLEEP), pool(SLEEP)), "JOB_STATE_RUNNING")
    body = {"resourcePools": [{**pools[0], "replicaCount": 1}]}
    error = patched(emulator, body, "resource_pools.replica_count").json()["error"]
    assert error["status"] == "FAILED_PRECONDITION"


@pytest.mark.parity("Custom jobs: jobs on a persistent resource")
@pytest.mark.parity("Persistent resources: jobs on it")
@pytest.mark.parity("Persistent resources: network, keys, service account")
@pytest.mark.parametrize(
    ("resource", "body", "field"),
    [
        pytest.param(
            {},
            on_it({**pool(), "machineSpec": {"machineType": "n1-standard-8"}}),
            "job_spec.worker_pool_specs[0].machine_spec",
            id="machine",
        ),
        pytest.param(
            {},
            on_it({**pool(), "diskSpec": {"bootDiskSizeGb": 200}}),
            "job_spec.worker_pool_specs[0].machine_spec",
            id="disk",
        ),
        pytest.param({}, on_it(pool(), pool(replicas=2)), "job_spec.worker_pool_specs", id="size"),
        pytest.param({"network": "n"}, on_it(), "job_spec.network", id="network"),
        pytest.param(
            {"encryptionSpec": {"kmsKeyName": "k"}}, on_it(), "encryption_spec.kms_key_name", id="key"
        ),
        pytest.param(
            {"resourceRuntimeSpec": {"serviceAccountSpec": {"enableCustomServiceAccount": True}}},
            on_it(),
            "job_spec.service_account",
            id="service account",
        ),
    ],
)
def test_a_job_that_does_not_fit(
    emulator: JobEmulator, resource: dict[str, Any], body: dict[str, Any], field: str
) -> None:
    made(emulator, **resource)
    error = emulator.refused(body)
    assert error["status"] == "INVALID_ARGUMENT"
    assert [each["field"] for each in error["details"][0]["fieldViolations"]] == [field]
    assert emulator.call("GET", "/_local/jobs").json() == {"jobs": []}


def test_a_job_on_nothing(emulator: JobEmulator) -> None:
    error = emulator.refused(on_it(name="nothing"))
    assert error["status"] == "NOT_FOUND"
    assert f"{PLACE}/persistentResources/nothing" in error["message"]


def test_a_job_on_what_does_not_run_yet(emulator: JobEmulator) -> None:
    emulator.call("POST", "/_local/clock/freeze", {})
    begin(emulator)
    error = emulator.refused(on_it())
    assert (error["status"], "in state PROVISIONING" in error["message"]) == ("FAILED_PRECONDITION", True)


@pytest.mark.parity("Persistent resources: deletion", same="the operation ends after the jobs")
def test_its_deletion_cancels_the_jobs_on_it(emulator: JobEmulator) -> None:
    made(emulator, machines(1))
    names = [submit(emulator), submit(emulator)]
    emulator.wait(names[0], "JOB_STATE_RUNNING")
    finished(emulator, emulator.call("DELETE", f"{COLLECTION}/gpus").json())
    assert [state(emulator, each) for each in names] == ["JOB_STATE_CANCELLED"] * 2
    assert "startTime" not in emulator.get(names[1])
