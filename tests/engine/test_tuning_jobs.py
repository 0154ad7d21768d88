"""`HyperparameterTuningJob` on the real engine: its trials run on the emulator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psutil

from support.engine import Engine
from vertex_training.cloud import objects, tuning_jobs
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.jobs import JobRecord
from vertex_training.emulator import launcher

GUIDE = Path(__file__).parents[2] / "docs" / "tuning.md"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
QUICK = """
import argparse, hypertune
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
x = parser.parse_args().x
hypertune.HyperTune().report_hyperparameter_tuning_metric("loss", (x - 2) ** 2, 1)
"""
LONG = "import time; time.sleep(300)"
PROGRAM = """
job = vt.HyperparameterTuningJob(
    "search",
    study_spec={{
        "metrics": [{{"metric_id": "loss", "goal": "MINIMIZE"}}],
        "parameters": [{{"parameter_id": "x", "discrete_value_spec": {{"values": {values}}}}}],
        "algorithm": "GRID_SEARCH",
    }},
    max_trial_count={trials},
    parallel_trial_count={parallel},
    trial_job_spec={{
        "worker_pool_specs": [
            {{
                "machine_spec": {{"machine_type": "n1-standard-4"}},
                "replica_count": 1,
                "container_spec": {{
                    "image_uri": "{image}", "command": ["python3", "-c"], "args": [{script!r}]
                }},
            }}
        ],
        "base_output_directory": "gs://engine-test-tuning/out",
    }},
    {options}
)
pulumi.export("job", job.id)
pulumi.export("trials", job.trials)
pulumi.export("best", job.best_trial)
pulumi.export("state", job.completion["state"])
"""


def write(
    engine: Engine,
    script: str = QUICK,
    *,
    values: tuple[float, ...] = (1, 2, 3),
    trials: int | None = None,
    parallel: int = 1,
    options: str = 'wait="done"',
) -> None:
    engine.write(
        PROGRAM.format(
            values=list(values),
            trials=len(values) if trials is None else trials,
            parallel=parallel,
            image=IMAGE,
            script=script,
            options=options,
        )
    )


def blocks_of_guide() -> dict[str, str]:
    """The programs of the guide by their file names."""
    found = re.findall(r"```python\n# (\S+)\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    return dict(found)


def listed(endpoint: Endpoint) -> list[JobRecord]:
    return tuning_jobs.GATEWAY.list_jobs(endpoint)


def processes_in(folder: str) -> list[str]:
    """Command lines of processes that name the folder."""
    lines = []
    for process in psutil.process_iter(["cmdline"]):
        lines.append(" ".join(process.info["cmdline"] or []))
    return [line for line in lines if folder in line]


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
    told = {trial["id"]: trial["finalMeasurement"]["metrics"][0]["value"] for trial in job.wire["trials"]}
    best = max(told, key=lambda number: told[number])
    assert found["accuracy"] == told[best]
    bucket, _, folder = found["model"].removeprefix("gs://").partition("/")
    assert folder.endswith(f"/{best}/model/")
    model = objects.read(endpoint, bucket, f"{folder}metrics.json")
    assert str(found["parameters"]["rate"]) in model.decode()

    # unchanged: nothing to do, and a refresh agrees
    assert "unchanged" in engine.preview("--expect-no-changes").ok().output
    engine.up("--expect-no-changes").ok()
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive", "--expect-no-changes").ok()
    assert engine.outputs() == found

    # another number of trials: said in words, and run anew
    program = (engine.folder / "infra" / "__main__.py").read_text()
    (engine.folder / "infra" / "__main__.py").write_text(
        program.replace("max_trial_count=6", "max_trial_count=3")
    )
    output = engine.preview().ok().output
    assert "max trial count: 6 -> 3; the tuning job is replaced, because" in output
    engine.up().ok()
    (second,) = listed(endpoint)
    assert second.name != job.name
    assert len(second.wire["trials"]) == 3
    assert engine.outputs()["model"].split("/")[:5] != found["model"].split("/")[:5]

    # gone: no tuning job, no process of a trial
    engine.destroy().ok()
    assert listed(endpoint) == []
    assert processes_in(str(engine.data_dir / "jobs")) == []


def test_every_trial_is_an_output(engine: Engine) -> None:
    write(engine, values=(1, 2, 4), options='wait="done"')
    engine.up().ok()
    found = engine.outputs()
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
        "model_directory": f"gs://engine-test-tuning/out/{at_two['id']}/model/",
    }
    assert all("/customJobs/" in one["custom_job"] for one in trials)


def test_a_live_tuning_job_is_cancelled_when_the_study_changes(engine: Engine) -> None:
    write(engine, LONG, options='wait="running"')
    engine.up().ok()
    endpoint = engine.endpoint()
    (first,) = listed(endpoint)
    assert not first.state.is_terminal
    write(engine, QUICK, values=(1, 2))
    preview = engine.preview().ok().output
    assert "the tuning job is replaced" in preview
    engine.up().ok()
    (second,) = listed(endpoint)
    assert (second.name != first.name, second.state.word) == (True, "SUCCEEDED")
    engine.destroy().ok()
    assert processes_in(str(engine.data_dir / "jobs")) == []


def test_a_tuning_job_that_exists_is_adopted(engine: Engine) -> None:
    """Submitted by somebody else, with what the service fills in; replaced when it changes."""
    launcher.ensure(engine.data_dir)
    container = {"imageUri": IMAGE, "command": ["python3", "-c"], "args": [LONG]}
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": container,
    }
    parameter = {"parameterId": "x", "discreteValueSpec": {"values": [1, 2, 3]}}
    job = {
        "displayName": "search",
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
            "baseOutputDirectory": {"outputUriPrefix": "gs://engine-test-tuning/out"},
        },
    }
    made = tuning_jobs.GATEWAY.create(engine.endpoint(), job)
    write(engine, LONG, values=(1, 2), options=f'wait="none", adopt="{made.job_id}"')
    refused = engine.up().failed().output
    assert (
        "max_trial_count" in refused and "study_spec.parameters[0].discrete_value_spec.values" in refused
    ), refused
    write(engine, LONG, options=f'wait="none", adopt="{made.job_id}"')
    assert f"adopted tuning job {made.job_id}" in engine.up().ok().output
    assert engine.outputs()["job"] == made.name
    engine.up("--expect-no-changes").ok()
    write(engine, LONG, options='wait="none"', trials=2)
    engine.up().ok()
    assert [one.name for one in listed(engine.endpoint())] == [engine.outputs()["job"]] != [made.name]


def test_a_tuning_job_whose_trials_fail_fails_the_deployment(engine: Engine) -> None:
    write(engine, "raise SystemExit('no such flower')")
    output = engine.up().failed().output
    assert "tuning job" in output
    again = engine.up().ok().output
    assert "is on_change" in again or "FAILED" in again
    assert engine.outputs()["best"]["id"] is None


def test_what_is_wrong_is_told_before_anything_is_created(engine: Engine) -> None:
    write(engine, values=(2, 1, 1), trials=2, parallel=5)
    output = engine.preview().failed().output
    for words in (
        "study_spec.parameters[0].discrete_value_spec.values[1]: 1 is less than the value before it, 2",
        "study_spec.parameters[0].discrete_value_spec.values[2]: 1 is listed already, at 1",
        "parallel_trial_count: 5 at a time, and there are 2 trials in all",
    ):
        assert words in output
