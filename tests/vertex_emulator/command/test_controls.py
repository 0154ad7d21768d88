"""`clock`, `quota`, `capacity`, `replica`, `export` and other controls of a real emulator."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import json_schema
from support.emulated.command import EMULATOR, environment, run_emulator, run_on_terminal
from support.emulated.job_emulator import SLEEP, job, job_id, pool
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.daemon import reset as emulator_reset

JOBS = "/v1/projects/local/locations/us-central1/customJobs"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder = tmp_path_factory.mktemp("controls") / "data"
    yield launcher.ensure(folder)
    emulator_reset.reset(folder)


@pytest.fixture
def control(emulator: Emulator) -> Iterator[Control]:
    found = Control(url=emulator.url, token=emulator.token)
    yield found
    found.reset()


@pytest.fixture
def env(emulator: Emulator, control: Control, tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(emulator.data_dir))


def create(control: Control, name: str = "digits", code: str = SLEEP) -> str:
    return str(control.call("POST", JOBS, job(pool(code), name=name))["name"])


def said(*words: str, env: dict[str, str]) -> str:
    ended = run_emulator(*words, env=env)
    assert (ended.code, ended.err) == (0, ""), ended
    return ended.out


def printed(*words: str, env: dict[str, str]) -> Any:
    """Return the JSON of a command, whose keys must be those of its schema."""
    ended = run_emulator(*words, "--json", env=env)
    assert (ended.code, ended.err) == (0, ""), ended
    command = "emulator " + " ".join(
        words[:2] if words[0] in ("clock", "quota", "capacity", "replica", "service") else words[:1]
    )
    assert set(ended.json) == {key for key in json_schema.keys(command) if "." not in key}, command
    json_schema.check(command, ended.json)
    return ended.json


def refused(*words: str, env: dict[str, str], code: int = 2) -> str:
    ended = run_emulator(*words, env=env)
    assert (ended.code, ended.out) == (code, ""), ended
    return ended.err


def test_the_clock(env: dict[str, str]) -> None:
    assert "(real speed)" in said("clock", env=env)
    frozen = printed("clock", "freeze", env=env)
    assert frozen["rate"] == 0
    assert "(frozen). Machine time: 20" in said("clock", "show", env=env)
    later = printed("clock", "advance", "86400", env=env)
    assert later["time"][11:] == frozen["time"][11:]
    assert later["time"][:10] > frozen["time"][:10]
    assert "(1000 times real speed)" in said("clock", "scale", "1000", env=env)
    assert printed("clock", "scale", "0.5", env=env)["rate"] == 0.5
    assert printed("clock", "reset", env=env)["rate"] == 1
    assert printed("clock", "show", env=env)["rate"] == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("clock", "halt"), "has no command 'halt'", id="no command"),
        pytest.param(("clock", "advance"), "required: SECONDS", id="how far"),
        pytest.param(("clock", "advance", "-5"), "-5", id="back"),
        pytest.param(("clock", "scale", "0"), "use `freeze` to stop the clock", id="scaled by nothing"),
        pytest.param(("clock", "scale", "1e9"), "from 0.0001 to 10000", id="too fast"),
        pytest.param(("replica-limit", "0"), "'0' is not allowed", id="no replica"),
        pytest.param(("persistent-resource-delay", "soon"), "'soon' is not a time", id="no time of a change"),
        pytest.param(("start-delay", "soon"), "'soon' is not a time", id="no time"),
        pytest.param(("quota",), "Name a command: set, list, clear", id="quota of what"),
        pytest.param(("quota", "set", "NVIDIA_L4", "-1"), "'-1' is not allowed", id="less than nothing"),
        pytest.param(("quota", "set", "NVIDIA_L44", "1"), "Did you mean 'NVIDIA_L4'?", id="misspelt"),
        pytest.param(("capacity",), "Name a command: set, list, clear", id="capacity of what"),
        pytest.param(("capacity", "set", "NVIDIA_L44", "0"), "Did you mean 'NVIDIA_L4'?", id="no machine"),
        pytest.param(("capacity", "set", "NVIDIA_L4", "0", "--wait", "soon"), "is not a time", id="no wait"),
        pytest.param(
            ("deny", "aiplatform.customJob.create"), "Did you mean 'aiplatform.c", id="no permission"
        ),
        pytest.param(("deny", "storage.objects.get", "--resource", "b"), "gs://BUCKET", id="no resource"),
        pytest.param(("deny", "--resource", "gs://b"), "Name the permission", id="deny nothing"),
        pytest.param(("allow", "storage"), "is not a permission", id="allow what"),
        pytest.param(("service",), "Name a command: disable, enable, list", id="what of a service"),
        pytest.param(("service", "disable", "No!"), "service must be a name", id="no service"),
        pytest.param(("replica", "kill", "digits", "workerpool0-0"), "no job 'digits'", id="no job"),
        pytest.param(("import", "nowhere.tar"), "nowhere.tar does not exist", id="no file"),
        pytest.param(("import", __file__), "The archive was not imported", id="no archive"),
    ],
)
def test_what_cannot_be_done(env: dict[str, str], words: tuple[str, ...], says: str) -> None:
    assert says in refused(*words, env=env)


def test_quotas(env: dict[str, str], control: Control) -> None:
    assert said("quota", "list", env=env) == "No quota is set.\n"
    assert said("quota", "set", "NVIDIA_L4", "4", "--region", "us-central1", env=env) == (
        "Quota of nvidia_l4_gpus in us-central1: 4. Above it, jobs larger than the quota are refused, "
        "others are queued.\n"
    )
    found = printed("quota", "set", "cpus", "8", "--preemptible", "--when-exceeded", "queue", env=env)
    assert found["metric"] == "aiplatform.googleapis.com/custom_model_training_preemptible_cpus"
    printed("quota", "set", "cpus", "4", "--when-exceeded", "refuse", env=env)
    create(control)
    lines = said("quota", "list", env=env).splitlines()
    assert lines[0].split() == ["METRIC", "REGION", "LIMIT", "USED", "WHEN", "EXCEEDED"]
    assert lines[3].split()[:7] == ["cpus", "*", "4", "4", "in", "us-central1", "jobs"]
    assert len(printed("quota", "list", env=env)["quotas"]) == 3
    shown = said("status", env=env)
    assert "Quotas: nvidia_l4_gpus 4 in us-central1 (used: 0), " in shown
    assert "cpus 4 in each region (used: 4 in us-central1).\n" in shown
    assert printed("quota", "clear", "cpus", env=env) == {"removed": 1}
    assert said("quota", "clear", "--region", "us-central1", env=env) == "Removed quotas: 1.\n"
    assert run_on_terminal("quota", "clear", env=env, module=EMULATOR).code == 0
    assert said("quota", "list", env=env) == "No quota is set.\n"


def test_capacities(env: dict[str, str], control: Control) -> None:
    assert said("capacity", "list", env=env) == "There are machines for every job.\n"
    words = ("capacity", "set", "n1-standard-4", "0", "--region", "us-central1")
    assert said(*words, "--strategy", "STANDARD", "--wait", "0", env=env) == (
        "Available: 0 n1-standard-4 for STANDARD in us-central1. A job that finds too few is PENDING, and "
        "fails after 0 s.\n"
    )
    assert said("capacity", "set", "NVIDIA_L4", "8", env=env).endswith(
        "PENDING, and fails after 10 s; with FLEX_START it fails after its max_wait_duration.\n"
    )
    found = printed(*words[:3], "4", "--strategy", "FLEX_START", env=env)
    assert (found["available"], found["region"], found["strategy"]) == (4, "*", "FLEX_START")
    lines = [line.split() for line in said("capacity", "list", env=env).splitlines()]
    assert lines[0] == ["MACHINE", "REGION", "STRATEGY", "AVAILABLE", "WAIT"]
    assert lines[1] == ["n1-standard-4", "us-central1", "STANDARD", "0", "0", "s"]
    assert lines[3] == ["n1-standard-4", "*", "FLEX_START", "4", "max_wait_duration"]
    assert len(printed("capacity", "list", env=env)["capacities"]) == 3
    assert "Machines for jobs: 0 n1-standard-4 for STANDARD in us-central1, 8 NV" in said("status", env=env)
    create(control)
    eventually(lambda: control.jobs()[0]["state"] == "JOB_STATE_FAILED")
    assert "Resources are insufficient in region: us-central1." in control.jobs()[0]["error"]
    assert printed("capacity", "clear", "NVIDIA_L4", env=env) == {"removed": 1}
    assert said("capacity", "clear", "--region", "us-central1", env=env) == "Removed capacities: 1.\n"
    assert run_on_terminal("capacity", "clear", env=env, module=EMULATOR).code == 0
    assert printed("capacity", "list", env=env) == {"capacities": []}


def test_denied_permissions(env: dict[str, str], control: Control) -> None:
    assert said("deny", env=env) == "No permission is denied.\n"
    assert said("deny", "aiplatform.customJobs.create", env=env) == "Denied: aiplatform.customJobs.create.\n"
    found = printed("deny", "storage.objects.*", "--resource", "gs://digits", env=env)
    assert found["resource"] == "projects/_/buckets/digits"
    other = run_emulator("deny", "bigquery.tables.get", env=env)
    assert (other.code, "Only checks of permissions leave it out" in other.err) == (0, True)
    lines = said("deny", env=env).splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["aiplatform.customJobs.create", "everything"],
        ["storage.objects.*", "projects/_/buckets/digits"],
    ]
    with pytest.raises(ControlError, match=r"Permission 'aiplatform\.customJobs\.create' denied"):
        create(control)
    assert "Denied permissions: aiplatform.customJobs.create, storage.objects.* on" in said("status", env=env)
    assert printed("allow", "aiplatform.customJobs.create", env=env) == {"removed": 1}
    assert said("allow", "--resource", "gs://digits", env=env) == "Removed denials: 1.\n"
    assert said("allow", env=env) == "Removed denials: 1.\n"
    create(control)


def test_services_are_disabled(env: dict[str, str], control: Control) -> None:
    nothing = "The emulator's services are enabled in each project.\n"
    assert said("service", "list", env=env) == nothing
    words = "aiplatform.googleapis.com is disabled in each project.\n"
    assert said("service", "disable", "aiplatform", env=env) == words
    with pytest.raises(ControlError, match="has not been used in project"):
        create(control)
    assert words in said("status", env=env)
    found = printed("service", "enable", "aiplatform.googleapis.com", "--project", "local", env=env)
    assert (found["enabled"], found["project"]) == (True, "local")
    create(control)
    assert len(printed("service", "list", env=env)["services"]) == 2
    printed("service", "disable", "run.googleapis.com", env=env)
    printed("service", "enable", "aiplatform", env=env)
    assert said("service", "list", env=env) == nothing


def test_the_start_delay(env: dict[str, str], control: Control) -> None:
    assert said("start-delay", env=env) == "New jobs start at once.\n"
    assert said("start-delay", "3600", env=env) == "New jobs wait 3600 s before their replicas start.\n"
    assert printed("start-delay", env=env) == {"seconds": 3600}
    create(control)
    assert control.jobs()[0]["state"] == "JOB_STATE_PENDING"
    assert printed("start-delay", "0", env=env) == {"seconds": 0}


def test_the_delay_of_persistent_resources(env: dict[str, str]) -> None:
    first = "Each change of a persistent resource takes 0.3 s.\n"
    assert said("persistent-resource-delay", env=env) == first
    words = "Each change of a persistent resource takes 600 s.\n"
    assert said("persistent-resource-delay", "600", env=env) == words
    assert printed("persistent-resource-delay", env=env) == {"seconds": 600}
    assert said("persistent-resource-delay", "0", env=env) == "Persistent resources change at once.\n"


def test_the_replica_limit(env: dict[str, str]) -> None:
    words = "At most 64 replicas run at the same time; other jobs wait.\n"
    assert said("replica-limit", "64", env=env) == words
    assert printed("replica-limit", env=env) == {"replicas": 64}


def test_stale_objects(env: dict[str, str]) -> None:
    fresh = "Replicas of new jobs see objects as they are.\n"
    assert said("stale-objects", env=env) == fresh
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        words = "Replicas of new jobs see an object that another replica rewrites as it was.\n"
        assert said("stale-objects", "on", env=env) == words
        assert printed("stale-objects", env=env) == {"stale": True}
    else:
        assert "cannot have stale objects on this machine" in refused("stale-objects", "on", env=env)
    assert said("stale-objects", "off", env=env) == fresh


def test_a_replica_is_killed(env: dict[str, str], control: Control) -> None:
    name = create(control)
    eventually(lambda: [each["state"] for each in control.jobs()[0]["replicas"]] == ["running"])
    one = f"workerpool0-0 of job {job_id(name)}"
    later = said("replica", "kill", "digits", "workerpool0-0", "--after", "3600", env=env)
    assert later == f"{one} will be killed once it has run 3600 s.\n"
    words = ("replica", "kill", "digits", "workerpool0-0", "--out-of-memory")
    assert said(*words, env=env) == f"{one} is now killed as if it ran out of memory.\n"
    eventually(lambda: control.jobs()[0]["state"] == "JOB_STATE_FAILED")
    assert "ran out of memory" in control.jobs()[0]["error"]
    assert "none of its replicas is running" in refused(*words, env=env)


def test_a_replica_that_has_not_started_is_killed_later(env: dict[str, str], control: Control) -> None:
    control.set_start_delay(3600)
    one = f"workerpool0-0 of job {job_id(create(control))}"
    words = ("replica", "kill", "digits", "workerpool0-0")
    assert said(*words, env=env) == f"{one} will be killed as soon as it runs.\n"
    later = said(*words, "--after", "5", "--times", "2", env=env)
    assert later == f"{one} will be killed 5 s after it starts, 2 times.\n"


def test_jobs_are_found_by_all_their_names(env: dict[str, str], control: Control) -> None:
    control.set_start_delay(3600)
    name, other = create(control), create(control)
    for text in (name, job_id(name)):
        order = printed("replica", "preempt", text, "workerpool0-0", "--after", "5", env=env)
        assert (order["job"], order["kind"], order["after"]) == (job_id(name), "preempt", 5)
    assert "2 jobs are named 'digits'" in refused("replica", "kill", "digits", "workerpool0-0", env=env)
    control.call("POST", f"/v1/{other}:cancel", {})
    order = printed("replica", "kill", "digits", "workerpool0-0", "--times", "3", env=env)
    assert (order["job"], order["times"]) == (job_id(name), 3)
    says = said("replica", "kill", "digits", "workerpool0-0", "--times", "3", "--after", "1.5", env=env)
    assert says.endswith(" will be killed 1.5 s after it starts, 3 times.\n")
    assert "Did you mean 'workerpool0-0'?" in refused("replica", "kill", "digits", "workerpool0-1", env=env)


def test_export_and_import(env: dict[str, str], control: Control, emulator: Emulator, tmp_path: Path) -> None:
    control.call("POST", "/storage/v1/b?project=local", {"name": "some-bucket"})
    name = create(control, code="print('hello')")
    eventually(lambda: control.jobs()[0]["state"] == "JOB_STATE_SUCCEEDED")
    file = tmp_path / "state.tar"
    assert str(file) in said("export", str(file), env=env)
    assert tarfile.is_tarfile(file)
    assert "already exists" in refused("export", str(file), env=env)
    assert "the emulator is not empty, it has storage buckets" in refused("import", str(file), env=env)
    assert printed("export", str(tmp_path / "again.tar"), env=env)["bytes"] == file.stat().st_size
    elsewhere = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "other"))
    imported = "Imported: 1 jobs, 1 buckets, 0 objects, 0 images, 0 repositories.\n"
    assert said("import", str(file), env=elsewhere) == imported
    assert launcher.find(tmp_path / "other") is None, "it was started for this alone"
    control.reset()
    assert printed("import", str(file), env=env)["jobs"] == 1
    assert control.jobs()[0]["name"] == name
    entries = control.call("POST", "/v2/entries:list", {"resourceNames": ["projects/local"]})["entries"]
    assert "hello" in [each.get("textPayload") or each["jsonPayload"]["message"] for each in entries]
    cannot = refused("export", str(tmp_path / "no" / "such" / "folder.tar"), env=env, code=1)
    assert "cannot be used: No such file or directory" in cannot


def test_unknown_types(env: dict[str, str], control: Control) -> None:
    assert said("unknown-types", env=env) == "Unknown machine types are refused.\n"
    assert said("unknown-types", "allow", env=env).endswith("are allowed.\n")
    assert printed("unknown-types", env=env) == {"allowed": True}
    assert printed("unknown-types", "refuse", env=env) == {"allowed": False}


def test_contract(env: dict[str, str], control: Control) -> None:
    assert said("contract", env=env) == "New jobs get the same CLUSTER_SPEC as real jobs.\n"
    assert said("contract", "documented", env=env).endswith("as documented.\n")
    assert control.contract() == "documented"
    assert printed("contract", env=env) == {"contract": "documented"}
    assert printed("contract", "observed", env=env) == {"contract": "observed"}


def test_network(env: dict[str, str], control: Control) -> None:
    assert said("network", env=env) == "New jobs use the network of this machine.\n"
    assert said("network", "namespace", env=env).startswith("New jobs get a network of their own")
    assert control.network() == "namespace"
    assert printed("network", env=env) == {"network": "namespace"}
    addresses = "an address of its own in 10.128.0.0/20 for each replica"
    assert f"Network of new jobs: namespace, with {addresses}.\n" in said("status", env=env)
    assert printed("network", "host", env=env) == {"network": "host"}


def test_ports_of_a_replica_in_the_machines_network(env: dict[str, str], control: Control) -> None:
    """Expect that they are not forwarded; test_job_network.py forwards others."""
    create(control)
    forward = ("replica", "forward", "digits")
    assert "Did you mean 'workerpool0-0'?" in refused(*forward, "workerpool0-O", "6006", env=env)
    assert "connect to the ports of workerpool0-0 directly" in refused(
        *forward, "workerpool0-0", "6006", env=env
    )
    assert "from 1 to 65,535" in refused(*forward, "workerpool0-0", "70000", env=env)


def test_nothing_is_asked_of_an_emulator_that_does_not_run(tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "nothing"))
    assert "is not running" in refused("clock", "freeze", env=env, code=1)
    assert not (tmp_path / "nothing").exists()
