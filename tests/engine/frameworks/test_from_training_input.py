"""`from_training_input` on the real engine: a job of AI Platform becomes a `CustomJob`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.environment import ai_platform_environments
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import read_job
from support.client.engine import Engine, Result
from support.waiting import eventually

pytestmark = pytest.mark.slow

LAUNCHED = Path(__file__).parent / "launched"
DOCKERFILE = (
    "FROM python:3.11-slim\nWORKDIR /app\nENV PYTHONPATH=/app\nCOPY . /app\n"
    "COPY --from=vertex_cluster . vertex_cluster\n"
)
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

FOUND = ["python3", "-m", "found"]
RUN = [*FOUND, "--others=4"]

CLUSTER: dict[str, Any] = {
    "jobId": "mxnet_digits",
    "labels": {"team": "vision"},
    "trainingInput": {
        "region": "us-central1",
        "scaleTier": "CUSTOM",
        "masterType": "n1-standard-4",
        "masterConfig": {
            "imageUri": IMAGE,
            "containerCommand": RUN,
            "diskConfig": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200},
        },
        "workerConfig": {"containerCommand": RUN},
        "parameterServerConfig": {"containerCommand": RUN},
        "evaluatorConfig": {"containerCommand": RUN},
        "workerType": "complex_model_m",
        "workerCount": "2",
        "parameterServerType": "n1-standard-4",
        "parameterServerCount": 1,
        "evaluatorType": "n1-standard-4",
        "evaluatorCount": 1,
        "scheduling": {"maxRunningTime": "3600s", "priority": 3},
        "hyperparameters": {"goal": "MAXIMIZE"},
    },
}
ALONE: dict[str, Any] = {
    "scaleTier": "BASIC",
    "masterConfig": {"imageUri": IMAGE, "containerCommand": FOUND},
}
SCHEDULED: dict[str, Any] = {
    "trainingInput": {
        **{name: CLUSTER["trainingInput"][name] for name in ("masterType", "workerType", "scaleTier")},
        "masterConfig": {"imageUri": IMAGE},
        "workerCount": 1,
        "parameterServerType": "n1-standard-4",
        "parameterServerCount": 1,
        "args": FOUND,
    }
}
PACKAGE: dict[str, Any] = {
    "trainingInput": {
        "scaleTier": "STANDARD_1",
        "packageUris": ["gs://my-bucket/trainer.tar.gz"],
        "pythonModule": "trainer.task",
        "runtimeVersion": "2.10",
        "pythonVersion": "3.5",
        "jobDir": "gs://my-bucket/out",
    }
}
REPORT = (
    "import hypertune, sys\n"
    "rate = float(sys.argv[1].removeprefix('--rate='))\n"
    "hypertune.HyperTune().report_hyperparameter_tuning_metric('score', rate, 1)\n"
)
TUNED: dict[str, Any] = {
    "jobId": "tuned",
    "labels": {"team": "vision"},
    "trainingInput": {
        "scaleTier": "BASIC",
        "jobDir": "gs://my-bucket/tuned",
        "masterConfig": {"imageUri": IMAGE, "containerCommand": ["python3", "-c", REPORT]},
        "hyperparameters": {
            "goal": "MINIMIZE",
            "algorithm": "GRID_SEARCH",
            "maxTrials": 2,
            "maxParallelTrials": 2,
            "hyperparameterMetricTag": "score",
            "params": [{"parameterName": "rate", "type": "DISCRETE", "discreteValues": [0.25, 0.5]}],
        },
    },
}
PARAMETERS = [
    {"parameterName": "rate", "type": "DUOBLE"},
    {"parameterName": "depth", "type": "INTEGER", "minValue": 8, "maxValue": 2},
    {"parameterName": "kind", "type": "CATEGORICAL"},
]
WRONGLY_TUNED = {"trainingInput": {**ALONE, "hyperparameters": {"params": PARAMETERS, "maxTrails": 3}}}
WRONG: dict[str, Any] = {
    "trainingInput": {
        "scaleTier": "CUSTOM",
        "workerCount": 2,
        "masterConfig": {"imageUri": IMAGE},
        "pythonVersion": "2.7",
        "runtimeVersion": "9.9",
        "maxWorkers": 3,
    }
}
PROGRAM = f"""
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage("launched", repository=repository, source="launched", vertex_cluster=True)

