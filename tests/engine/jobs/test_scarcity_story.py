"""A training that outlives scarcity: no Spot machines, a wait, a region, lost machines, and the way back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
from support.client.engine import Engine
from support.emulated import command
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

HOME, AWAY = "us-central1", "europe-west4"
MOST = 0.5
TRAINING = """
import os, pathlib, sys, time
sys.path.insert(0, "/gcs/code")
import vertex_cluster
from vertex_cluster import checkpoints

flags = pathlib.Path("/gcs/code/flags")
flags.mkdir(parents=True, exist_ok=True)
store = checkpoints.Checkpoints(keep=2)
weights = [0]
first = store.resume(lambda folder: weights.append(int((folder / "weights").read_text()))) + 1
print("from", first, "with", weights[-1], flush=True)
for step in range(first, 31):
    weights.append(weights[-1] + step)
    if step % 5 == 0:
        store.save(step, lambda folder: (folder / "weights").write_text(str(weights[-1])))
    vertex_cluster.report(step=step, total=30, loss=1 / step)
    hold = {1: 12, 2: 17}.get(len(list(flags.iterdir())) + 1)
    if step == hold:
        (flags / f"held-at-{step}").touch()
        time.sleep(600)
print("trained", weights[-1], flush=True)
"""
PROGRAM = f"""
home = vt.StagingBucket("home", location={HOME!r}, force_destroy=True)
away = vt.StagingBucket("away", location={AWAY!r}, force_destroy=True)
gpu = {{"machine_type": "g2-standard-8", "accelerator_type": "NVIDIA_L4", "accelerator_count": 1}}
task = {{
    "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest",
    "command": ["python3", "-c", {TRAINING!r}],
}}
vt.CustomJob(
    "train",
    worker_pool_specs=[{{"machine_spec": gpu, "replica_count": 1, "container_spec": task}}],
    staging_bucket=home,
    scheduling={{"disable_retries": False}},
    capacity=[
        {{"strategy": "SPOT"}},
        {{"strategy": "STANDARD", "wait_for": "1s"}},
        {{"strategy": "SPOT", "location": {AWAY!r}, "staging_bucket": away}},
    ],
    rerun="on_failure",
    max_cost={MOST},
)
"""


@pytest.fixture
def control(engine: Engine) -> Iterator[Control]:
    emulator = launcher.ensure(engine.data_dir)
    control = Control(url=emulator.url, token=emulator.token)
    control.set_capacity("NVIDIA_L4", 0, region=HOME, strategy="SPOT", wait_seconds=0.2)
    control.set_capacity("NVIDIA_L4", 0, region=HOME, strategy="STANDARD", wait_seconds=600)
    shutil.copytree(Path(vertex_cluster.__file__).parent, engine.data_dir / "buckets/code/vertex_cluster")
    yield control
    control.clear_capacities()


def jobs(control: Control) -> list[dict[str, Any]]:
    """Return the jobs of both regions, oldest first."""
    parents = (f"/v1/projects/local/locations/{one}/customJobs" for one in (HOME, AWAY))
    found = [one for path in parents for one in control.call("GET", path).get("customJobs", [])]
    return sorted(found, key=lambda one: str(one["createTime"]))


def way(control: Control) -> list[tuple[str, str]]:
    return [(one["name"].split("/")[3], one["state"].removeprefix("JOB_STATE_")) for one in jobs(control)]


@pytest.mark.slow
def test_a_training_ends_below_its_price(engine: Engine, control: Control, tmp_path: Path) -> None:
    flags = engine.data_dir / "buckets/code/flags"
    engine.write(PROGRAM)
    climbed = engine.up().ok().output
    assert "no capacity on rung 1 of 3" in climbed and "no capacity on rung 2 of 3" in climbed
    assert way(control) == [(HOME, "FAILED"), (HOME, "CANCELLED"), (AWAY, "RUNNING")]
    job = jobs(control)[-1]["name"].rpartition("/")[2]

    eventually(lambda: (flags / "held-at-12").exists())
    control.preempt_replica(job, "workerpool0-0")  # the job starts again by itself, from step 10
    eventually(lambda: (flags / "held-at-17").exists())
    control.kill_replica(job, "workerpool0-0", out_of_memory=True)  # which ends the job
    eventually(lambda: way(control)[-1] == (AWAY, "FAILED"), what=lambda: way(control))

    control.clear_capacities()
    control.set_capacity("NVIDIA_L4", 0, region=AWAY, wait_seconds=0.2)
    resumed = engine.up().ok().output
    assert "train will run again" in resumed
    assert "copying the checkpoint of step 15" in resumed
    eventually(lambda: way(control)[-1] == (HOME, "SUCCEEDED"), what=lambda: way(control))
    env = command.environment(tmp_path)
    found = command.run("logs", jobs(control)[-1]["name"], "--data-dir", str(engine.data_dir), env=env)
    assert f"from 16 with {sum(range(16))}" in found.out and f"trained {sum(range(31))}" in found.out

    shown = command.run("runs", "train", "--data-dir", str(engine.data_dir), env=env)
    assert "from step 10 (attempt 2)" in shown.out and "from step 15" in shown.out, shown.out
    listed = command.run("runs", "train", "--json", "--data-dir", str(engine.data_dir), env=env)
    costs = [one["cost"]["known"] if one["cost"] else 0 for one in json.loads(listed.out)["runs"]]
    assert len(costs) == 4 and sum(costs) < MOST
    engine.destroy().ok()
    assert way(control) == []
