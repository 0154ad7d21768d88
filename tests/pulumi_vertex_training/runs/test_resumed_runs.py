"""Trainings that continue after a preemption, a kill, a new run, with more workers and in another bucket.

The deployments, the service and the programs are real; the engine is the one in the test's process.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import vertex_cluster
from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs.checkpoints import copy_newest, starts_in
from pulumi_vertex_training.ui.source import job as job_page
from support.client.in_process.trials import Trial
from support.client.kills.subjects import CUSTOM_JOB, Declaration
from support.waiting import eventually
from vertex_cluster import checkpoints
from vertex_cluster.checkpoints import folder as folders
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

TRAINING = """
import os, pathlib, sys, time
sys.path.insert(0, "/gcs/code")
from vertex_cluster import checkpoints

at = pathlib.Path(f"/gcs/code/flags/{os.environ['OF']}-{os.environ['CLOUD_ML_JOB_ID']}")
at.mkdir(parents=True, exist_ok=True)
turn = 0

def barrier():
    global turn
    turn += 1
    (at / f"{turn}-{os.environ.get('RANK', '0')}").touch()
    while len(list(at.glob(f"{turn}-*"))) < int(os.environ.get("WORLD_SIZE", "1")):
        time.sleep(0.01)

weights = [0]
store = checkpoints.Checkpoints(keep=2, barrier=barrier)
first = store.resume(lambda folder: weights.append(int((folder / "weights").read_text()))) + 1
print("from", first, "with", weights[-1], "in", store.folder, flush=True)
for step in range(first, 31):
    weights.append(weights[-1] + step)
    if step % 5 == 0:
        store.save(step, lambda folder: (folder / "weights").write_text(str(weights[-1])))
    while step == 12 and store.start.start == 1:
        (at / "held").touch()
        time.sleep(0.01)
    if step == 17 and store.start.start == 2:
        sys.exit("out of luck")
print("trained", weights[-1], flush=True)
"""
SPOT = dataclasses.replace(
    CUSTOM_JOB,
    needs=('bucket = vt.StagingBucket("bucket", name=f"{name}-bucket", force_destroy=True)\n',),
    text=CUSTOM_JOB.text.replace("name, worker", "name, staging_bucket=bucket, worker"),
)
TWO = dataclasses.replace(SPOT, text=SPOT.text.replace("=[pool]", "=[pool, pool]"))
COMMAND = ("python3", "-c", TRAINING)
TRAINS = Declaration(
    command=COMMAND,
    options='rerun="on_failure", rerun_limit=3, on_replace="keep", scheduling={"strategy": "SPOT"}',
)


@pytest.fixture(params=[False, True], ids=["dynamic", "package"])
def trial(data_dir: Path, request: pytest.FixtureRequest) -> Trial:
    launcher.ensure(data_dir)
    code = data_dir / "buckets" / "code" / "vertex_cluster"
    if not code.exists():
        shutil.copytree(Path(vertex_cluster.__file__).parent, code)
    return Trial(subject=SPOT, data_dir=data_dir, serves_package=request.param)


def newest_id(trial: Trial) -> str:
    return str(max(trial.records(), key=lambda one: str(one["createTime"]))["name"]).rpartition("/")[2]


def until(trial: Trial, state: str) -> None:
    eventually(lambda: trial.state() == state, what=trial.state)


def printed(trial: Trial, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the log of the newest job."""
    capsys.readouterr()
    assert main(["logs", newest_id(trial), "--data-dir", str(trial.data_dir)]) == 0
    return capsys.readouterr().out