def job(name, document, framework=None, **options):
    arguments = vt.from_training_input(document, **options)
    for pool in arguments["worker_pool_specs"]:
        if pool:
            pool["container_spec"]["image_uri"] = image.uri
    return vt.CustomJob(name, **arguments, framework=framework, wait="done")

jobs = {{
    "cluster": job("cluster", {CLUSTER!r}, legacy_environment=True),
    "alone": job("alone", {ALONE!r}, legacy_environment=True),
    "scheduled": job("scheduled", {SCHEDULED!r}, framework="mxnet"),
}}
package = vt.from_training_input({PACKAGE!r})
tuned = vt.HyperparameterTuningJob("tuned", **vt.tuning_from_training_input({TUNED!r}), wait="done")
pulumi.export("tuned", [tuned.completion.state, tuned.completion.best_trial, tuned.id])
for name, job in jobs.items():
    pulumi.export(name, [job.state, job.id])
pulumi.export("package", package)
"""
REPLICAS = {"cluster": 5, "alone": 1, "scheduled": 3}


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A deployment of jobs of AI Platform, a preview of it unchanged, and one of a document with mistakes."""

    up: Result
    same: Result
    wrong: Result
    wrongly_tuned: Result
    outputs: dict[str, Any]
    records: dict[str, Mapping[str, Any]]
    found: dict[str, list[dict[str, str]]]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    shutil.copytree(LAUNCHED, engine.folder / "infra" / "launched")
    (engine.folder / "infra" / "launched" / "Dockerfile").write_text(DOCKERFILE)
    engine.write(PROGRAM)
    up = engine.up().ok()
    outputs = engine.outputs()
    records = {name: custom_jobs.GATEWAY.get(engine.endpoint(), outputs[name][1]).wire for name in REPLICAS}
    found = {name: environments_of(engine, outputs[name][1], count) for name, count in REPLICAS.items()}
    same = engine.preview().ok()
    engine.write(f'vt.CustomJob("wrong", **vt.from_training_input({WRONG!r}))\n')
    wrong = engine.preview().failed()
    engine.write(f'vt.HyperparameterTuningJob("wrong", **vt.tuning_from_training_input({WRONGLY_TUNED!r}))\n')
    wrongly_tuned = engine.preview().failed()
    return Steps(
        up=up,
        same=same,
        wrong=wrong,
        wrongly_tuned=wrongly_tuned,
        outputs=outputs,
        records=records,
        found=found,
    )


def environments_of(engine: Engine, job: str, count: int) -> list[dict[str, str]]:
    """Return the variables that the replicas of a job printed, in the order of the pools."""

    def printed() -> list[dict[str, str]]:
        entries = logs.newest(engine.endpoint(), job.rpartition("/")[2], count=200)
        lines = [each.message.partition("found ")[2] for each in entries if each.message.startswith("found ")]
        return [json.loads(line)[1] for line in lines] if len(lines) >= count else []

    return sorted(eventually(printed), key=position)


def position(variables: dict[str, str]) -> tuple[int, int]:
    cluster = vertex_cluster.from_environment(variables)
    return cluster.pool, cluster.index


def values(variables: dict[str, str], name: str) -> Any:
    """Return the JSON of a variable without the id of the machines, which is random."""
    found = json.loads(variables.get(name, "null"))
    if found:
        found["task"].pop("cloud", None)
    return found


def test_the_jobs_run(steps: Steps) -> None:
    assert {name: steps.outputs[name][0] for name in REPLICAS} == dict.fromkeys(REPLICAS, "SUCCEEDED")


