"""`PersistentResource` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

import os
import signal
from typing import Any

import psutil

from support.engine import Engine, hear
from support.waiting import PATIENCE, eventually
from vertex_training.cloud import custom_jobs, persistent_resources
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import NotFound
from vertex_training.cloud.persistent_resources import ResourceRecord
from vertex_training.emulator import launcher
from vertex_training.emulator.control import Control

NAME = "projects/local/locations/us-central1/persistentResources/gpus"
UP = ("up", "--yes", "--skip-preview", "--non-interactive")
REFRESH = ("refresh", "--yes", "--skip-preview", "--non-interactive")
POOLS = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}]
RESOURCE = """
resource = vt.PersistentResource("GPUs", {arguments})
pulumi.export("id", resource.id)
pulumi.export("ready", resource.ready)
"""


def write(engine: Engine, more: str = "", **arguments: Any) -> None:
    given = {"resource_pools": POOLS, **arguments}
    text = ", ".join(f"{key}={value!r}" for key, value in given.items())
    engine.write(RESOURCE.format(arguments=text) + more)


def there(engine: Engine) -> ResourceRecord:
    return persistent_resources.get(engine.endpoint(), NAME)


def sized(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{**POOLS[0], "replica_count": count, **more}]


def size(record: ResourceRecord) -> list[int]:
    return [int(each["replicaCount"]) for each in record.wire["resourcePools"]]


def delay(engine: Engine, seconds: float) -> None:
    emulator = launcher.ensure(engine.data_dir)
    Control(url=emulator.url, token=emulator.token).call(
        "PUT", "/_local/persistent-resource-delay", {"seconds": seconds}
    )


def test_its_life(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    assert engine.outputs() == {"id": NAME, "ready": "gpus"}
    assert there(engine).state.word == "RUNNING"
    output = engine.up().ok().output
    assert not {"updated", "replaced"} & set(output.split())
    made = there(engine).create_time
    write(engine, resource_pools=sized(5))
    assert "1 updated" in engine.up().ok().output
    assert (size(there(engine)), there(engine).state.word) == ([5], "RUNNING")
    write(engine, resource_pools=sized(5), labels={"team": "vision"}, display_name="Shared GPUs")
    assert "1 updated" in engine.up().ok().output
    live = there(engine)
    assert (live.labels["team"], live.wire["displayName"]) == ("vision", "Shared GPUs")
    assert live.labels["pulumi-stack"] == "test"
    assert live.create_time == made
    write(engine, resource_pools=sized(5), labels={"team": "vision"}, reboot_token="again")
    output = engine.up().ok().output
    assert "reboots, as reboot_token has changed" in output
    assert there(engine).wire["updateTime"] > live.wire["updateTime"]
    write(engine, resource_pools=sized(5, id="own"))
    assert "1 replaced" in engine.up().ok().output
    assert there(engine).create_time > made
    engine.destroy().ok()
    assert engine.state() == []
    try:
        persistent_resources.get(engine.endpoint(), NAME)
    except NotFound:
        return
    raise AssertionError("it is still there")


def test_a_deployment_waits_until_it_runs_and_says_how_far_it_is(engine: Engine) -> None:
    delay(engine, 2)
    write(engine)
    output = engine.up().ok().output
    assert "provisioning: n1-standard-4 2" in output
    assert there(engine).state.word == "RUNNING"


def test_nothing_waits_where_nobody_asks(engine: Engine) -> None:
    delay(engine, 3600)
    engine.write(f"resource = vt.PersistentResource('GPUs', resource_pools={POOLS!r}, wait=False)")
    engine.up().ok()
    assert there(engine).state.word == "PROVISIONING"


def test_past_its_time_it_warns(engine: Engine) -> None:
    delay(engine, 3600)
    write(engine, wait_timeout=0.5)
    assert "is PROVISIONING after 0.5 s" in engine.up().ok().output


def test_mistakes_are_found_in_the_preview(engine: Engine) -> None:
    write(
        engine,
        persistent_resource_id="GPU pool",
        resource_pools=[{"machine_spec": {"machine_type": "n1-standard-5"}, "replica_count": 0}],
    )
    output = engine.preview().failed().output
    for words in ("'GPU pool' cannot be the id", "'n1-standard-5' is no machine type", "missing or 0"):
        assert words in output


def test_an_argument_that_there_is_not(engine: Engine) -> None:
    write(engine, resource_pool=POOLS)
    assert "did you mean resource_pools?" in engine.preview().failed().output


def test_an_id_that_is_taken(engine: Engine) -> None:
    delay(engine, 0)
    persistent_resources.create(engine.endpoint(), "gpus", {"resourcePools": _wire(2)})
    write(engine)
    output = engine.up().failed().output
    assert "exists already in project local, us-central1" in output
    assert there(engine).labels == {}


def test_one_whose_id_is_still_being_deleted(engine: Engine) -> None:
    delay(engine, 0)
    persistent_resources.create(engine.endpoint(), "gpus", {"resourcePools": _wire(2)})
    eventually(lambda: there(engine).state.word == "RUNNING")
    delay(engine, 3600)
    persistent_resources.delete(engine.endpoint(), NAME)
    timeouts = 'opts=pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="2s"))'
    engine.write(RESOURCE.format(arguments=f"resource_pools={POOLS!r}, {timeouts}"))
    assert "still being deleted after 2 s; nothing was made" in engine.up().failed().output
    write(engine)
    process = engine.start(*UP)
    hear(process, "waiting until the one before it is deleted, for 300 s")
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=PATIENCE)
    assert "interrupted while the one before it is being deleted; nothing was made" in rest


def test_a_refresh_shows_what_somebody_else_changed(engine: Engine) -> None:
    scaled = {"autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 4}, "replica_count": 1}
    pools = [POOLS[0], {**POOLS[0], "machine_spec": {"machine_type": "n1-standard-8"}, **scaled}]
    write(engine, resource_pools=pools)
    engine.up().ok()
    assert "unchanged" in engine.run(*REFRESH).ok().output
    endpoint = engine.endpoint()
    _resize(endpoint, there(engine), [2, 3])
    assert "updated" not in engine.run(*REFRESH).ok().output  # the autoscaler may do that
    _resize(endpoint, there(engine), [7, 3])
    assert "1 updated" in engine.run(*REFRESH).ok().output
    engine.up().ok()
    assert size(there(engine)) == [2, 3]
    persistent_resources.delete(endpoint, NAME)
    eventually(lambda: _is_gone(endpoint))
    engine.run(*REFRESH).ok()
    engine.up().ok()
    assert there(engine).state.word == "RUNNING"


def test_replacing_on_demand(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    made = there(engine).create_time
    (urn,) = (one["urn"] for one in engine.state())
    engine.up("--replace", urn).ok()
    live = there(engine)
    assert (live.state.word, live.create_time > made) == ("RUNNING", True)


def test_a_creation_that_was_killed_is_taken_over(engine: Engine) -> None:
    delay(engine, 3)
    write(engine)
    process = engine.start(*UP)
    eventually(lambda: launcher.find(engine.data_dir) is not None and not _is_gone(engine.endpoint()))
    _kill(process.pid)
    process.communicate(timeout=PATIENCE)
    made = there(engine).create_time
    engine.run("cancel", "--yes").ok()
    write(engine, resource_pools=sized(3))
    output = engine.up().ok().output
    live = there(engine)
    assert (live.create_time, size(live), live.state.word) == (made, [3], "RUNNING"), output
    assert "updated" not in engine.up().ok().output


def _wire(count: int) -> list[dict[str, Any]]:
    return [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": count}]


def _resize(endpoint: Endpoint, record: ResourceRecord, counts: list[int]) -> None:
    pools = [
        {**pool, "replicaCount": count}
        for pool, count in zip(record.wire["resourcePools"], counts, strict=True)
    ]
    persistent_resources.patch(
        endpoint, NAME, {"resourcePools": pools}, mask=["resource_pools.replica_count"]
    )
    eventually(lambda: persistent_resources.get(endpoint, NAME).state.word == "RUNNING")


def _is_gone(endpoint: Endpoint) -> bool:
    try:
        persistent_resources.get(endpoint, NAME)
    except NotFound:
        return True
    return False


def _kill(pid: int) -> None:
    """The deployment with all its processes but the emulator, which is in a session of its own."""
    for process in [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


# Jobs on it.

JOB = """
pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type={machine!r}),
    replica_count=1,
    container_spec=vt.ContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        command=["python3", "-c", "import time; time.sleep(600)"],
    ),
)
vt.CustomJob("train", worker_pool_specs=[pool], persistent_resource_id={on})
"""


def job(on: str = "resource", machine: str = "n1-standard-4") -> str:
    return JOB.format(on=on, machine=machine)


def test_a_job_runs_on_it(engine: Engine) -> None:
    delay(engine, 1)
    write(engine, job())
    preview = engine.preview().ok().output
    assert "CustomJob" in preview
    engine.up().ok()
    (record,) = custom_jobs.list_jobs(engine.endpoint())
    assert (record.state.name, record.wire["jobSpec"]["persistentResourceId"]) == (
        "JOB_STATE_RUNNING",
        "gpus",
    )
    assert there(engine).wire["resourcePools"][0]["usedReplicaCount"] == "1"
    state = {one["type"].rpartition(":")[2]: one for one in engine.state()}
    assert state["PersistentResource"]["urn"] in state["CustomJob"]["dependencies"]  # it goes after the job
    write(engine, job(), resource_pools=sized(4), labels={"team": "a"})
    assert "1 updated" in engine.up().ok().output
    (same,) = custom_jobs.list_jobs(engine.endpoint())
    assert (same.name, same.state.name) == (record.name, "JOB_STATE_RUNNING")
    write(engine, job(), resource_pools=sized(4, id="own"))
    engine.up().ok()
    (other,) = custom_jobs.list_jobs(engine.endpoint())
    assert (other.name != record.name, other.state.name) == (True, "JOB_STATE_RUNNING")
    engine.destroy().ok()
    assert custom_jobs.list_jobs(engine.endpoint()) == []
    assert _is_gone(engine.endpoint())


def test_a_job_that_is_given_the_id_waits_as_well(engine: Engine) -> None:
    delay(engine, 1)
    write(engine, job("resource.persistent_resource_id"))
    engine.up().ok()
    (record,) = custom_jobs.list_jobs(engine.endpoint())
    assert record.state.name == "JOB_STATE_RUNNING"
    write(engine, job("resource.id"))
    assert "give the id alone, gpus, or in a program the resource itself" in engine.preview().failed().output


def test_a_job_that_does_not_fit_is_refused_in_the_preview(engine: Engine) -> None:
    write(engine, job(machine="n1-standard-8"))
    output = engine.preview().failed().output
    assert "the persistent resource has no such machines, but 2 x n1-standard-4" in output
    write(engine, job('"other", persistent_resource=resource'))
    assert "'other', and persistent_resource is 'gpus'" in engine.preview().failed().output
    write(engine, job("None, persistent_resource=resource"))
    engine.preview().ok()
