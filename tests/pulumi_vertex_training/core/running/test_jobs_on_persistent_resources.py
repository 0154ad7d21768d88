"""Jobs of every kind on a persistent resource of the program are checked against its pools."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from pulumi_vertex_training.core.running.declaration import JobResourceType, declared_in
from support.client.hashes import hash_of
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.problems import Problem

PROGRAM = """
import json, os
import pulumi
from pulumi.runtime import mocks

class Mocks(mocks.Mocks):
    def new_resource(self, args):
        inputs = {name: value for name, value in args.inputs.items() if name != "__provider"}
        os.write(1, (json.dumps([args.name, inputs], default=str) + chr(10)).encode())
        return [args.name, args.inputs]

    def call(self, args):
        return {}

mocks.set_mocks(Mocks(), project="p", stack="s", preview=True)
import pulumi_vertex_training as vt

POOL = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1,
        "container_spec": {"image_uri": "repo/trainer:1"}}
JOB = {"worker_pool_specs": [POOL]}
STUDY = {"metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}], "parameters": []}
TUNING = {"study_spec": STUDY, "max_trial_count": 9, "parallel_trial_count": 3}

def declare():
    on = vt.PersistentResource(
        "gpus", persistent_resource_id="gpus",
        resource_pools=[{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}],
    )
    place = {"project": "my-project", "location": "us-central1", "staging_bucket": "staging"}
    tune, pipe = vt.HyperparameterTuningJob, vt.TrainingPipeline
    vt.CustomJob("job", **JOB, persistent_resource=on, **place)
    tune("tuning", **TUNING, trial_job_spec=JOB, persistent_resource=on, **place)
    tune("tuning-by-id", **TUNING, trial_job_spec={**JOB, "persistentResourceId": on}, **place)
    tune("tuning-typed", **TUNING, **place,
         trial_job_spec=vt.TrialJobSpecArgs(worker_pool_specs=[POOL], persistent_resource_id=on))
    tune("tuning-output", **TUNING, persistent_resource=on, **place,
         trial_job_spec=pulumi.Output.from_input(JOB))
    tune("tuning-elsewhere", **TUNING, trial_job_spec={**JOB, "persistent_resource_id": "other"}, **place)
    pipe("pipeline", custom_task=JOB, persistent_resource=on, **place)
    pipe("pipeline-by-id", custom_task=vt.task_from_image("i", persistent_resource_id=on), **place)
    pipe("pipeline-tuning", tuning_task={**TUNING, "trial_job_spec": JOB}, persistent_resource=on, **place)
    pipe("pipeline-tuning-by-id", **place,
         tuning_task={**TUNING, "trialJobSpec": {**JOB, "persistent_resource_id": on}})
    pipe("pipeline-tuning-output", persistent_resource=on, **place,
         tuning_task=pulumi.Output.from_input({**TUNING, "trial_job_spec": JOB}))
    for wrong in ("a text", [1], 5):
        for name, value in (("plain", wrong), ("output", pulumi.Output.from_input(wrong))):
            at = f"wrong {type(wrong).__name__} {name}"
            tune(f"{at} trial", **TUNING, trial_job_spec=value, persistent_resource=on, **place)
            pipe(f"{at} custom", custom_task=value, persistent_resource=on, **place)
            pipe(f"{at} tuning", tuning_task=value, persistent_resource=on, **place)

pulumi.runtime.test(declare)()
"""

PARTS = {
    "job": None,
    "tuning": "trial_job_spec",
    "tuning-by-id": "trial_job_spec",
    "tuning-typed": "trial_job_spec",
    "tuning-output": "trial_job_spec",
    "pipeline": "custom_task",
    "pipeline-by-id": "custom_task",
    "pipeline-tuning": "tuning_task.trial_job_spec",
    "pipeline-tuning-by-id": "tuning_task.trial_job_spec",
    "pipeline-tuning-output": "tuning_task.trial_job_spec",
}


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the inputs of every resource of the program, by its name."""
    folder = tmp_path_factory.mktemp("program")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return dict(lines)


def _at(inputs: Any, path: str | None) -> Any:
    for key in path.split(".") if path else ():
        inputs = inputs.get(key) or inputs[key.replace("trial_job_spec", "trialJobSpec")]
    return inputs


@pytest.mark.parametrize("name", PARTS)
def test_what_runs_has_the_id_of_the_resource(registered: dict[str, Any], name: str) -> None:
    assert _at(registered[name], PARTS[name])["persistent_resource_id"] == "gpus"


@pytest.mark.parametrize("name", PARTS)
def test_the_check_gets_the_pools(registered: dict[str, Any], name: str) -> None:
    declared = registered[name]["persistent_resource"]
    assert [pool["replica_count"] for pool in declared["resource_pools"]] == [2]


@pytest.mark.parametrize("form", ["plain", "output"])
@pytest.mark.parametrize(
    ("what", "field"), [("trial", "trial_job_spec"), ("custom", "custom_task"), ("tuning", "tuning_task")]
)
def test_what_is_no_task_is_left_to_the_check(
    registered: dict[str, Any], form: str, what: str, field: str
) -> None:
    given = [registered[f"wrong {kind} {form} {what}"][field] for kind in ("str", "list", "int")]
    assert given == ["a text", [1], 5]


def test_of_a_resource_that_the_program_does_not_declare_nothing_is_known(registered: dict[str, Any]) -> None:
    inputs = registered["tuning-elsewhere"]
    assert inputs["trial_job_spec"]["persistent_resource_id"] == "other"
    assert "persistent_resource" not in inputs


MACHINES = {"resource_pools": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}]}
POOL = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
STUDY = {
    "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameter_id": "rate", "double_value_spec": {"min_value": 0.1, "max_value": 1}}],
}
TUNING = declared_in("hyperparameterTuningJobs")
PIPELINE = declared_in("trainingPipelines")
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
NETWORK = "projects/1/global/networks/n"
TRIALS = {"max_trial_count": 9, "parallel_trial_count": 2, "study_spec": STUDY}


