"""PersistentResourceService on the emulator, also after a restart and a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import Answer, call, kill
from support.emulated.job_emulator import JobEmulator, pool, running_jobs, wait_for_flags
from support.emulated.services.machines import (
    COLLECTION,
    N1,
    PLACE,
    begin,
    finished,
    get,
    machines,
    made,
    patched,
    sizes,
    state,
    submit,
    used,
)
from vertex_emulator.client import launcher
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

T4 = {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
ID_WORDS = (
    "persistent_resource_id can only contain numbers, lower case letters and hyphens. The first character "
    "must be a letter, and the last character must be a letter or number."
)
LABEL_WORDS = (
    "There can be no more than 64 labels attached to a single resource. Label keys and values can only "
    "contain lowercase letters, numbers, dashes and underscores. Label keys must start with a letter or "
    "number, must be less than 64 characters in length, and must be less that 128 bytes in length when "
    "encoded in UTF-8. "
    "Label values must be less than 64 characters in length, and must be less that 128 bytes in length when "
    "encoded in UTF-8."
)


def delay(emulator: JobEmulator, seconds: float) -> None:
    assert emulator.call("PUT", "/_local/persistent-resource-delay", {"seconds": seconds}).status == 200


def advance(emulator: JobEmulator, seconds: float) -> None:
    assert emulator.call("POST", "/_local/clock/advance", {"seconds": seconds}).status == 200


def made_slow(emulator: JobEmulator, **more: Any) -> None:
    """Create a resource that runs, and whose next change takes until the clock is advanced by an hour."""
    made(emulator, **more)
    delay(emulator, 3600)


@pytest.mark.parity(
    "Persistent resources: create, get, list",
    own_way="the same states and operation; it takes 0.3 s, or the time that a test sets",
    fields=("display_name", "labels", "resource_pools"),
)
def test_it_is_provisioned_and_then_runs(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    operation = begin(emulator, displayName="GPUs", labels={"team": "vision"})
    name = f"{PLACE}/persistentResources/gpus"
    assert operation["name"].startswith(f"{name}/operations/")
    assert operation["metadata"]["@type"].endswith(".CreatePersistentResourceOperationMetadata")
    found = get(emulator)
    assert (found["state"], "startTime" in found) == ("PROVISIONING", False)
    advance(emulator, 3600)
    done = finished(emulator, operation)["response"]
    assert done["@type"].endswith(".PersistentResource")
    found = get(emulator)
    assert (found["name"], found["state"], found["displayName"]) == (name, "RUNNING", "GPUs")
    assert found["createTime"] < found["startTime"] == found["updateTime"]
    assert found["labels"] == {"team": "vision"}


def test_time_is_the_emulators(emulator: JobEmulator) -> None:
    emulator.call("POST", "/_local/clock/freeze", {})
    delay(emulator, 3600)
    operation = begin(emulator)
    assert get(emulator)["state"] == "PROVISIONING"
    advance(emulator, 3600)
    finished(emulator, operation)
    assert get(emulator)["state"] == "RUNNING"


def test_what_the_service_fills_in(emulator: JobEmulator) -> None:
    scaling = {"minReplicaCount": "1", "maxReplicaCount": "4"}
    pools = made(
        emulator, machines(), machines(), {"machineSpec": T4, "autoscalingSpec": scaling}, machines(id="own")
    )["resourcePools"]
    assert [each["id"] for each in pools] == [
        "n1-standard-4",
        "n1-standard-4-2",
        "n1-standard-8-nvidia-tesla-t4-1",
        "own",
    ]
    assert {json.dumps(each["diskSpec"]) for each in pools} == {
        json.dumps({"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100})
    }
    assert (pools[2]["replicaCount"], pools[2]["autoscalingSpec"]) == ("1", scaling)


@pytest.mark.parity("Persistent resources: create, get, list")
@pytest.mark.parity(
    "Persistent resources: network, keys, service account",
    not_done="stored, returned and compared with the jobs on it, without effect",
    fields=(
        "network",
        "psc_interface_config",
        "encryption_spec",
        "reserved_ip_ranges",
        "resource_runtime_spec.service_account_spec",
    ),
)
def test_every_other_field_is_echoed(emulator: JobEmulator) -> None:
    more = {
        "network": "projects/1/global/networks/n",
        "reservedIpRanges": ["r"],
        "pscInterfaceConfig": {"networkAttachment": "a"},
        "encryptionSpec": {"kmsKeyName": "k"},
        "resourceRuntimeSpec": {
            "serviceAccountSpec": {"enableCustomServiceAccount": True, "serviceAccount": "a@p"}
        },
    }
    found = made(emulator, **more)
    assert {name: found[name] for name in more} == more


@pytest.mark.parity(
    "Persistent resources: faults of resources", same="with the messages of a public log, if it has them"
)
def test_the_words_of_the_service(emulator: JobEmulator) -> None:
    body = {"resourcePools": [machines()], "labels": {"A": "b"}}
    error = emulator.refused(body, path=f"{COLLECTION}?persistentResourceId=My_GPUs")
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert error["message"] == (
        f"List of found errors:\t1.Field: persistent_resource_id; Message: {ID_WORDS}\t"
        f"2.Field: persistent_resource.labels; Message: {LABEL_WORDS}\t"
    )
    assert error["details"][0]["fieldViolations"] == [
        {"field": "persistent_resource_id", "description": ID_WORDS},
        {"field": "persistent_resource.labels", "description": LABEL_WORDS},
    ]


FIRST = "persistent_resource.resource_pools[0]"


@pytest.mark.parity("Persistent resources: faults of resources")
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param({}, ["persistent_resource.resource_pools"], id="no pools"),
        pytest.param({"resourcePools": [machines(0)]}, [f"{FIRST}.replica_count"], id="no replicas"),
        pytest.param(
            {"resourcePools": [{"replicaCount": 1}]}, [f"{FIRST}.machine_spec.machine_type"], id="no machine"
        ),
        pytest.param(
            {"resourcePools": [machines(machine={**N1, "acceleratorCount": 1})]},
            [f"{FIRST}.machine_spec.accelerator_type"],
            id="half an accelerator",
        ),
        pytest.param(
            {"resourcePools": [machines(diskSpec={"bootDiskSizeGb": 10})]},
            [f"{FIRST}.disk_spec.boot_disk_size_gb"],
            id="disk",
        ),
        pytest.param(
            {"resourcePools": [machines(id="a"), machines(id="a")]},
            [f"{FIRST}.id", "persistent_resource.resource_pools[1].id"],
            id="ids",
        ),
        pytest.param(
            {"resourcePools": [machines(autoscalingSpec={"maxReplicaCount": 4})]},
            [f"{FIRST}.autoscaling_spec.min_replica_count"],
            id="down to nothing",
        ),
        pytest.param(
            {"resourcePools": [machines(9, autoscalingSpec={"minReplicaCount": 1, "maxReplicaCount": 4})]},
            [f"{FIRST}.replica_count"],
            id="count outside",
        ),
        pytest.param(
            {"resourcePools": [machines()], "displayName": "x" * 129},
            ["persistent_resource.display_name"],
            id="display name",
        ),
    ],
)
def test_faults(emulator: JobEmulator, body: dict[str, Any], fields: list[str]) -> None:
    error = emulator.refused(body, path=f"{COLLECTION}?persistentResourceId=gpus")
    assert [each["field"] for each in error["details"][0]["fieldViolations"]] == fields


def test_an_id_exists_once(emulator: JobEmulator) -> None:
    made(emulator)
    error = emulator.refused({"resourcePools": [machines()]}, path=f"{COLLECTION}?persistentResourceId=gpus")
    assert (error["code"], error["status"]) == (409, "ALREADY_EXISTS")


def test_the_same_id_in_another_region(emulator: JobEmulator) -> None:
    made(emulator)
    path = "/v1/projects/local/locations/europe-west4/persistentResources?persistent_resource_id=gpus"
    assert emulator.call("POST", path, {"resourcePools": [machines()]}).status == 200


@pytest.mark.parity("Persistent resources: create, get, list")
def test_lists_have_pages(emulator: JobEmulator) -> None:
    for name in ("a", "b", "c"):
        made(emulator, name=name)
    first = emulator.call("GET", f"{COLLECTION}?pageSize=2").json()
    second = emulator.call("GET", f"{COLLECTION}?pageSize=2&pageToken={first['nextPageToken']}").json()
    names = [each["name"][-1] for page in (first, second) for each in page["persistentResources"]]
    assert (names, "nextPageToken" in second) == (["c", "b", "a"], False)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_is_not_there(emulator: JobEmulator, method: str) -> None:
    answer = emulator.call(method, f"{COLLECTION}/nothing")
    assert (answer.status, answer.json()["error"]["status"]) == (404, "NOT_FOUND")


@pytest.mark.parity("Persistent resources: resize, relabel")
def test_it_is_relabelled(emulator: JobEmulator) -> None:
    made_slow(emulator, displayName="a", labels={"a": "1"})
    answer = patched(emulator, {"displayName": "b", "labels": {"c": "2"}}, "displayName,labels")
    assert answer.json()["metadata"]["@type"].endswith(".UpdatePersistentResourceOperationMetadata")
    assert get(emulator)["state"] == "UPDATING"
    advance(emulator, 3600)
    found = finished(emulator, answer.json())["response"]
    assert (found["displayName"], found["labels"], found["state"]) == ("b", {"c": "2"}, "RUNNING")


def test_what_the_mask_does_not_name_stays(emulator: JobEmulator) -> None:
    made(emulator, displayName="a", labels={"a": "1"})
    found = finished(emulator, patched(emulator, {"labels": {}, "displayName": "b"}, "labels").json())
    assert (found["response"]["displayName"], "labels" in found["response"]) == ("a", False)


@pytest.mark.parity("Persistent resources: resize, relabel", same="by the ids of pools")
def test_it_is_resized_by_the_ids_of_pools(emulator: JobEmulator) -> None:
    pools = made(emulator, machines(2), machines(1, T4))["resourcePools"]
    body = {"resourcePools": [{**pools[1], "replicaCount": "3"}, pools[0]]}
    finished(emulator, patched(emulator, body, "resourcePools.replicaCount").json())
    assert sizes(emulator) == [2, 3]


@pytest.mark.parametrize(
    ("body", "mask", "status"),
    [
        pytest.param({"displayName": "b"}, "", "INVALID_ARGUMENT", id="no mask"),
        pytest.param({"network": "n"}, "network", "UNIMPLEMENTED", id="network"),
        pytest.param({"resourcePools": []}, "resource_pools", "INVALID_ARGUMENT", id="a pool less"),
        pytest.param(
            {"resourcePools": [machines(1, T4)]}, "resource_pools", "INVALID_ARGUMENT", id="another machine"
        ),
        pytest.param(
            {"resourcePools": [machines(0)]}, "resource_pools.replica_count", "INVALID_ARGUMENT", id="none"
        ),
        pytest.param(
            {"resourcePools": [machines(1, id="b")]}, "resource_pools", "INVALID_ARGUMENT", id="another id"
        ),
    ],
)
def test_updates_that_are_refused(
    emulator: JobEmulator, body: dict[str, Any], mask: str, status: str
) -> None:
    made(emulator)
    before = get(emulator)
    assert patched(emulator, body, mask).json()["error"]["status"] == status
    assert get(emulator) == before


def test_only_what_runs_is_updated(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    begin(emulator)
    error = patched(emulator, {"displayName": "b"}, "displayName").json()["error"]
    assert (error["status"], "in state PROVISIONING" in error["message"]) == ("FAILED_PRECONDITION", True)


@pytest.mark.parity("Persistent resources: reboot", same="by an operation")
def test_it_is_rebooted(emulator: JobEmulator) -> None:
    made_slow(emulator)
    answer = emulator.call("POST", f"{COLLECTION}/gpus:reboot", {})
    assert answer.json()["metadata"]["@type"].endswith(".RebootPersistentResourceOperationMetadata")
    assert get(emulator)["state"] == "REBOOTING"
    assert emulator.call("DELETE", f"{COLLECTION}/gpus").json()["error"]["status"] == "FAILED_PRECONDITION"
    advance(emulator, 3600)
    finished(emulator, answer.json())
    assert get(emulator)["state"] == "RUNNING"


@pytest.mark.parity("Persistent resources: reboot")
def test_it_is_not_rebooted_under_a_job(emulator: JobEmulator) -> None:
    made(emulator)
    name = submit(emulator)
    emulator.wait(name, "JOB_STATE_RUNNING")
    error = emulator.call("POST", f"{COLLECTION}/gpus:reboot", {}).json()["error"]
    assert (error["status"], name in error["message"]) == ("FAILED_PRECONDITION", True)


@pytest.mark.parity(
    "Persistent resources: Ray clusters",
    not_done="refused with UNIMPLEMENTED and the name of the field, also in a preview",
    fields=("resource_runtime_spec.ray_spec",),
)
def test_a_ray_cluster_is_refused(emulator: JobEmulator) -> None:
    ray = {"raySpec": {"resourcePoolImages": {"head": "ray"}}}
    body = {"resourcePools": [machines()], "resourceRuntimeSpec": ray}
    error = emulator.refused(body, path=f"{COLLECTION}?persistentResourceId=gpus")
    assert (error["code"], error["status"]) == (400, "UNIMPLEMENTED")
    assert error["message"].startswith(
        "The emulator does not support persistent_resource.resource_runtime_spec.ray_spec, because it runs "
        "no Ray"
    )
    assert emulator.call("GET", f"{COLLECTION}/gpus").status == 404


@pytest.mark.parity("Persistent resources: deletion")
def test_it_is_deleted(emulator: JobEmulator) -> None:
    made_slow(emulator)
    operation = emulator.call("DELETE", f"{COLLECTION}/gpus").json()
    assert operation["name"].startswith(f"{PLACE}/operations/")
    assert get(emulator)["state"] == "STOPPING"
    advance(emulator, 3600)
    assert finished(emulator, operation)["response"]["@type"].endswith(".Empty")
    assert emulator.call("GET", f"{COLLECTION}/gpus").status == 404


def test_a_creation_that_is_given_up(emulator: JobEmulator) -> None:
    delay(emulator, 3600)
    creation = begin(emulator)
    deletion = emulator.call("DELETE", f"{COLLECTION}/gpus").json()
    assert finished(emulator, creation)["error"] == {"code": 1, "message": "CANCELLED"}
    advance(emulator, 3600)
    finished(emulator, deletion)
    assert emulator.call("GET", f"{COLLECTION}/gpus").status == 404


def test_a_reset_forgets_it(emulator: JobEmulator) -> None:
    begin(emulator)
    assert emulator.call("POST", "/_local/reset", {}).status == 200
    assert emulator.call("GET", COLLECTION).json() == {}
    made(emulator)


# Restarts.


def test_a_restarted_emulator_goes_on(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as first:
        delay(first, 3600)
        creation = begin(first, machines(1))
    with running_jobs(tmp_path, sandbox=sandbox) as second:
        assert get(second)["state"] == "PROVISIONING"
        advance(second, 3600)
        finished(second, creation)
        names = [submit(second, pool(wait_for_flags("go"))), submit(second)]
    with running_jobs(tmp_path, sandbox=sandbox) as third:
        assert (used(third), state(third, names[1])) == ([1], "JOB_STATE_QUEUED")
        (third.flags / "go").touch()
        third.wait(names[1], "JOB_STATE_RUNNING")
        finished(third, third.call("DELETE", f"{COLLECTION}/gpus").json())


class Detached(JobEmulator):
    """An emulator in a process of its own."""

    def __init__(self, data_dir: Path) -> None:
        self._emulator = launcher.ensure(data_dir)
        self.pid = int(json.loads((data_dir / "emulator.json").read_text())["pid"])

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        return call(self._emulator.url, method, path, body=body, token=self._emulator.token)


def test_a_kill_loses_no_resource(tmp_path: Path) -> None:
    """Restart while one resource is provisioned and another is deleted."""
    try:
        first = Detached(tmp_path)
        delay(first, 3600)
        begin(first)
        delay(first, 0.2)
        made(first, name="other")
        deletion = first.call("DELETE", f"{COLLECTION}/other").json()
        kill(first.pid)
        second = Detached(tmp_path)
        assert second.pid != first.pid
        assert get(second)["state"] == "PROVISIONING"
        finished(second, deletion)
        assert second.call("GET", f"{COLLECTION}/other").status == 404
    finally:
        launcher.stop(tmp_path)
