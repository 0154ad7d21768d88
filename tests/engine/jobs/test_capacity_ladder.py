"""A capacity ladder on the real engine: the preview, the climb, its kill, the next climb, and `runs`."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from typing import Any

import pytest

from support.client.engine import Engine
from support.client.package_plugin import with_plugin
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_training.fields.schema import camel_case

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SCARCE, SLOW, THERE = "n1-standard-16", "n1-standard-32", "n1-standard-8"
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": IMAGE, "command": ["sh", "-c"], "args": ["exec sleep 600"]},
}
SPOT = {"strategy": "SPOT", "machine_spec": {"machine_type": SCARCE}}
WAITS = {"machine_spec": {"machine_type": SLOW}, "wait_for": "1s"}
FOUND = {"machine_spec": {"machine_type": THERE}}
OTHER = "europe-west4"
ELSEWHERE = {**FOUND, "location": OTHER}
ENDLESS = {"machine_spec": {"machine_type": SLOW}}


def control_of(engine: Engine) -> Control:
    emulator = launcher.ensure(engine.data_dir)
    return Control(url=emulator.url, token=emulator.token)


def scarce(engine: Engine) -> Control:
    control = control_of(engine)
    control.set_capacity(SCARCE, 0, wait_seconds=0.2)
    control.set_capacity(SLOW, 0, wait_seconds=600)
    return control


def in_yaml(value: Any) -> Any:
    """Return arguments with the names of a program in YAML."""
    if isinstance(value, dict):
        return {camel_case(name): in_yaml(item) for name, item in value.items()}
    return [in_yaml(item) for item in value] if isinstance(value, list) else value


def write(engine: Engine, form: str, *rungs: dict[str, Any]) -> None:
    if form == "dynamic":
        engine.write(f'vt.CustomJob("train", worker_pool_specs=[{POOL!r}], capacity={list(rungs)!r})\n')
        return
    properties = in_yaml({"worker_pool_specs": [POOL], "capacity": list(rungs)})
    resources = {"train": {"type": "vertex-training:CustomJob", "properties": properties}}
    document = {"name": "engine-test", "runtime": "yaml", "resources": resources}
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(document))


def way(control: Control) -> list[tuple[str, str]]:
    """Return the rung and the state of each job in both regions, oldest first."""
    parents = (f"/v1/projects/local/locations/{one}/customJobs" for one in ("us-central1", OTHER))
    jobs = [one for path in parents for one in control.call("GET", path).get("customJobs", [])]
    return [
        (one["labels"]["vertex-training-rung"][0], one["state"].removeprefix("JOB_STATE_"))
        for one in sorted(jobs, key=lambda one: str(one["createTime"]))
    ]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack whose program is in Python with dynamic providers, or in YAML with the package."""

    engine: Engine
    form: str


@pytest.fixture(params=["dynamic", "package"])
def stack(request: pytest.FixtureRequest, engine: Engine) -> Stack:
    found = with_plugin(engine) if request.param == "package" else engine
    return Stack(engine=found, form=request.param)


@pytest.mark.slow
def test_a_climb_and_its_kill(stack: Stack) -> None:
    engine, form = stack.engine, stack.form
    control = scarce(engine)
    write(engine, form, SPOT, ENDLESS, FOUND)
    if form == "dynamic":
        preview = engine.preview().ok().output
        assert "rung 1 of 3 (SPOT, n1-standard-16): would cost on Google Cloud $" in preview
        assert "rung 3 of 3 (STANDARD, n1-standard-8)" in preview
    process = engine.start("up", "--yes", "--non-interactive", "--skip-preview")
    eventually(lambda: way(control) == [("1", "FAILED"), ("2", "PENDING")], what=lambda: way(control))
    engine.kill(process)
    write(engine, form, SPOT, {**ENDLESS, "wait_for": "1s"}, FOUND)
    output = engine.up().ok().output
    assert way(control) == [("1", "FAILED"), ("2", "CANCELLED"), ("3", "RUNNING")]
    assert re.search(r"no capacity on rung 2 of 3 .*: it waited for 1 s", output)
    assert not re.search(r"train (updated|created|replaced)", engine.up().ok().output)
    assert way(control)[-1] == ("3", "RUNNING")
    engine.destroy().ok()
    assert way(control) == []


@pytest.mark.slow
def test_no_rung_has_machines(stack: Stack) -> None:
    engine, form = stack.engine, stack.form
    control = scarce(engine)
    write(engine, form, SPOT, WAITS)
    first = engine.up().failed().output
    assert "no capacity on rung 1 of 2 (SPOT, n1-standard-16): Resources are insufficient" in first
    assert way(control) == [("1", "FAILED"), ("2", "CANCELLED")]
    assert "CANCELLED" in first
    second = engine.up().failed().output
    assert "it found no machines on any rung, climb 1 of 2" in second
    assert len(way(control)) == 4
    write(engine, form, SPOT, FOUND)
    engine.up().ok()
    assert way(control)[-1] == ("2", "RUNNING")
    engine.destroy().ok()


@pytest.mark.slow
def test_ctrl_c_leaves_the_job_on_its_rung(stack: Stack) -> None:
    engine, form = stack.engine, stack.form
    control = scarce(engine)
    control.set_capacity(SLOW, 0, wait_seconds=25)
    write(engine, form, ENDLESS, FOUND)
    process = engine.start("up", "--yes", "--non-interactive", "--skip-preview")
    eventually(lambda: way(control) == [("1", "PENDING")], what=lambda: way(control))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert way(control) == [("1", "PENDING")]
    eventually(lambda: way(control) == [("1", "FAILED")], what=lambda: way(control))
    engine.up().ok()
    assert way(control) == [("1", "FAILED"), ("2", "RUNNING")]
    engine.destroy().ok()


@pytest.mark.slow
def test_a_rung_in_another_region(stack: Stack) -> None:
    engine, form = stack.engine, stack.form
    control = scarce(engine)
    write(engine, form, SPOT, ELSEWHERE)
    engine.up().ok()
    assert way(control) == [("1", "FAILED"), ("2", "RUNNING")]
    assert engine.run("refresh", "--yes", "--non-interactive", "--expect-no-changes").ok()
    assert not re.search(r"train (updated|created|replaced)", engine.up().ok().output)
    engine.destroy().ok()
    assert way(control) == []