def job(**more: Any) -> dict[str, Any]:
    pool = {**POOL, "container_spec": {"image_uri": "repo/trainer:1"}, **more.pop("pool", {})}
    return {"worker_pool_specs": [pool], "persistent_resource_id": "gpus", **more}


def tuning(parallel: Any = 2, *, resource: Any = None, key: Any = None, **more: Any) -> dict[str, Any]:
    trials = {**TRIALS, "parallel_trial_count": parallel, "trial_job_spec": job(**more)}
    return inputs(resource, key, **trials)


def custom_task(*, resource: Any = None, key: Any = None, **more: Any) -> dict[str, Any]:
    return inputs(resource, key, custom_task=job(**more))


def tuning_task(parallel: Any = 2, *, resource: Any = None, **more: Any) -> dict[str, Any]:
    task = {**TRIALS, "parallel_trial_count": parallel, "trial_job_spec": job(**more)}
    return inputs(resource, None, tuning_task=task)


def inputs(resource: Any, key: Any, **spec: Any) -> dict[str, Any]:
    return {
        "display_name": "digits",
        **spec,
        "encryption_spec": {"kms_key_name": key} if key else None,
        "persistent_resource": {**MACHINES, **(resource or {})},
        "endpoint": "google",
        "project": "my-project",
        "location": "us-central1",
        "staging_bucket": "staging",
    }


def found(declared: JobResourceType, props: dict[str, Any]) -> list[Problem]:
    return [
        problem
        for problem in declared.decode_inputs(props).problems
        if problem.rule.startswith(("resource-pool-", "persistent-resource-"))
    ]


