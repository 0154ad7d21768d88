"""Type checkers find every misspelt name in a program, and accept a correct one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[3] / "providers").glob("*/src"))
START = """
import pulumi
import pulumi_vertex_training as vt

pool = vt.WorkerPoolSpecArgs(machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"))
bucket = vt.StagingBucket("b")
job = vt.CustomJob("j", worker_pool_specs=[pool])
training = vt.DistributedTraining("d", chief=pool)
study = vt.HyperparameterTuningJob(
    "t", study_spec={}, max_trial_count=1, parallel_trial_count=1, trial_job_spec={}
)
pipeline = vt.TrainingPipeline("p", custom_task={})
"""
MISTAKES = (
    START
    + """
vt.StagingBucket("b", force_destory=True)  # mistake
vt.StagedFile("f", bucket=bucket, source="x", prefx="y")  # mistake
vt.StagedPackage("p", bucket=bucket, source="x", exclud=[])  # mistake
vt.ImageRepository("r", descripton="x")  # mistake
vt.TrainingImage("i", repository="r", source="x", base_imag="y")  # mistake
vt.CustomJob("j", worker_pool_specs=[pool], wiat="done")  # mistake
vt.CustomJob("j", worker_pool_specs=[pool], wait="finished")  # mistake
vt.HyperparameterTuningJob("t", max_trial_cuont=3)  # mistake
vt.TrainingPipeline("p", custom_tsk={})  # mistake
vt.Model("m", artifact_url="gs://b/m")  # mistake
vt.PersistentResource("pr", resource_pols=[])  # mistake
vt.DistributedTraining("d", chief=pool, workrs=pool)  # mistake
vt.DistributedTraining("d", chief=pool, wiat="done")  # mistake
vt.MachineSpecArgs(machine_typ="n1-standard-4")  # mistake
pulumi.export("state", job.completion.stat)  # mistake
pulumi.export("state", job.completion["stat"])  # mistake
pulumi.export("accuracy", job.completion.metrics.accuracy)  # mistake
pulumi.export("model", training.completion.modeldirectory)  # mistake
pulumi.export("trials", training.completion.trials)  # mistake
pulumi.export("image", training.imageuri)  # mistake
pulumi.export("console", training.job.console_ulr)  # mistake
number: pulumi.Output[int] = job.completion.state  # mistake
always: pulumi.Output[str] = job.completion["model_directory"]  # mistake
"""
)
ACCEPTED = (
    START
    + """
model = vt.Model("m", artifact_uri=job.completion.model_directory, container_spec={"image_uri": "x"})
state: pulumi.Output[str] = job.completion.state
same: pulumi.Output[str] = job.completion["state"]
directory: pulumi.Output[str | None] = job.completion["model_directory"]
accuracy = job.completion.metrics["accuracy"]
console: pulumi.Output[str] = job.console_url
logs: pulumi.Output[str] = job.logs_url
tensorboard: pulumi.Output[str | None] = job.tensorboard_url
image: pulumi.Output[str] = training.image_uri
name: pulumi.Output[str] = training.bucket_name
size: pulumi.Output[int] = training.package.size
env = vt.EnvVarArgs(name="STATE", value=job.completion["state"])
pulumi.export("all", {"completion": job.completion, "metrics": training.completion.metrics})
words: pulumi.Output[str] = job.completion.apply(lambda known: f"{known['state']}")
trials: pulumi.Output[list[str]] = study.trials.apply(lambda found: [trial["id"] for trial in found])
best: pulumi.Output[float | None] = study.best_metric
version: pulumi.Output[str | None] = pipeline.completion.model_version
"""
)


def by_pyright(program: Path) -> set[int]:
    """Return the lines with an error."""
    settings = program.with_name("pyrightconfig.json")
    settings.write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": list(map(str, SOURCES))}))
    command = [
        Path(sys.executable).with_name("basedpyright"),
        "--outputjson",
        "-p",
        settings,
        "--pythonpath",
        sys.executable,
    ]
    ended = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(ended.stdout)["generalDiagnostics"]
    assert all(each["file"] == str(program) for each in found), found
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


def by_mypy(program: Path) -> set[int]:
    """Return the lines with an error."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-incremental", program]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=program.parent,
        env={"MYPYPATH": os.pathsep.join(map(str, SOURCES))},
    )
    assert ended.stderr == ""
    return {int(line) for line in re.findall(rf"^{program.name}:(\d+): error:", ended.stdout, re.MULTILINE)}


@pytest.mark.parametrize(
    "check", [by_pyright, pytest.param(by_mypy, marks=pytest.mark.slow)], ids=["pyright", "mypy"]
)
def test_each_misspelt_name_is_an_error_and_nothing_else_is(
    tmp_path: Path, check: Callable[[Path], set[int]]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(MISTAKES + ACCEPTED.removeprefix(START))
    expected = {
        number for number, line in enumerate(program.read_text().split("\n"), 1) if line.endswith("# mistake")
    }
    assert check(program) == expected
