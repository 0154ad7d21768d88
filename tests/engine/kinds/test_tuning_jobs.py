"""`HyperparameterTuningJob` on the real engine: its trials run on the emulator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from support.emulated.job_emulator import wait_until_none_is_left

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "jobs" / "tuning.md"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
QUICK = """
import argparse, hypertune
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
x = parser.parse_args().x
hypertune.HyperTune().report_hyperparameter_tuning_metric("loss", (x - 2) ** 2, 1)
"""
LONG = "import time; time.sleep(300)"
HEAD = """
def search(name, script, values, trials=None, **options):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
    container = {"image_uri": image, "command": ["python3", "-c"], "args": [script]}
    machine = {"machine_type": "n1-standard-4"}
    pool = {"machine_spec": machine, "replica_count": 1, "container_spec": container}
    job = vt.HyperparameterTuningJob(
        name,
        study_spec={
            "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
            "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": values}}],
            "algorithm": "GRID_SEARCH",
        },
        max_trial_count=trials or len(values),
        parallel_trial_count=1,
        trial_job_spec={
            "worker_pool_specs": [pool],
            "base_output_directory": f"gs://engine-test-tuning/{name}",
        },
        **options,
    )
    pulumi.export(name, {"job": job.id, "trials": job.trials, "best": job.best_trial})


"""


def declare(name: str, script: str = QUICK, values: tuple[float, ...] = (1, 2, 3), **options: Any) -> str:
    """Return the line of a program that declares a tuning job with a trial for each value."""
    return f"search({name!r}, {script!r}, {list(values)!r}, **{options!r})\n"


def blocks_of_guide() -> dict[str, str]:
    """Return the programs of the guide by their file names."""
    found = re.findall(r"```python\n# (\S+)\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    return dict(found)


def test_the_guide_says_how_to_install_the_package_before_the_program_that_imports_it() -> None:
    before, _, _ = GUIDE.read_text().partition("import hypertune")
    assert re.search(r"`\.venv/bin/python -m pip install cloudml-hypertune`", before)


def listed(endpoint: Endpoint) -> list[JobRecord]:
    return tuning_jobs.GATEWAY.list_jobs(endpoint)


def test_the_programs_of_the_guide(engine: Engine) -> None:
    programs = blocks_of_guide()
    for name, text in programs.items():
        (engine.folder / "infra" / name).write_text(text)
    engine.up().ok()
    found = engine.outputs()
    endpoint = engine.endpoint()
    (job,) = listed(endpoint)
    assert (job.state.word, len(job.wire["trials"])) == ("SUCCEEDED", 6)

    # the best trial is the one with the most of the metric, and its model is where the outputs say
    measured = {trial["id"]: trial["finalMeasurement"]["metrics"][0]["value"] for trial in job.wire["trials"]}
    best = max(measured, key=lambda number: measured[number])
    assert found["accuracy"] == measured[best]
    bucket, _, folder = found["model"].removeprefix("gs://").partition("/")
    assert folder.endswith(f"/{best}/model/")
    model = objects.read(endpoint, bucket, f"{folder}metrics.json")
    assert str(found["parameters"]["rate"]) in model.decode()

    # unchanged: nothing to do, and a refresh agrees
    assert "unchanged" in engine.up("--refresh", "--expect-no-changes").ok().output
    assert engine.outputs() == found

    # another number of trials: reported in words, and run again
    program = (engine.folder / "infra" / "__main__.py").read_text()
    (engine.folder / "infra" / "__main__.py").write_text(
        program.replace("max_trial_count=6", "max_trial_count=3")
    )
    output = engine.up().ok().output
    assert "max trial count: 6 -> 3; the tuning job is replaced, because" in output
    second, replaced = listed(endpoint)
    assert replaced.name == job.name
    assert len(second.wire["trials"]) == 3
    assert engine.outputs()["model"].split("/")[:5] != found["model"].split("/")[:5]

    # gone: no tuning job, no process of a trial
    engine.destroy().ok()
    assert listed(endpoint) == []
    wait_until_none_is_left(str(engine.data_dir / "jobs"))


def submit(engine: Engine, name: str) -> JobRecord:
    """Submit a tuning job as somebody else, without what the service fills in."""
    container = {"imageUri": IMAGE, "command": ["python3", "-c"], "args": [LONG]}
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": container,
    }
    parameter = {"parameterId": "x", "discreteValueSpec": {"values": [1, 2, 3]}}
    job = {
        "displayName": name,
        "studySpec": {
            "metrics": [{"metricId": "loss", "goal": 2}],
            "parameters": [parameter],
            "algorithm": "GRID_SEARCH",
            "measurementSelectionType": "LAST_MEASUREMENT",
        },
        "maxTrialCount": 3,
        "parallelTrialCount": 1,
        "trialJobSpec": {
            "workerPoolSpecs": [pool],
            "baseOutputDirectory": {"outputUriPrefix": f"gs://engine-test-tuning/{name}"},
        },
    }
    return tuning_jobs.GATEWAY.create(engine.endpoint(), job)


Jobs = dict[str, JobRecord]


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, its outputs, and the tuning jobs after each."""

    made: str
    """The one that somebody else submitted."""
    jobs: list[Jobs]
    """The newest of each name."""
    counts: list[int]
    outputs: list[dict[str, Any]]
    refused: Result
    first: Result
    second: Result
    failed: Result
    again: Result
    left: list[str]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    jobs: list[Jobs] = []
    counts: list[int] = []
    outputs: list[dict[str, Any]] = []

    def note() -> None:
        found = listed(engine.endpoint())
        counts.append(len(found))
        jobs.append({one.display_name: one for one in reversed(found)})
        outputs.append(engine.outputs())

    buckets.create(engine.endpoint(), {"name": "engine-test-tuning", "location": "us-central1"})
    made = submit(engine, "adopted")
    every = declare("every", values=(1, 2, 4), wait="done")
    failing = declare("failing", "raise SystemExit('no such flower')", wait="done")
    theirs = {"wait": "none", "adopt": made.job_id}
    engine.write(HEAD + declare("adopted", LONG, (1, 2), **theirs))
    refused = engine.up()
    adopted = declare("adopted", LONG, **theirs)
    engine.write(HEAD + every + declare("live", LONG, wait="running") + adopted)
    first = engine.up().ok()
    note()
    steady = HEAD + every + declare("live", values=(1, 2), wait="done")
    engine.write(steady + adopted)
    second = engine.up().ok()
    note()
    engine.write(steady + declare("adopted", LONG, wait="none", trials=2) + failing)
    failed = engine.up()
    again = engine.up().failed()
    engine.write(steady + declare("adopted", LONG, wait="none", trials=2) + failing.replace("done", "none"))
    engine.up().ok()
    note()
    engine.destroy().ok()
    return Steps(
        made=made.name,
        jobs=jobs,
        counts=counts,
        outputs=outputs,
        refused=refused,
        first=first,
        second=second,
        failed=failed,
        again=again,
        left=[one.name for one in listed(engine.endpoint())],
    )


