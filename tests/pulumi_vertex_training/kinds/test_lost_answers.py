"""A call is carried out and its answer lost, once for every call that changes something.

No command fails, and nothing is made twice: what a call has done is looked up before it is called a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.runs.gateway import gateways
from support.client.engine import Result
from support.client.in_process.project import Project
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

PROGRAM = """
import pathlib

step = int("NUMBER")
data = pathlib.Path("data.txt").absolute()
data.write_text(f"data {step}")
weights = pathlib.Path("weights.txt").absolute()
weights.write_text("weights")
wait = 'import time; time.sleep(600)'
image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
serving = {"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}
task = vt.task_from_image(image, command=["python3", "-c", wait], environment_variables={"STEP": str(step)})
bucket = vt.StagingBucket("bucket", name="lost-bucket", force_destroy=True, labels={"step": str(step)})
vt.StagedFile("data", source=str(data), bucket=bucket)
kept = vt.StagedFile("weights", source=str(weights), bucket=bucket)
vt.ImageRepository("repository", repository_id="lost-images", labels={"step": str(step)})
vt.CustomJob("train", **task, on_replace="delete")
vt.HyperparameterTuningJob(
    "search",
    study_spec={
        "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [1]}}],
    },
    max_trial_count=1,
    parallel_trial_count=1,
    trial_job_spec=task,
    on_replace="delete",
)
vt.TrainingPipeline("pipe", custom_task=task, on_replace="delete")
vt.Model(
    "model",
    model_id="lost-model",
    artifact_uri=kept.uri.apply(lambda uri: uri.rpartition("/")[0]),
    container_spec=serving,
    description=f"step {step}",
    version_aliases=[f"step-{step}"],
    on_delete="delete",
)
machines = {"machine_spec": {"machine_type": "n1-standard-4"}}
vt.PersistentResource(
    "machines",
    persistent_resource_id="lost-machines",
    resource_pools=[{**machines, "replica_count": step}],
    reboot_token=str(step),
)
"""
NAMES = ("pipe", "search", "train")
JOBS = ("CustomJob", "HyperparameterTuningJob", "TrainingPipeline")
CREATED = (
    *(f"Create{kind}" for kind in (*JOBS, "Repository", "PersistentResource")),
    *("UploadModel", "storage.objects.insert"),
)
ENDED = tuple(f"{verb}{kind}" for kind in JOBS for verb in ("Cancel", "Delete"))
CHANGED = (
    *ENDED,
    *(f"Create{kind}" for kind in JOBS),
    *("storage.buckets.patch", "storage.objects.insert", "UpdateRepository", "UpdateModel"),
    *("MergeVersionAliases", "UpdatePersistentResource", "RebootPersistentResource"),
)
DESTROYED = (
    *ENDED,
    *(f"Delete{kind}" for kind in ("Repository", "Model", "PersistentResource")),
    *("storage.buckets.delete", "storage.objects.delete"),
)


@dataclass(kw_only=True)
class Step:
    """A command, the lost answers by method, and the live jobs after it."""

    result: Result
    lost: dict[str, int]
    live: list[str]


@pytest.fixture(scope="module")
def steps(project: Project) -> dict[str, Step]:
    engine = project
    emulator = launcher.ensure(engine.data_dir)
    control = Control(url=emulator.url, token=emulator.token)

    def run(methods: tuple[str, ...], command: Callable[[], Result]) -> Step:
        for method in methods:
            control.add_fault({"method": method, "drop": "after"})
        result = command()
        lost = {fault["method"]: fault["fired"] for fault in control.faults()}
        control.clear_faults()
        live = [one.display_name for each in gateways() for one in each.list_live(engine.endpoint())]
        return Step(result=result, lost=lost, live=sorted(live))

    found = {}
    for step, name, methods in (("1", "created", CREATED), ("2", "changed", CHANGED)):
        engine.write(PROGRAM.replace("NUMBER", step))
        found[name] = run(methods, engine.up)
    return {**found, "destroyed": run(DESTROYED, engine.destroy)}


@pytest.mark.parametrize("name", ["created", "changed", "destroyed"])
def test_nothing_fails_when_answers_are_lost(steps: dict[str, Step], name: str) -> None:
    assert "Traceback" not in steps[name].result.ok().output


@pytest.mark.parametrize("name", ["created", "changed", "destroyed"])
def test_every_call_lost_its_answer_once(steps: dict[str, Step], name: str) -> None:
    assert set(steps[name].lost.values()) == {1}, steps[name].lost


def test_no_job_was_submitted_twice(steps: dict[str, Step]) -> None:
    for step in ("created", "changed"):
        assert [name for name in steps[step].live if name in NAMES] == list(NAMES)
    assert steps["destroyed"].live == []
