"""`PersistentResource` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.persistent_resource.gateway import ResourceRecord
from support.client.engine import Engine, Result, read_output_until
from support.client.shared_engine import diagnostics
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

# Shown quicker in tests/pulumi_vertex_training: kinds/persistent_resource,
# core/running/test_jobs_on_persistent_resources.py
pytestmark = pytest.mark.slow

PARENT = "projects/local/locations/us-central1/persistentResources"
UP = ("up", "--yes", "--skip-preview", "--non-interactive")
REFRESH = ("refresh", "--yes", "--skip-preview", "--non-interactive")
POOLS = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}]
AUTOSCALED = [
    POOLS[0],
    {
        "machine_spec": {"machine_type": "n1-standard-8"},
        "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 4},
        "replica_count": 1,
    },
]

LONG = 3600.0
PROVISIONING, LATE = "provisioning: n1-standard-4 2", "is still PROVISIONING after 0.5 s"


def declare(name: str, options: str = "", **arguments: Any) -> str:
    """Return the line of a program that declares a resource, as a variable of the same name."""
    given = {"resource_pools": POOLS, "persistent_resource_id": name.lower(), **arguments}
    text = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return f"{name} = vt.PersistentResource({name!r}, {text}, {options})\n"


JOB = """
pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type={machine!r}),
    replica_count=1,
    container_spec=vt.ContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        command=["python3", "-c", "import time; time.sleep(600)"],
    ),
)
vt.CustomJob({name!r}, worker_pool_specs=[pool], persistent_resource_id={on})
"""


def job(name: str, on: str, machine: str = "n1-standard-4") -> str:
    return JOB.format(name=name, on=on, machine=machine)


def there(engine: Engine, resource: str) -> ResourceRecord:
    return persistent_resources.get(engine.endpoint(), f"{PARENT}/{resource}")


def is_gone(engine: Engine, resource: str) -> bool:
    try:
        there(engine, resource)
    except NotFound:
        return True
    return False


def sized(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{**POOLS[0], "replica_count": count, **more}]


def size(record: ResourceRecord) -> list[int]:
    return [int(each["replicaCount"]) for each in record.wire["resourcePools"]]


def delay(engine: Engine, seconds: float) -> None:
    """Have every operation on a persistent resource take so long from now on."""
    emulator = launcher.ensure(engine.data_dir)
    Control(url=emulator.url, token=emulator.token).call(
        "PUT", "/_local/persistent-resource-delay", {"seconds": seconds}
    )


def advance(engine: Engine, seconds: float) -> None:
    """Advance the emulator's clock."""
    emulator = launcher.ensure(engine.data_dir)
    Control(url=emulator.url, token=emulator.token).advance_clock(seconds)