TRIAL = "trial_job_spec"
CASES = [
    pytest.param(TUNING, tuning(), [], id="trials that fit"),
    pytest.param(
        TUNING,
        tuning(pool={"machine_spec": {"machine_type": "n1-standard-8"}}),
        [("resource-pool-machine", f"{TRIAL}.worker_pool_specs[0].machine_spec", "error")],
        id="trials on other machines",
    ),
    pytest.param(
        TUNING,
        tuning(1, pool={"disk_spec": {"boot_disk_size_gb": 200}}),
        [("resource-pool-machine", f"{TRIAL}.worker_pool_specs[0].machine_spec", "error")],
        id="trials with another disk",
    ),
    pytest.param(
        TUNING,
        tuning(resource={"network": NETWORK}),
        [("persistent-resource-network", f"{TRIAL}.network", "error")],
        id="trials without the network",
    ),
    pytest.param(
        TUNING,
        tuning(key=KEY),
        [("persistent-resource-key", "encryption_spec.kms_key_name", "error")],
        id="a key stands beside the trials",
    ),
    pytest.param(
        TUNING,
        tuning(
            resource={
                "resource_runtime_spec": {"service_account_spec": {"enable_custom_service_account": True}}
            }
        ),
        [("persistent-resource-service-account", f"{TRIAL}.service_account", "error")],
        id="trials without the account",
    ),
    pytest.param(
        TUNING,
        tuning(3),
        [("persistent-resource-trials", "parallel_trial_count", "warning")],
        id="a trial too many at a time",
    ),
    pytest.param(
        TUNING,
        tuning(
            3,
            resource={
                "resource_pools": [
                    {
                        **MACHINES["resource_pools"][0],
                        "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 3},
                    }
                ]
            },
        ),
        [],
        id="trials in what it may grow to",
    ),
    pytest.param(PIPELINE, custom_task(), [], id="a custom task that fits"),
    pytest.param(
        PIPELINE,
        custom_task(pool={"machine_spec": {"machine_type": "n1-standard-8"}}),
        [("resource-pool-machine", "custom_task.worker_pool_specs[0].machine_spec", "error")],
        id="a custom task on other machines",
    ),
    pytest.param(
        PIPELINE,
        custom_task(resource={"network": NETWORK}),
        [("persistent-resource-network", "custom_task.network", "error")],
        id="a custom task without the network",
    ),
    pytest.param(
        PIPELINE,
        custom_task(resource={"encryption_spec": {"kms_key_name": KEY}}),
        [("persistent-resource-key", "encryption_spec.kms_key_name", "error")],
        id="a pipeline without the key",
    ),
    pytest.param(
        PIPELINE,
        tuning_task(pool={"machine_spec": {"machine_type": "n1-standard-8"}}),
        [("resource-pool-machine", f"tuning_task.{TRIAL}.worker_pool_specs[0].machine_spec", "error")],
        id="a tuning task on other machines",
    ),
    pytest.param(
        PIPELINE,
        tuning_task(3),
        [("persistent-resource-trials", "tuning_task.parallel_trial_count", "warning")],
        id="a tuning task with a trial too many at a time",
    ),
]


@pytest.mark.parametrize(("declared", "props", "wanted"), CASES)
def test_what_fits_on_it(declared: JobResourceType, props: dict[str, Any], wanted: list[Any]) -> None:
    assert [(one.rule, one.path, one.level) for one in found(declared, props)] == wanted


HIDDEN = [
    pytest.param(TUNING, tuning(UNKNOWN), id="trials at a time"),
    pytest.param(TUNING, tuning(3, pool={"replica_count": UNKNOWN}), id="replicas"),
    pytest.param(TUNING, tuning(3, persistent_resource_id=UNKNOWN), id="the id"),
    pytest.param(TUNING, tuning(3, resource={"resource_pools": UNKNOWN}), id="pools"),
    pytest.param(TUNING, tuning(resource={"network": UNKNOWN}, network=NETWORK), id="network"),
    pytest.param(
        PIPELINE,
        custom_task(pool={"machine_spec": {"machine_type": UNKNOWN}}),
        id="a machine of a custom task",
    ),
    pytest.param(PIPELINE, custom_task(key=KEY, persistent_resource_id=UNKNOWN), id="a pipeline's id"),
]


@pytest.mark.parametrize(("declared", "props"), HIDDEN)
def test_what_is_not_known_yet_breaks_nothing(declared: JobResourceType, props: dict[str, Any]) -> None:
    assert found(declared, props) == []


@pytest.mark.parametrize(
    ("declared", "props"),
    [pytest.param(TUNING, tuning(), id="tuning"), pytest.param(PIPELINE, custom_task(), id="pipeline")],
)
def test_resizing_it_runs_nothing_again(declared: JobResourceType, props: dict[str, Any]) -> None:
    larger = {"resource_pools": [{**MACHINES["resource_pools"][0], "replica_count": 9}]}
    other = {**props, "persistent_resource": larger}
    assert hash_of(declared, props) == hash_of(declared, other)