def test_a_training_ends_in_spite_of_everything(
    trial: Trial, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    trial.up(TRAINS)
    folder = str(trial.run()["checkpoints"])
    local = trial.data_dir / "buckets" / folder.removeprefix("gs://")
    flags = trial.data_dir / "buckets" / "code" / "flags"
    eventually(lambda: list(flags.glob(f"{trial.name}-*/held")) != [])
    job = newest_id(trial)
    trial.control.preempt_replica(job, "workerpool0-0")
    until(trial, "FAILED")  # restarted within the job, and then the program ended it
    text = printed(trial, capsys)
    assert f"from 11 with {sum(range(11))}" in text
    trial.up(TRAINS)
    assert f"continues from the checkpoints in {folder}" in capsys.readouterr().out
    until(trial, "SUCCEEDED")
    text = printed(trial, capsys)
    assert f"from 16 with {sum(range(16))}" in text
    assert f"trained {sum(range(31))}" in text
    found = checkpoints.starts(local)
    assert [(one.attempt, one.step) for one in found] == [(1, 0), (2, 10), (1, 15)]
    assert starts_in(endpoint, folder) == found

    arguments = ["--data-dir", str(trial.data_dir)]
    assert main(["runs", trial.name, *arguments]) == 0
    shown = capsys.readouterr().out
    assert "from step 10 (attempt 2), at most " in shown
    assert "from step 15, " in shown
    assert shown.count(" lost") == 2
    assert main(["runs", trial.name, "--json", *arguments]) == 0
    second, first = json.loads(capsys.readouterr().out)["runs"]
    assert [(one["step"], one["attempt"], one["isBound"]) for one in first["resumes"]] == [(10, 2, True)]
    assert [(one["step"], one["attempt"], one["isBound"]) for one in second["resumes"]] == [(15, 1, False)]
    assert all(one["lostSeconds"] >= 0 for run in (first, second) for one in run["resumes"])
    assert all(one["lostCost"] >= 0 for run in (first, second) for one in run["resumes"])
    page = job_page.read(endpoint, "customJobs", newest_id(trial))
    assert [value for name, value in page.facts if name == "Resumed"] != []
    assert main(["runs", trial.name, "--compare", *arguments]) == 0
    assert "env" not in capsys.readouterr().out

    trial.subject = TWO  # another spec, and whoever wants more names the folder
    longer = (*COMMAND[:2], TRAINING.replace("31", "41"))
    trial.up(replace(TRAINS, command=longer, options=f'{TRAINS.options}, resume="{folder}"'))
    until(trial, "SUCCEEDED")
    text = printed(trial, capsys)
    assert text.count(f"from 31 with {sum(range(31))}") == 2
    assert text.count(f"trained {sum(range(41))}") == 2
    assert [one.world_size for one in checkpoints.starts(local)] == [1, 1, 1, 2]
    trial.engine.destroy()


def test_the_newest_whole_checkpoint_is_copied_to_another_bucket(data_dir: Path, endpoint: Endpoint) -> None:
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    for name in ("from-here", "to-there"):
        control.call("POST", "/storage/v1/b?project=local", {"name": name})
    source, target = (data_dir / "buckets" / name / "all" for name in ("from-here", "to-there"))
    environ = {"CLOUD_ML_JOB_ID": "7"}
    store = checkpoints.Checkpoints(source, environ=environ, rank=0, world_size=1)
    store.resume(lambda _: None)
    for step in (10, 20):
        store.save(step, lambda at: (at / "w").write_text("state"))
    begun = folders.checkpoint_of(source, step=30, job="7", start=1)
    begun.path.mkdir()
    (begun.path / "w").write_text("a part")
    said: list[str] = []
    for _ in range(2):  # once more does nothing
        copied = copy_newest(endpoint, "gs://from-here/all/", "gs://to-there/all/", tell=said.append)
        assert copied is not None
        assert copied.step == 20
    assert sorted(each.name for each in target.glob("step-*")) == ["step-20-7-1"]
    assert "copying the checkpoint of step 20" in said[0]
    again = checkpoints.Checkpoints(target, environ={"CLOUD_ML_JOB_ID": "8"}, rank=0, world_size=1)
    assert again.resume(lambda at: (at / "w").read_text()) == 20
    assert again.start is not None
    assert (again.start.start, again.start.attempt) == (2, 1)
    assert copy_newest(endpoint, "gs://nowhere/all/", "gs://to-there/all/") is None