def _wire(count: int) -> list[dict[str, Any]]:
    return [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": count}]


def _resize(engine: Engine, resource: str, counts: list[int]) -> None:
    record = there(engine, resource)
    pools = [
        {**pool, "replicaCount": count}
        for pool, count in zip(record.wire["resourcePools"], counts, strict=True)
    ]
    persistent_resources.patch(
        engine.endpoint(), record.name, {"resourcePools": pools}, mask=["resource_pools.replica_count"]
    )
    eventually(lambda: there(engine, resource).state.word == "RUNNING")


Resources = dict[str, ResourceRecord]
Jobs = dict[str, JobRecord]
NAMES = ("GPUs", "resized", "labelled", "rebooted", "pooled", "demanded", "scaled", "grown", "lost", "shared")
JOBS = job("train", "shared") + job("moved", "moving") + job("named", "shared.persistent_resource_id")


@dataclass(kw_only=True)
class Life:
    """The output of deployments of one stack, and the resources and jobs after them."""

    created: Result
    outputs: dict[str, Any]
    dependencies: list[str]
    first: Resources
    jobs: Jobs
    unchanged: Result
    full_name: Result
    refreshed: Result
    announced: Result
    changed: Result
    second: Resources
    same_jobs: Jobs
    destroyed: Result
    left: list[str]


@pytest.fixture(scope="module")
def life(shared_engine: Engine) -> Life:
    engine = shared_engine
    endpoint = engine.endpoint()

    def live() -> Resources:
        return {name: there(engine, name.lower()) for name in (*NAMES, "late", "moving")}

    def jobs() -> Jobs:
        """Return the newest job of each name; jobs that were replaced are kept."""
        return {one.display_name: one for one in reversed(custom_jobs.list_jobs(endpoint))}

    # Everything is created, but not before the deployment has said that it waits.
    delay(engine, LONG)
    steady = [
        declare("late", wait_timeout=0.5),
        declare("GPUs"),
        declare("demanded"),
        declare("scaled", resource_pools=AUTOSCALED),
        declare("grown", resource_pools=AUTOSCALED),
        declare("lost"),
        'pulumi.export("id", GPUs.id)\npulumi.export("ready", GPUs.ready)\n',
    ]
    changing = ("resized", "labelled", "rebooted", "pooled", "shared", "moving")
    before = "".join((*steady, *map(declare, changing), JOBS))
    given = job("given", "None, persistent_resource=GPUs")
    engine.write(before + given)
    process = engine.start(*UP)
    shown = read_output_until(process, PROVISIONING)
    shown += "" if LATE in shown else read_output_until(process, LATE)
    delay(engine, 2)
    advance(engine, LONG)
    rest, _ = process.communicate(timeout=TIMEOUT)
    created = Result(process.returncode, shown + rest).ok()
    outputs, first, first_jobs = engine.outputs(), live(), jobs()
    urns = {one["urn"].rpartition("::")[2]: one["urn"] for one in engine.state()}
    train = [one for one in engine.state() if one["urn"].endswith(":CustomJob::train")]
    dependencies = [urn.rpartition("::")[2] for one in train for urn in one["dependencies"]]
    unchanged = engine.up("--refresh").ok()
    engine.write(before + job("given", "GPUs.id"))
    full_name = engine.preview()

    # Somebody else changes some, then the program does.
    _resize(engine, "scaled", [2, 3])
    _resize(engine, "grown", [7, 3])
    persistent_resources.delete(endpoint, f"{PARENT}/lost")
    eventually(lambda: is_gone(engine, "lost"))
    engine.write(before + given)
    refreshed = engine.run(*REFRESH).ok()
    delay(engine, 1)
    engine.write(
        "".join(steady)
        + declare("resized", resource_pools=sized(5))
        + declare("labelled", labels={"team": "vision"}, display_name="Shared GPUs")
        + declare("rebooted", reboot_token="again")
        + declare("pooled", resource_pools=sized(2, id="own"))
        + declare("shared", resource_pools=sized(4), labels={"team": "a"})
        + declare("moving", resource_pools=sized(2, id="own"))
        + JOBS
        + given
    )
    announced, changed = engine.preview_and_up("--replace", urns["demanded"])
    changed.ok()
    second, same_jobs = live(), jobs()
    destroyed = engine.destroy().ok()
    left = [one.name for one in custom_jobs.list_jobs(endpoint)]
    left += [name for name in (*NAMES, "late", "moving") if not is_gone(engine, name.lower())]
    return Life(
        created=created,
        outputs=outputs,
        dependencies=dependencies,
        first=first,
        jobs=first_jobs,
        unchanged=unchanged,
        full_name=full_name,
        refreshed=refreshed,
        announced=announced,
        changed=changed,
        second=second,
        same_jobs=same_jobs,
        destroyed=destroyed,
        left=[*left, *(one["urn"] for one in engine.state())],
    )


def test_a_deployment_waits_until_it_runs_and_says_how_far_it_is(life: Life) -> None:
    assert life.outputs == {"id": f"{PARENT}/gpus", "ready": "gpus"}
    assert PROVISIONING in life.created.output
    assert {life.first[name].state.word for name in NAMES} == {"RUNNING"}
    assert life.first["GPUs"].labels["pulumi-stack"] == "test"


def test_past_its_time_it_warns(life: Life) -> None:
    assert LATE in diagnostics(life.created.output, "late")


def test_unchanged_resources_are_left_alone(life: Life) -> None:
    assert "unchanged" in life.unchanged.output
    assert not {"updated", "replaced"} & set(life.unchanged.output.split())


def test_size_labels_and_name_change_in_place(life: Life) -> None:
    for name in ("resized", "labelled"):
        assert life.second[name].create_time == life.first[name].create_time
    assert (size(life.first["resized"]), size(life.second["resized"])) == ([2], [5])
    assert life.second["resized"].state.word == "RUNNING"
    live = life.second["labelled"]
    assert (live.labels["team"], live.wire["displayName"]) == ("vision", "Shared GPUs")


def test_a_preview_has_the_cost_before_and_after_a_change_of_the_size(life: Life) -> None:
    said = diagnostics(life.announced.ok().output)
    lines = {line.split()[0]: line for line in said.splitlines() if " an hour" in line}
    updated = {name for name, line in lines.items() if "->" in line}
    assert updated == {"resized", "shared", "grown"}, "labelled, rebooted and scaled cost the same"
    assert set(lines) - updated == {"pooled", "moving", "demanded", "lost"}, (
        "new and replaced ones have one amount"
    )
    costs = "resized would cost on Google Cloud: $0.49 -> $1.23 an hour, also while no job runs on it"
    assert lines["resized"].strip() == costs
    assert lines["resized"] in diagnostics(life.announced.output, "resized")
    assert "up to $" in lines["grown"]
    assert "would cost" not in life.changed.output


def test_another_reboot_token_reboots_it(life: Life) -> None:
    assert "persistent resource rebooted: rebooting, because reboot_token changed" in life.changed.output
    before, after = life.first["rebooted"], life.second["rebooted"]
    assert after.create_time == before.create_time
    assert after.wire["updateTime"] > before.wire["updateTime"]


@pytest.mark.parametrize("name", ["pooled", "demanded"])
def test_other_pools_replace_it_and_so_does_a_demand(life: Life, name: str) -> None:
    live = life.second[name]
    assert (live.state.word, live.create_time > life.first[name].create_time) == ("RUNNING", True)
    # These two, one that a job runs on, and the job.
    assert "4 replaced" in life.changed.output


def test_a_refresh_shows_what_somebody_else_changed(life: Life) -> None:
    assert "1 updated" in life.refreshed.output, "the autoscaler may resize `scaled`"
    assert "1 deleted" in life.refreshed.output
    assert size(life.second["grown"]) == [2, 3]
    assert size(life.second["scaled"]) == [2, 3]
    assert life.second["lost"].state.word == "RUNNING"
    assert life.second["lost"].create_time > life.first["lost"].create_time


def test_a_job_runs_on_it(life: Life) -> None:
    found = {
        name: (record.state.name, record.wire["jobSpec"]["persistentResourceId"])
        for name, record in life.jobs.items()
    }
    running = "JOB_STATE_RUNNING"
    assert found == {
        "train": (running, "shared"),
        "named": (running, "shared"),
        "moved": (running, "moving"),
        "given": (running, "gpus"),
    }
    assert life.first["shared"].wire["resourcePools"][0]["usedReplicaCount"] == "2"
    assert "shared" in life.dependencies, "the resource goes after the job"


def test_a_change_in_place_leaves_its_jobs_and_a_replacement_runs_them_again(life: Life) -> None:
    assert size(life.second["shared"]) == [4]
    for name in ("train", "named", "given"):
        assert life.same_jobs[name].name == life.jobs[name].name
    assert life.same_jobs["moved"].name != life.jobs["moved"].name
    assert {one.state.name for one in life.same_jobs.values()} == {"JOB_STATE_RUNNING"}


def test_a_job_is_given_the_id_and_not_the_name(life: Life) -> None:
    output = life.full_name.failed().output
    assert "give the id alone, gpus. A program can also pass the resource itself" in output


def test_destroying_leaves_nothing(life: Life) -> None:
    assert life.left == []


@dataclass(kw_only=True)
class Trouble:
    """The output of a deployment and of one that is interrupted, and the resources after them."""

    failed: Result
    unwaited: str
    taken: ResourceRecord
    interrupted: str


@pytest.fixture(scope="module")
def trouble(shared_engine: Engine, life: Life) -> Trouble:
    engine = shared_engine
    delay(engine, 0)
    for name in ("taken", "leaving"):
        persistent_resources.create(engine.endpoint(), name, {"resourcePools": _wire(2)})
    eventually(lambda: {there(engine, name).state.word for name in ("taken", "leaving")} == {"RUNNING"})
    delay(engine, LONG)
    persistent_resources.delete(engine.endpoint(), f"{PARENT}/leaving")
    unwaited = declare("unwaited", wait=False)
    timeouts = 'opts=pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="2s"))'
    engine.write(unwaited + declare("taken") + declare("leaving", timeouts))
    failed = engine.up("--continue-on-error")
    state = there(engine, "unwaited").state.word
    engine.write(unwaited + declare("leaving"))
    process = engine.start(*UP)
    read_output_until(process, "until the previous one is deleted")
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=TIMEOUT)
    return Trouble(failed=failed, unwaited=state, taken=there(engine, "taken"), interrupted=rest)


