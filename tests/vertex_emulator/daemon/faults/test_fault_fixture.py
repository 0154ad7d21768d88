"""The pytest plugin, as its users run it: in a pytest of their own. So is the example of its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.emulated.command import environment
from support.waiting import TIMEOUT, eventually

PAGE = Path(__file__).parents[4] / "docs" / "guides" / "emulator" / "testing.md"
PLUGIN = "vertex_emulator.testing.plugin"
JOB = """
import json
from vertex_emulator.client.control import ControlError

def job(*command, name="digits"):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
    task = {"imageUri": image, "command": list(command)}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1, "containerSpec": task}
    return {"displayName": name, "jobSpec": {"workerPoolSpecs": [pool]}}

def create(emulator, *command):
    path = f"/v1/projects/{emulator.project}/locations/{emulator.location}/customJobs"
    return emulator.control.call("POST", path, job(*command))
"""

_PLAIN = ("-p", "no:cacheprovider", "-p", "no:randomly", "-W", "error")
"""The tests of a user come in the order in which they are written: later ones see what earlier ones left."""


def run_pytest(folder: Path, test: str, *options: str, plugin: tuple[str, ...] = ("-p", PLUGIN)) -> str:
    """Return pytest's result for a test file of a user, who has no other plugins if `plugin` names ours."""
    (folder / "test_user.py").write_text(test)
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} if plugin else {}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *_PLAIN, *options],
        cwd=folder,
        env=environment(folder, PYTHONDONTWRITEBYTECODE="1", **alone),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    return ended.stdout + ended.stderr


