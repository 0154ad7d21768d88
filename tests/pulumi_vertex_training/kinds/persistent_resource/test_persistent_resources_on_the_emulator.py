"""Persistent resources made by the engine's real provider process on an emulator."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.providers import PersistentResourceProvider
from support.client.plugin import PluginProcess
from support.waiting import eventually
from vertex_emulator.client.control import Control

PROVIDER = PersistentResourceProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
MARKS = {"project": "p", "stack": "s", "resource": "r"}
LABELS = {f"pulumi-{name}": value for name, value in MARKS.items()}
KEY = "0123456789abcdef-01234567"
KEYED = {**LABELS, "vertex-training-key": KEY}
N1 = {"machine_type": "n1-standard-4"}
POOLS = [{"machine_spec": N1, "replica_count": 2}]
WIRE = [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 2}]
IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Iterator[PluginProcess]:
    folder = tmp_path_factory.mktemp("program")
    with PluginProcess(folder, config={"vertex-training:dataDir": str(data_dir)}) as process:
        yield process


@pytest.fixture(autouse=True)
def quick(endpoint: Endpoint) -> None:
    delay(endpoint, 0)


def delay(endpoint: Endpoint, seconds: float) -> None:
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.call("PUT", "/_local/persistent-resource-delay", {"seconds": seconds})


def declared(name: str, **more: Any) -> dict[str, Any]:
    return {"persistent_resource_id": name, "resource_pools": POOLS, "marks": MARKS, **PLACE, **more}


def checked(plugin: PluginProcess, props: dict[str, Any]) -> dict[str, Any]:
    inputs, failures = plugin.check(PROVIDER, props)
    assert failures == {}
    return dict(inputs)


def create(plugin: PluginProcess, name: str, timeout: float = 0.0, **more: Any) -> tuple[str, dict[str, Any]]:
    id_, outs = plugin.create(PROVIDER, checked(plugin, declared(name, **more)), timeout=timeout)
    return id_, dict(outs)


def full_name(name: str) -> str:
    return f"projects/local/locations/us-central1/persistentResources/{name}"


def running(endpoint: Endpoint, name: str) -> persistent_resources.ResourceRecord:
    """Wait until the resource runs, and return it."""
    found: list[persistent_resources.ResourceRecord] = []

    def runs() -> bool:
        found.append(persistent_resources.get(endpoint, full_name(name)))
        return found[-1].state.word == "RUNNING"

    eventually(runs)
    return found[-1]


def made_before(endpoint: Endpoint, name: str, labels: dict[str, str], **more: Any) -> None:
    """Create a resource that no state has, and wait until it runs."""
    persistent_resources.create(endpoint, name, {"resourcePools": WIRE, "labels": labels, **more})
    running(endpoint, name)


def refusal(caught: pytest.ExceptionInfo[grpc.RpcError]) -> str:
    return str(caught.value.details())  # type: ignore[attr-defined]


def test_a_creation_does_not_wait(plugin: PluginProcess, endpoint: Endpoint) -> None:
    delay(endpoint, 3600)
    id_, _ = create(plugin, "slow")
    assert id_ == full_name("slow")
    assert persistent_resources.get(endpoint, id_).state.word == "PROVISIONING"


def test_an_unknown_machine_type(plugin: PluginProcess, endpoint: Endpoint) -> None:
    pools = [{"machine_spec": {"machine_type": "n9-standard-4"}, "replica_count": 1}]
    create(plugin, "newest", resource_pools=pools, allow_unknown_types=True)
    (pool,) = running(endpoint, "newest").wire["resourcePools"]
    assert pool["machineSpec"] == {"machineType": "n9-standard-4"}


def test_a_resource_of_an_interrupted_deployment_is_adopted(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    made_before(endpoint, "begun", KEYED)
    create(plugin, "begun", display_name="mine", __key=KEY)
    record = running(endpoint, "begun")
    assert (record.labels, record.wire["displayName"]) == (KEYED, "mine")


def test_one_that_cannot_be_made_the_declared_one_is_created_again(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    made_before(endpoint, "private", KEYED, network="n")
    create(plugin, "private", __key=KEY)
    record = running(endpoint, "private")
    assert (record.labels, record.wire.get("network")) == (KEYED, None)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param("somebody", {}, id="somebody else's"),
        pytest.param("namesake", LABELS, id="that of a stack with the same names"),
        pytest.param("another", {**KEYED, "vertex-training-key": "f-1"}, id="another stack's"),
    ],
)
def test_an_existing_resource_is_refused(
    plugin: PluginProcess, endpoint: Endpoint, name: str, labels: dict[str, str]
) -> None:
    made_before(endpoint, name, labels)
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, name, __key=KEY)
    assert f"persistent resource {name} already exists" in refusal(caught)
    assert running(endpoint, name).labels == labels


def test_a_resource_in_use_is_not_adopted(plugin: PluginProcess, endpoint: Endpoint) -> None:
    made_before(endpoint, "busy", KEYED)
    job = custom_jobs.create(endpoint, job_on("busy"))
    eventually(lambda: running(endpoint, "busy").wire["resourcePools"][0].get("usedReplicaCount"))
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, "busy", __key=KEY)
    assert "already exists" in refusal(caught)
    persistent_resources.delete(endpoint, full_name("busy"))
    eventually(lambda: custom_jobs.get(endpoint, job.name).state.is_terminal)


def job_on(name: str) -> dict[str, Any]:
    container = {"imageUri": IMAGE, "command": ["python3", "-c", "import time; time.sleep(600)"]}
    pool = {**WIRE[0], "replicaCount": 1, "containerSpec": container}
    return {"displayName": "j", "jobSpec": {"workerPoolSpecs": [pool], "persistentResourceId": name}}


def test_a_creation_waits_until_the_previous_resource_is_deleted(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    made_before(endpoint, "again", {})
    delay(endpoint, 0.5)
    persistent_resources.delete(endpoint, full_name("again"))
    create(plugin, "again")
    assert running(endpoint, "again").labels == LABELS


def test_a_creation_waits_for_its_custom_timeout(plugin: PluginProcess, endpoint: Endpoint) -> None:
    made_before(endpoint, "patient", {})
    delay(endpoint, 3600)
    persistent_resources.delete(endpoint, full_name("patient"))
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, "patient", timeout=0.3)
    assert "patient: the previous one is still being deleted after 0.3 s. Nothing was created" in refusal(
        caught
    )
    assert "choose another persistent_resource_id" in refusal(caught)
    assert 'custom_timeouts=pulumi.CustomTimeouts(create="20m")' in refusal(caught)


def test_ctrl_c_ends_the_wait_of_a_creation(tmp_path: Path, data_dir: Path, endpoint: Endpoint) -> None:
    made_before(endpoint, "left", {})
    delay(endpoint, 3600)
    persistent_resources.delete(endpoint, full_name("left"))
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as own:
        props = checked(own, declared("left"))
        ended = threading.Timer(0.5, own.cancel)
        ended.start()
        with pytest.raises(grpc.RpcError) as caught:
            own.create(PROVIDER, props)
        ended.join()
    assert "left: interrupted while the previous one is being deleted" in refusal(caught)
    assert "Run `pulumi up` again" in refusal(caught)


def test_an_update_waits_for_its_custom_timeout(plugin: PluginProcess, endpoint: Endpoint) -> None:
    id_, old = create(plugin, "unsettled")
    running(endpoint, "unsettled")
    delay(endpoint, 3600)
    pools = [{"machine_spec": N1, "replica_count": 3}]
    new = checked(plugin, declared("unsettled", resource_pools=pools))
    plugin.update(PROVIDER, id_, old, new, timeout=0.3)
    again = [{"machine_spec": N1, "replica_count": 4}]
    newer = checked(plugin, declared("unsettled", resource_pools=again))
    with pytest.raises(grpc.RpcError) as caught:
        plugin.update(PROVIDER, id_, new, newer, timeout=0.3)
    assert "unsettled" in refusal(caught)


def test_an_update_waits_while_the_service_is_busy(plugin: PluginProcess, endpoint: Endpoint) -> None:
    delay(endpoint, 0.5)
    id_, old = create(plugin, "eager")
    pools = [{"machine_spec": N1, "replica_count": 3}]
    new = checked(plugin, declared("eager", resource_pools=pools, reboot_token="1"))
    plugin.update(PROVIDER, id_, old, new)
    assert running(endpoint, "eager").wire["resourcePools"][0]["replicaCount"] == "3"


def test_a_deletion_waits_for_its_custom_timeout(plugin: PluginProcess, endpoint: Endpoint) -> None:
    id_, outs = create(plugin, "lingers")
    running(endpoint, "lingers")
    delay(endpoint, 3600)
    plugin.delete(PROVIDER, id_, outs, timeout=0.3)
    assert persistent_resources.get(endpoint, id_).state.word == "STOPPING", "the service finishes it"


def test_a_deletion(plugin: PluginProcess, endpoint: Endpoint) -> None:
    id_, outs = create(plugin, "gone")
    running(endpoint, "gone")
    plugin.delete(PROVIDER, id_, outs)
    with pytest.raises(NotFound):
        persistent_resources.get(endpoint, id_)
    plugin.delete(PROVIDER, id_, outs)


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"marks": {"stack": "t"}}, None, id="marks"),
        pytest.param({"allow_unknown_types": True}, None, id="a switch"),
        pytest.param({"display_name": "b"}, [], id="display name"),
        pytest.param({"reboot_token": "b"}, [], id="reboot token"),
        pytest.param({"resource_pools": [{"machine_spec": N1, "replica_count": 7}]}, [], id="size"),
        pytest.param(
            {"resource_pools": [{"machine_spec": N1, "replica_count": 2, "id": "a"}]},
            ["resource_pools"],
            id="pool",
        ),
        pytest.param({"network": "projects/1/global/networks/n"}, ["network"], id="network"),
        pytest.param({"persistent_resource_id": "other"}, ["persistent_resource_id"], id="id"),
    ],
)
def test_replacing_changes(plugin: PluginProcess, change: dict[str, Any], replaces: list[str] | None) -> None:
    old, new = (checked(plugin, {**declared("same"), **more}) for more in ({}, change))
    assert plugin.diff(PROVIDER, old, new) == (replaces is not None, replaces or [])


def test_every_mistake_is_found_at_once(plugin: PluginProcess) -> None:
    _, failures = plugin.check(
        PROVIDER,
        declared(
            "GPU pool", resource_pools=[{"machine_spec": {"machine_type": "x"}}], netwrk="n", project=""
        ),
    )
    text = str(failures)
    for words in ("'GPU pool' cannot be", "'x' is not a machine type", "did you mean network", "project"):
        assert words in text


def test_a_ray_cluster_is_refused_in_the_preview(plugin: PluginProcess) -> None:
    ray = {"ray_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/training/ray-cpu.2-47.py311:latest"}}
    _, failures = plugin.check(PROVIDER, declared("ray", resource_runtime_spec=ray))
    assert list(failures) == ["resource_runtime_spec.ray_spec"]
    assert "the emulator runs no Ray" in str(failures)
    at_google = {"endpoint": "google", "project": "my-project"}
    _, failures = plugin.check(PROVIDER, {**declared("ray", resource_runtime_spec=ray), **at_google})
    assert failures == {}