def test_the_document_becomes_a_custom_job(steps: Steps) -> None:
    job = steps.records["cluster"]
    spec = job["jobSpec"]
    assert job["displayName"] == "mxnet_digits"
    assert job["labels"]["team"] == "vision"
    assert spec["scheduling"]["timeout"] == "3600s"
    machines = [pool["machineSpec"]["machineType"] for pool in spec["workerPoolSpecs"]]
    assert machines == ["n1-standard-4", "n1-highcpu-16", "n1-standard-4", "n1-standard-4"]
    assert [int(pool["replicaCount"]) for pool in spec["workerPoolSpecs"]] == [1, 2, 1, 1]
    assert spec["workerPoolSpecs"][0]["diskSpec"]["bootDiskSizeGb"] == 200


@pytest.mark.parametrize(("name", "document"), [("cluster", CLUSTER), ("alone", {"trainingInput": ALONE})])
def test_the_replicas_find_what_ai_platform_set(steps: Steps, name: str, document: dict[str, Any]) -> None:
    given = read_job(document).draft
    assert given is not None
    found = steps.found[name]
    master = json.loads(found[0]["CLUSTER_SPEC"])["cluster"]
    addresses = [master.get(kind, []) for kind in ("master", "worker", "ps")]
    evaluators = [["somewhere:2222"] * given.training_input.evaluator_count]
    expected = ai_platform_environments(
        given.training_input,
        job_id="1",
        project_number="1",
        addresses=[*addresses, *evaluators],
    )
    for variables, each in zip(found, expected, strict=True):
        for kind, value in (("CLUSTER_SPEC", each.cluster_spec), ("TF_CONFIG", each.tf_config)):
            there = values(variables, kind)
            wanted = None if value is None else {**value, "task": without_cloud_and_trial(value["task"])}
            assert there == wanted, each.name


def without_cloud_and_trial(task: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in task.items() if name not in ("cloud", "trial")}


def test_a_preset_starts_a_job_of_ai_platform(steps: Steps) -> None:
    roles = [variables["DMLC_ROLE"] for variables in steps.found["scheduled"]]
    assert roles == ["scheduler", "worker", "server"]


def test_a_package_runs_in_the_prebuilt_image(steps: Steps) -> None:
    package = steps.outputs["package"]
    task = package["worker_pool_specs"][0]["python_package_spec"]
    assert task["executor_image_uri"] == "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest"
    assert package["base_output_directory"] == "gs://my-bucket/out/"
    assert [pool.get("replica_count") for pool in package["worker_pool_specs"]] == [1, 4, 3]


def test_everything_that_is_not_kept_is_said(steps: Steps) -> None:
    for word in ("priority", "hyperparameters", "python_version", "job_dir", "scale_tier", "runtime_version"):
        assert f"from_training_input: training_input.{word}" in steps.up.output or (
            f"from_training_input: training_input.scheduling.{word}" in steps.up.output
        ), word


def test_hyperparameters_become_a_tuning_job(steps: Steps) -> None:
    state, best, _ = steps.outputs["tuned"]
    assert state == "SUCCEEDED"
    assert best["parameters"] == {"rate": 0.25}
    assert (best["metric_id"], best["metric"]) == ("score", 0.25)
    assert "tuning_from_training_input: training_input.scale_tier" in steps.up.output
    assert "tuning_from_training_input: training_input.hyperparameters" not in steps.up.output
    assert "vt.tuning_from_training_input(document)" in steps.up.output, "the remedy for a job without them"


def test_every_mistake_of_hyperparameters_is_reported_at_once(steps: Steps) -> None:
    said = steps.wrongly_tuned.output
    for line in (
        "params[0].type: 'DUOBLE'; did you mean DOUBLE?",
        "params[1]",
        "params[2].categorical_values: is empty",
        "max_trails",
    ):
        assert f"tuning_from_training_input: training_input.hyperparameters.{line}" in said, said
    assert "Traceback" not in said


def test_an_unchanged_program_changes_nothing(steps: Steps) -> None:
    assert "to create" not in steps.same.output
    assert "to replace" not in steps.same.output


def test_every_mistake_of_a_document_is_reported_at_once(steps: Steps) -> None:
    said = steps.wrong.output
    for field in ("master_type", "worker_type", "runtime_version", "max_workers"):
        assert f"from_training_input: training_input.{field}" in said
    assert "Traceback" not in said