# Shown quicker in tests/pulumi_vertex_training: kinds/hyperparameter_tuning_job/test_tuning_results.py,
# program/waiting/test_completion.py, runs/test_adoption.py
@pytest.mark.slow
def test_every_trial_is_an_output(steps: Steps) -> None:
    found = steps.outputs[0]["every"]
    trials: list[dict[str, Any]] = found["trials"]
    assert [one["id"] for one in trials] == ["1", "2", "3"]
    assert {one["parameters"]["x"]: one["metrics"]["loss"] for one in trials} == {1: 1, 2: 0, 4: 4}
    assert {one["state"] for one in trials} == {"SUCCEEDED"}
    (at_two,) = (one for one in trials if one["parameters"]["x"] == 2)
    assert found["best"] == {
        "id": at_two["id"],
        "parameters": {"x": 2},
        "metric_id": "loss",
        "metric": 0,
        "model_directory": f"gs://engine-test-tuning/every/{at_two['id']}/model/",
    }
    assert all("/customJobs/" in one["custom_job"] for one in trials)


@pytest.mark.slow
def test_a_live_tuning_job_is_cancelled_when_the_study_changes(steps: Steps) -> None:
    first, second = (each["live"] for each in steps.jobs[:2])
    assert not first.state.is_terminal
    assert "the tuning job is replaced" in mentions(steps.second.output, "live")
    assert (second.name != first.name, second.state.word) == (True, "SUCCEEDED")


@pytest.mark.slow
def test_a_tuning_job_that_exists_is_adopted_as_it_is_and_replaced_when_it_changes(steps: Steps) -> None:
    """Submitted by somebody else, with what the service fills in."""
    refused = steps.refused.failed().output
    assert "max_trial_count" in refused
    assert "study_spec.parameters[0].discrete_value_spec.values" in refused
    assert f"adopted tuning job {steps.made.rpartition('/')[2]}" in steps.first.output
    for step in (0, 1):
        assert steps.outputs[step]["adopted"]["job"] == steps.jobs[step]["adopted"].name == steps.made
    changed = [line for line in steps.second.output.splitlines() if "[diff: " in line]
    assert any("HyperparameterTuningJob live" in line for line in changed)
    assert not any("HyperparameterTuningJob adopted" in line for line in changed)
    assert steps.outputs[2]["adopted"]["job"] == steps.jobs[2]["adopted"].name != steps.made
    assert (len(steps.jobs[2]), steps.counts[2]) == (4, 6), "the jobs that were replaced are kept"


@pytest.mark.slow
def test_a_tuning_job_whose_trials_fail_fails_the_deployment_that_runs_it_and_the_next(steps: Steps) -> None:
    assert "tuning job" in steps.failed.failed().output
    assert "each deployment fails until it has succeeded" in steps.again.output
    assert steps.outputs[2]["failing"]["best"]["id"] is None


@pytest.mark.slow
def test_destroying_leaves_no_tuning_job_of_the_stack_and_no_process_of_a_trial(
    steps: Steps, shared_engine: Engine
) -> None:
    """Keep the replaced job that somebody else had submitted: the stack never deletes it."""
    assert steps.left == [steps.made]
    wait_until_none_is_left(str(shared_engine.data_dir / "jobs"))