def processes_in(folder: Path) -> list[str]:
    """Processes that have the folder in their arguments."""
    return [
        " ".join(each.info["cmdline"])
        for each in psutil.process_iter(["cmdline", "status"])
        if each.info["status"] != psutil.STATUS_ZOMBIE
        and any(str(folder) in word for word in each.info["cmdline"] or [])
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def test_the_example_of_the_page(folder: Path, tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(examples) == 1
    said = run_pytest(folder, examples[0], f"--basetemp={tmp_path / 'base'}")
    assert "1 passed" in said, said


def test_each_test_has_an_emulator_of_its_own(folder: Path, tmp_path: Path) -> None:
    said = run_pytest(
        folder,
        JOB
        + """
import pytest, time
seen = []

@pytest.mark.parametrize("number", [1, 2])
def test_it(vertex_emulator, tmp_path, number):
    assert vertex_emulator.jobs() == vertex_emulator.requests() == vertex_emulator.control.faults() == []
    create(vertex_emulator, "sleep", "600")
    vertex_emulator.fault("*", status=503, times="always")
    assert [each["displayName"] for each in vertex_emulator.jobs()] == ["digits"]
    assert [each["call"] for each in vertex_emulator.requests()] == ["JobService.CreateCustomJob"]
    assert vertex_emulator.requests("JobService.ListCustomJobs") == []
    assert vertex_emulator.data_dir.is_relative_to(tmp_path)
    seen.append((vertex_emulator.token, vertex_emulator.data_dir))
    if number == 1:  # the second is cancelled before it can begin
        while vertex_emulator.jobs()[0]["state"] != "JOB_STATE_RUNNING":
            time.sleep(0.05)

def test_they_were_different():
    assert len(set(seen)) == 2
    assert len({token for token, _ in seen}) == 2
""",
        f"--basetemp={tmp_path / 'base'}",
    )
    assert "3 passed" in said, said
    eventually(lambda: processes_in(tmp_path / "base") == [])  # a supervisor ends after its last message
    kept = (tmp_path / "base").glob("*/vertex-emulator/emulator.log")
    assert len({path.resolve() for path in kept}) == 2


def test_a_test_that_fails_or_kills_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    said = run_pytest(
        folder,
        JOB
        + """
import os, signal
SLEEP = ("sleep", "600")

def test_fails(vertex_emulator):
    create(vertex_emulator, *SLEEP)
    raise AssertionError("on purpose")

def test_kills(vertex_emulator):
    create(vertex_emulator, *SLEEP)
    os.kill(vertex_emulator.control.call("GET", "/_local/info")["pid"], signal.SIGKILL)
""",
        f"--basetemp={tmp_path / 'base'}",
    )
    assert "1 failed, 1 passed" in said, said
    assert "on purpose" in said
    # The supervisor of a killed emulator may have begun twice; the second then leaves at once.
    eventually(lambda: processes_in(tmp_path / "base") == [])


def test_faults(folder: Path) -> None:
    said = run_pytest(
        folder,
        JOB
        + """
import pytest
PATH = "/v1/projects/local/locations/us-central1/customJobs"

def test_it(vertex_emulator):
    fault = vertex_emulator.fault("ListCustomJobs", status=429, message="no more", nth=2, times="always")
    assert vertex_emulator.control.call("GET", PATH) == {}
    with pytest.raises(ControlError, match="no more") as refused:
        vertex_emulator.control.call("GET", PATH)
    assert refused.value.status == 429
    assert (fault.seen, fault.fired) == (2, 1)
    fault.remove()
    assert vertex_emulator.control.call("GET", PATH) == {}
    with pytest.raises(KeyError):
        fault.fired
    create(vertex_emulator, "true")
    vertex_emulator.fault("*", stale_changes=1)
    assert vertex_emulator.control.call("GET", PATH) == {}
    vertex_emulator.fault("*", stale_seconds=600)
    assert vertex_emulator.control.call("GET", PATH) == {}
    vertex_emulator.fault("*", drop="before")
    vertex_emulator.fault("*", drop="after", stall=5)
    vertex_emulator.clear_faults()
    assert len(vertex_emulator.control.call("GET", PATH)["customJobs"]) == 1
    assert vertex_emulator.counts() == {"JobService.CreateCustomJob": 1, "JobService.ListCustomJobs": 6}
    with pytest.raises(ControlError, match="Did you mean 'ListCustomJobs'"):
        vertex_emulator.fault("ListCustomJob", status=503)
""",
    )
    assert "1 passed" in said, said


def test_time_quotas_replicas_and_state(folder: Path) -> None:
    said = run_pytest(
        folder,
        JOB
        + """
import time
from datetime import datetime, timedelta, timezone

def until(condition):
    while not condition():
        time.sleep(0.01)

def state(emulator):
    return emulator.jobs()[0]["state"]

def test_it(vertex_emulator, tmp_path):
    vertex_emulator.freeze_clock()
    vertex_emulator.start_delay(3600)
    create(vertex_emulator, "sleep", "600")
    job = vertex_emulator.jobs()[0]
    vertex_emulator.kill_replica(job["name"], "workerpool0-0", after=60)
    vertex_emulator.kill_replica(job["id"], "workerpool0-0", after=60, out_of_memory=True)
    assert state(vertex_emulator) == "JOB_STATE_PENDING"
    vertex_emulator.advance_clock(3600)
    until(lambda: state(vertex_emulator) == "JOB_STATE_RUNNING")
    vertex_emulator.scale_clock(1000)
    until(lambda: state(vertex_emulator) == "JOB_STATE_FAILED")
    assert "ran out of memory" in vertex_emulator.jobs()[0]["error"]
    assert vertex_emulator.jobs()[0]["replicas"][0]["attempt"] == 2
    assert vertex_emulator.now() - datetime.now(timezone.utc) > timedelta(hours=1)
    vertex_emulator.reset_clock()
    assert abs(vertex_emulator.now() - datetime.now(timezone.utc)) < timedelta(minutes=1)
    vertex_emulator.export_state(tmp_path / "state.tar")
    vertex_emulator.reset()
    assert vertex_emulator.jobs() == []
    vertex_emulator.import_state(tmp_path / "state.tar")
    assert [each["name"] for each in vertex_emulator.jobs()] == [job["name"]]

def test_quotas(vertex_emulator):
    vertex_emulator.set_quota("cpus", 3, region="us-central1")
    try:
        create(vertex_emulator, "true")
    except ControlError as error:
        assert (error.status, "custom_model_training_cpus" in str(error)) == (429, True)
    vertex_emulator.set_quota("cpus", 4)
    vertex_emulator.set_quota("cpus", 3, region="us-central1", when_exceeded="queue")
    create(vertex_emulator, "true")
    assert state(vertex_emulator) == "JOB_STATE_QUEUED"
    vertex_emulator.clear_quotas()
    until(lambda: state(vertex_emulator) == "JOB_STATE_SUCCEEDED")

def test_capacity(vertex_emulator):
    vertex_emulator.set_capacity("n1-standard-4", 0, strategy="STANDARD", wait_seconds=600)
    create(vertex_emulator, "true")
    assert state(vertex_emulator) == "JOB_STATE_PENDING"
    vertex_emulator.clear_capacities()
    until(lambda: state(vertex_emulator) == "JOB_STATE_SUCCEEDED")

def test_persistent_resources(vertex_emulator):
    vertex_emulator.freeze_clock()
    vertex_emulator.persistent_resource_delay(600)
    pools = [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1}]
    path = f"/v1/projects/{vertex_emulator.project}/locations/{vertex_emulator.location}/persistentResources"
    call = vertex_emulator.control.call
    call("POST", f"{path}?persistentResourceId=gpus", {"resourcePools": pools})
    vertex_emulator.advance_clock(599)
    assert call("GET", f"{path}/gpus")["state"] == "PROVISIONING"
    vertex_emulator.advance_clock(1)
    until(lambda: call("GET", f"{path}/gpus")["state"] == "RUNNING")

def test_a_frozen_emulator_ends(vertex_emulator):
    vertex_emulator.set_quota("cpus", 0, when_exceeded="queue")
    create(vertex_emulator, "true")
    vertex_emulator.freeze_clock()

def test_a_frozen_job_ends(vertex_emulator):
    vertex_emulator.freeze_clock()
    create(vertex_emulator, "sleep", "600")
    job = vertex_emulator.jobs()[0]
    vertex_emulator.preempt_replica(job["id"], "workerpool0-0", times=2)
    until(lambda: [each["state"] for each in vertex_emulator.jobs()[0]["replicas"]] == ["restarting"])
""",
    )
    assert "6 passed" in said, said


def test_the_environment_points_programs_at_it(folder: Path) -> None:
    said = run_pytest(
        folder,
        """
import json, os, pathlib, subprocess, sys

def test_it(vertex_emulator):
    command = pathlib.Path(sys.executable).with_name("vertex-training")
    env = {**os.environ, **vertex_emulator.environment}
    status = subprocess.run([command, "emulator", "status", "--json"], env=env, stdout=subprocess.PIPE)
    assert json.loads(status.stdout)["url"] == vertex_emulator.host
    shown = subprocess.run([command, "emulator", "env", "--json"], env=env, stdout=subprocess.PIPE)
    expected = json.loads(shown.stdout)["environment"]
    del expected["VERTEX_EMULATOR_SIGNING_KEY"]  # made when the command asks for it, not for every test
    assert expected.items() <= vertex_emulator.environment.items()
    assert vertex_emulator.environment["VERTEX_EMULATOR_TOKEN"] == vertex_emulator.token
    assert vertex_emulator.environment["STORAGE_EMULATOR_HOST"] == vertex_emulator.storage_host
    assert vertex_emulator.token not in repr(vertex_emulator)
    assert vertex_emulator.storage_host not in repr(vertex_emulator)
""",
    )
    assert "1 passed" in said, said


def test_it_follows_the_emulator_to_another_start(folder: Path) -> None:
    said = run_pytest(
        folder,
        """
from vertex_emulator import launcher

def test_it(vertex_emulator):
    first = vertex_emulator.token
    launcher.stop(vertex_emulator.data_dir)
    assert vertex_emulator.token == first
    again = launcher.ensure(vertex_emulator.data_dir)
    assert vertex_emulator.token == again.token != first
    assert vertex_emulator.storage_host == again.storage_url
    assert vertex_emulator.environment["VERTEX_EMULATOR_TOKEN"] == again.token
    assert vertex_emulator.jobs() == []
""",
    )
    assert "1 passed" in said, said


def test_it_imports_nothing_heavy(folder: Path) -> None:
    said = run_pytest(
        folder,
        f"""
import sys

def test_unused():
    ours = sorted(name for name in sys.modules if name.startswith(("vertex_", "pulumi")))
    assert ours == ["vertex_emulator", "vertex_emulator.testing", "{PLUGIN}"]

def test_used(vertex_emulator):
    heavy = ("requests", "urllib3", "pulumi", "grpc", "google.protobuf", "google.auth", "google.api_core")
    assert [name for name in heavy if name in sys.modules] == []
""",
    )
    assert "2 passed" in said, said


def test_an_installed_plugin_may_also_be_named(folder: Path) -> None:
    """Pytest takes it for the same plugin only where it is registered under the name of its module."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    project = tomllib.loads((PAGE.parents[3] / "providers/vertex-emulator/pyproject.toml").read_text())[
        "project"
    ]
    [(name, module)] = project["entry-points"]["pytest11"].items()
    installed = folder / "an_installation-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: an-installation\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    test = "def test_it(vertex_emulator):\n    assert vertex_emulator.jobs() == []\n"
    for options in ((), ("-p", PLUGIN)):
        said = run_pytest(folder, test, *options, plugin=())
        assert "1 passed" in said, said
