"""The commands on a tuning job and on a training pipeline of a real emulator."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobClient, JobRecord
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import KIND as TUNING_JOB
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from pulumi_vertex_training.kinds.training_pipeline.kind import KIND as PIPELINE
from pulumi_vertex_training.kinds.training_pipeline.spec import CUSTOM_TASK
from pulumi_vertex_training.views import target
from support import json_schema
from support.emulated.command import environment, run
from support.services.training import SLEEP, job, pool
from support.waiting import eventually
from vertex_emulator.daemon import reset as emulator_reset

Env = dict[str, str]
REPORT = """
import argparse, json, os, time
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
x = parser.parse_args().x
print("x is", x, flush=True)
path = os.environ["CLOUD_ML_HP_METRIC_FILE"]
os.makedirs(os.path.dirname(path), exist_ok=True)
trial = os.environ["CLOUD_ML_TRIAL_ID"]
line = {"timestamp": time.time(), "trial": trial, "score": str(x), "global_step": "1"}
open(path, "a").write(json.dumps(line) + "\\n")
"""


def study(program: str = REPORT, name: str = "study", **more: Any) -> dict[str, Any]:
    parameter = {"parameterId": "x", "discreteValueSpec": {"values": [1.0, 2.0]}}
    return {
        "displayName": name,
        "studySpec": {
            "metrics": [{"metricId": "score", "goal": "MAXIMIZE"}],
            "parameters": [parameter],
            "algorithm": "GRID_SEARCH",
        },
        "maxTrialCount": 2,
        "parallelTrialCount": 1,
        "trialJobSpec": {"workerPoolSpecs": [pool(program)]},
        **more,
    }


def pipeline(program: str, name: str = "pipeline") -> dict[str, Any]:
    return {
        "displayName": name,
        "trainingTaskDefinition": CUSTOM_TASK,
        "trainingTaskInputs": {"workerPoolSpecs": [pool(program)]},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kinds")


@pytest.fixture(scope="module")
def env(folder: Path) -> Iterator[Env]:
    made = environment(folder, VERTEX_TRAINING_DATA_DIR=str(folder / "emulator"))
    assert run("emulator", "start", env=made).code == 0
    yield made
    emulator_reset.reset(folder / "emulator")


@pytest.fixture(scope="module")
def endpoint(env: Env, folder: Path) -> Endpoint:
    return target.resolve(target.Choice(data_dir=folder / "emulator"), {})


def ended(endpoint: Endpoint, gateway: JobClient, name: str) -> JobRecord:
    eventually(lambda: gateway.get(endpoint, name).state.is_terminal)
    return gateway.get(endpoint, name)


@pytest.fixture(scope="module")
def tuned(endpoint: Endpoint) -> JobRecord:
    """Run a tuning job until its two trials have ended."""
    created = tuning_jobs.GATEWAY.create(endpoint, study())
    return ended(endpoint, tuning_jobs.GATEWAY, created.name)


@pytest.fixture(scope="module")
def piped(endpoint: Endpoint) -> JobRecord:
    """Run a pipeline until it has ended."""
    created = training_pipelines.GATEWAY.create(endpoint, pipeline("print('in the pipeline')"))
    return ended(endpoint, training_pipelines.GATEWAY, created.name)


def document_of(env: Env, record: JobRecord) -> dict[str, Any]:
    return run("status", record.job_id, "--json", env=env).json


def test_all_kinds_are_listed(env: Env, tuned: JobRecord, piped: JobRecord) -> None:
    listed = run("jobs", "--json", env=env).json["jobs"]
    assert {one["kind"] for one in listed} == {"custom job", "tuning job", "training pipeline"}


def test_one_kind_is_listed(env: Env, tuned: JobRecord, piped: JobRecord) -> None:
    listed = run("jobs", "--kind", "tuning-job", "--json", env=env).json["jobs"]
    assert {one["kind"] for one in listed} == {"tuning job"}
    assert tuned.job_id in {one["id"] for one in listed}


def test_trials_are_custom_jobs(env: Env, tuned: JobRecord) -> None:
    listed = run("jobs", "--kind", "custom-job", "--json", env=env).json["jobs"]
    trials = {one["customJob"].rpartition("/")[2] for one in tuned.wire["trials"]}
    assert trials <= {one["id"] for one in listed}


def test_the_table_has_the_kind(env: Env, piped: JobRecord) -> None:
    (line,) = [line for line in run("jobs", env=env).out.splitlines() if piped.job_id in line]
    assert "training pipeline" in line


def test_trials_stand_below_their_tuning_job(env: Env, tuned: JobRecord) -> None:
    lines = run("jobs", "--kind", "tuning-job", "--all", env=env).out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(tuned.job_id))
    trials = [f"  {one['customJob'].rpartition('/')[2]}" for one in tuned.wire["trials"]]
    assert [line[: len(trials[0])].rstrip() for line in lines[at + 1 : at + 3]] == trials


def test_the_job_of_a_pipeline_names_it(env: Env, piped: JobRecord) -> None:
    owners = {one["owner"] for one in run("jobs", "--kind", "custom-job", "--json", env=env).json["jobs"]}
    assert piped.name in owners


@pytest.mark.parametrize("by", ["id", "name", "display name"])
def test_a_tuning_job_is_found(env: Env, tuned: JobRecord, by: str) -> None:
    word = {"id": tuned.job_id, "name": tuned.name, "display name": "study"}[by]
    assert run("status", word, "--json", env=env).json["name"] == tuned.name


def test_the_trials_of_a_tuning_job(env: Env, tuned: JobRecord) -> None:
    trials = document_of(env, tuned)["trials"]
    assert [(one["state"], one["parameters"], one["metrics"]) for one in trials] == [
        ("SUCCEEDED", {"x": 1.0}, {"score": 1.0}),
        ("SUCCEEDED", {"x": 2.0}, {"score": 2.0}),
    ]


def test_the_best_trial(env: Env, tuned: JobRecord) -> None:
    assert document_of(env, tuned)["bestTrial"] == "2"


def test_the_table_of_trials_has_a_column_for_each_parameter_and_metric(env: Env, tuned: JobRecord) -> None:
    lines = run("status", tuned.job_id, env=env).out.splitlines()
    (heading,) = [line for line in lines if line.startswith("TRIAL")]
    assert heading.split() == ["TRIAL", "STATE", "x", "score", "JOB"]


def test_the_best_trial_in_words(env: Env, tuned: JobRecord) -> None:
    assert "Best:     trial 2: score 2" in run("status", tuned.job_id, env=env).out.splitlines()


def test_the_log_of_a_tuning_job_is_that_of_its_trials(env: Env, tuned: JobRecord) -> None:
    lines = run("logs", tuned.job_id, env=env).out.splitlines()
    spoken = [line for line in lines if "x is" in line]
    assert [re.split(r" +\| ", line) for line in spoken] == [
        ["trial-1/workerpool0-0", "x is 1.0"],
        ["trial-2/workerpool0-0", "x is 2.0"],
    ]


def test_the_log_of_one_trial(env: Env, tuned: JobRecord) -> None:
    printed = run("logs", tuned.job_id, "--task", "trial-2/workerpool0-0", "--json", env=env)
    assert {json.loads(line)["task"] for line in printed.out.splitlines()} == {"trial-2/workerpool0-0"}


def test_a_task_of_no_trial(env: Env, tuned: JobRecord) -> None:
    printed = run("logs", tuned.job_id, "--task", "trial-9/workerpool0-0", env=env)
    assert (printed.code, "Did you mean" in printed.err) == (2, True)


def test_a_log_that_is_followed_shows_trials_that_begin_later(env: Env, endpoint: Endpoint) -> None:
    tuning_jobs.GATEWAY.create(endpoint, study(name="followed"))
    printed = run("logs", "followed", "--follow", env=env)
    assert [line.split("|")[1] for line in printed.out.splitlines() if "x is" in line] == [
        " x is 1.0",
        " x is 2.0",
    ]


def test_the_job_that_a_pipeline_runs(env: Env, endpoint: Endpoint, piped: JobRecord) -> None:
    backing = document_of(env, piped)["backingJob"]
    assert custom_jobs.get(endpoint, backing).state.word == "SUCCEEDED"


def test_the_state_of_a_pipeline_is_in_its_own_words(env: Env, piped: JobRecord) -> None:
    assert document_of(env, piped)["state"] == "PIPELINE_STATE_SUCCEEDED"


def test_the_replicas_of_a_pipeline_are_those_of_its_job(env: Env, piped: JobRecord) -> None:
    assert [one["name"] for one in document_of(env, piped)["replicas"]] == ["workerpool0-0"]


def test_the_log_of_a_pipeline_is_that_of_its_job(env: Env, piped: JobRecord) -> None:
    assert "workerpool0-0 | in the pipeline" in run("logs", piped.job_id, env=env).out.splitlines()


@pytest.mark.parametrize("kind", ["tuning job", "training pipeline"])
def test_cancel(env: Env, endpoint: Endpoint, kind: str) -> None:
    gateway, wire = {
        "tuning job": (tuning_jobs.GATEWAY, study(SLEEP, name="endless")),
        "training pipeline": (training_pipelines.GATEWAY, pipeline(SLEEP, name="endless")),
    }[kind]
    created = gateway.create(endpoint, wire)
    cancelled = run("cancel", created.job_id, env=env)
    assert (cancelled.code, cancelled.err) == (0, "")
    assert ended(endpoint, gateway, created.name).state.word == "CANCELLED"


def test_the_last_lines_of_a_failed_pipeline_are_those_of_its_job(env: Env, endpoint: Endpoint) -> None:
    wire = pipeline("raise SystemExit('no flowers')", name="broken")
    created = training_pipelines.GATEWAY.create(endpoint, wire)
    record = ended(endpoint, training_pipelines.GATEWAY, created.name)
    assert "no flowers" in "\n".join(document_of(env, record)["diagnosis"]["lines"])


def test_a_name_of_another_collection_is_refused(env: Env) -> None:
    printed = run("status", "projects/p/locations/l/endpoints/1", env=env)
    assert (printed.code, "is not a job name" in printed.err) == (2, True)


@pytest.mark.parametrize(
    ("which", "heading"),
    [("tuned", "status of a tuning job"), ("piped", "status of a training pipeline")],
)
def test_the_page_has_every_key_of_status(
    env: Env, which: str, heading: str, request: pytest.FixtureRequest
) -> None:
    document = document_of(env, request.getfixturevalue(which))
    found, own = set(_paths(document)), json_schema.keys(heading)
    assert (own - found, found - own - json_schema.keys("status")) == (set(), set())
    json_schema.check(heading, document)


@pytest.mark.parametrize("which", ["tuned", "piped"])
def test_import_prints_python_that_parses(env: Env, which: str, request: pytest.FixtureRequest) -> None:
    record = request.getfixturevalue(which)
    python = run("import", record.job_id, "--json", env=env).json["python"]
    (call,) = [node for node in ast.walk(ast.parse(python)) if isinstance(node, ast.Call)][:1]
    assert (
        ast.unparse(call.func)
        == {
            "tuned": "vt.HyperparameterTuningJob",
            "piped": "vt.TrainingPipeline",
        }[which]
    )


@pytest.mark.parametrize("which", ["tuned", "piped"])
def test_what_import_prints_is_what_is_there(env: Env, which: str, request: pytest.FixtureRequest) -> None:
    record = request.getfixturevalue(which)
    kind: Any = {"tuned": TUNING_JOB, "piped": PIPELINE}[which]
    declared = kind.from_wire(run("import", record.job_id, "--json", env=env).json["spec"])
    assert kind.difference_to_adopt(declared, record.wire) == ()


def _paths(document: dict[str, Any]) -> Iterator[str]:
    """Yield the keys, also those in lists of mappings, except within messages of the API."""
    for key, value in document.items():
        yield key
        if isinstance(value, list):
            yield from (f"{key}[].{below}" for one in value for below in one)


@pytest.mark.parametrize("which", ["tuned", "piped"])
def test_explain_and_diff_read_what_the_service_answers(
    env: Env, which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    record: JobRecord = request.getfixturevalue(which)
    answer, declared = tmp_path / "answer.json", tmp_path / "declared.json"
    answer.write_text(json.dumps(record.wire))
    made = {"tuned": study(), "piped": pipeline("print('in the pipeline')")}[which]
    declared.write_text(json.dumps(made))
    explained = run("explain", str(answer), "--json", env=env).json
    assert [(replica["name"], explained["errors"]) for replica in explained["replicas"]] == [
        ("workerpool0-0", [])
    ]
    for old, new in ((answer, declared), (declared, answer)):
        assert run("diff", str(old), str(new), "--json", env=env).json["effect"] == "none"


def test_jobs_of_this_file_are_custom_jobs_too(env: Env, endpoint: Endpoint) -> None:
    created = custom_jobs.create(endpoint, job("plain", "pass"))
    assert document_of(env, created)["kind"] == "custom job"


def test_gc_deletes_a_tuning_job_that_is_named(env: Env, endpoint: Endpoint) -> None:
    marks = {"vertex-training-run": "feed-1", "vertex-training-spec": "v1-0"}
    created = tuning_jobs.GATEWAY.create(endpoint, study(SLEEP, name="left", labels=marks))
    backend = f"file://{env['HOME']}"
    ended_with = run("gc", "--yes", "--json", "--backend", backend, created.job_id, env=env)
    assert ended_with.code == 0, ended_with
    (one,) = ended_with.json["jobs"]
    assert (one["name"], one["deleted"]) == (created.name, True)
    assert created.job_id not in {job["id"] for job in run("jobs", "--json", env=env).json["jobs"]}