def test_without_wait_nothing_waits(trouble: Trouble) -> None:
    assert trouble.unwaited == "PROVISIONING"


def test_an_id_that_is_taken_is_refused(trouble: Trouble) -> None:
    output = diagnostics(trouble.failed.failed().output, "taken")
    assert "already exists in project local, us-central1" in output
    assert trouble.taken.labels == {}


def test_one_whose_id_is_still_being_deleted(trouble: Trouble) -> None:
    output = diagnostics(trouble.failed.failed().output, "leaving")
    assert "still being deleted after 2 s. Nothing was created" in output
    assert "interrupted while the previous one is being deleted. Nothing was created" in trouble.interrupted


@pytest.mark.parametrize(
    ("mistaken", "words"),
    [
        (
            job("train", "GPUs", machine="n1-standard-8"),
            "is not available on the persistent resource, which has 2 x n1-standard-4",
        ),
        (
            job("train", '"other", persistent_resource=GPUs'),
            "'other', but persistent_resource is 'gpus'",
        ),
    ],
    ids=["other machines", "another resource"],
)
def test_a_job_that_does_not_fit_is_refused_in_the_preview(engine: Engine, mistaken: str, words: str) -> None:
    engine.write(declare("GPUs") + mistaken)
    assert words in engine.preview().failed().output
