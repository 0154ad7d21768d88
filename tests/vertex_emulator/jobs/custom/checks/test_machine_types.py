"""Machine types that Google Cloud does not have are refused in its words, unless somebody knows better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import UNKNOWN_TYPES_HEADER, Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from support.emulated.emulator import Answer, ask
from support.emulated.job_emulator import PARENT, JobEmulator, job, pool
from support.emulated.services.pipelines import DEFINITION, pipeline
from support.emulated.services.tuning import QUICK, tuning_job
from vertex_emulator.services.resource_engine.machine_types import HEADER

NEW = "n9-standard-4"
WORDS = f"Machine type {NEW} is not supported. If Google Cloud has it by now, allow it: "
Wires = Callable[[str], dict[str, Any]]


def of(machine: str, **more: Any) -> dict[str, Any]:
    """Return a pool of that machine."""
    return {**pool("pass"), "machineSpec": {"machineType": machine, **more}}


def tuning_pipeline(machine: str) -> dict[str, Any]:
    wire = tuning_job(of(machine))
    inputs = {key: wire[key] for key in ("studySpec", "trialJobSpec", "maxTrialCount", "parallelTrialCount")}
    definition = DEFINITION.replace("custom_task", "hyperparameter_tuning_task")
    return {"displayName": "t", "trainingTaskDefinition": definition, "trainingTaskInputs": inputs}


KINDS: Mapping[str, tuple[str, str, Wires]] = {
    "custom job": ("customJobs", "job_spec.worker_pool_specs[0]", lambda machine: job(of(machine))),
    "tuning job": (
        "hyperparameterTuningJobs",
        "trial_job_spec.worker_pool_specs[0]",
        lambda machine: tuning_job(of(machine), trials=1),
    ),
    "pipeline": (
        "trainingPipelines",
        "worker_pool_specs[0]",
        lambda machine: pipeline(task={"workerPoolSpecs": [of(machine)]}),
    ),
    "pipeline that tunes": ("trainingPipelines", "trial_job_spec.worker_pool_specs[0]", tuning_pipeline),
    "persistent resource": (
        "persistentResources?persistentResourceId=some",
        "persistent_resource.resource_pools[0]",
        lambda machine: {
            "resourcePools": [{"machineSpec": {"machineType": machine}, "replicaCount": "1"}],
        },
    ),
}


def post(emulator: JobEmulator, kind: str, machine: str, **headers: str) -> Answer:
    collection, _, wire = KINDS[kind]
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    daemon = emulator.daemon
    return ask(daemon, "POST", f"{PARENT}/{collection}", wire(machine), headers=sent)


def allowed(emulator: JobEmulator, value: object) -> Answer:
    return emulator.call("PUT", "/_local/unknown-types", {"allowed": value})


@pytest.fixture
def endpoint(emulator: JobEmulator) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=emulator.daemon.url,
        token=emulator.daemon.token,
        allow_unknown_types=True,
    )


@pytest.fixture
def allowing(idle: JobEmulator) -> Iterator[JobEmulator]:
    allowed(idle, True)
    yield idle
    allowed(idle, False)


@pytest.mark.parity(
    "Custom jobs: machine types",
    own_way="by its catalog, with the service's message; for newer types, `allow_unknown_types` and "
    "`vertex-emulator unknown-types` allow others",
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_type_that_google_does_not_have_is_refused(idle: JobEmulator, kind: str) -> None:
    answer = post(idle, kind, NEW)
    error = answer.json()["error"]
    assert (answer.status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert WORDS in error["message"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_names_the_field(idle: JobEmulator, kind: str) -> None:
    details = post(idle, kind, NEW).json()["error"]["details"]
    (field,) = [each["field"] for one in details for each in one["fieldViolations"]]
    assert field.endswith(f"{KINDS[kind][1]}.machine_spec.machine_type")


@pytest.mark.parametrize("way", ["allow_unknown_types=True", "vertex-emulator unknown-types allow"])
def test_the_error_says_how_to_allow_it(idle: JobEmulator, way: str) -> None:
    assert way in post(idle, "custom job", NEW).json()["error"]["message"]


@pytest.mark.parity("Custom jobs: machine types")
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param("n1-standard-2", id="too small for training"),
        pytest.param("n1-highcpu-8", id="of AI Platform alone"),
        pytest.param("c3-standard-8", id="of Compute Engine alone"),
        pytest.param("big", id="no machine type at all"),
    ],
)
def test_types_that_are_not_for_training(idle: JobEmulator, machine: str) -> None:
    assert f"Machine type {machine} is not supported." in idle.refused(job(of(machine)))["message"]


def test_other_violations_are_reported_with_it(idle: JobEmulator) -> None:
    error = idle.refused({**job(of(NEW)), "displayName": ""})
    fields = [each["field"] for one in error["details"] for each in one["fieldViolations"]]
    assert fields == ["display_name", "job_spec.worker_pool_specs[0].machine_spec.machine_type"]


@pytest.mark.parametrize("machine", ["big", "N1-standard-4"])
def test_what_is_no_type_at_all_is_refused_always(allowing: JobEmulator, machine: str) -> None:
    assert f"Machine type {machine} is not supported." in allowing.refused(job(of(machine)))["message"]


def test_client_and_emulator_mean_the_same_header() -> None:
    assert UNKNOWN_TYPES_HEADER == HEADER


def test_google_gets_no_header() -> None:
    endpoint = Endpoint(kind="google", project="p", location="us-central1", allow_unknown_types=True)
    assert endpoint.headers == {}


def test_the_header_has_to_be_true(idle: JobEmulator) -> None:
    assert post(idle, "custom job", NEW, X_Vertex_Training_Allow_Unknown_Types="false").status == 400


@pytest.mark.parity("Custom jobs: machine types")
def test_a_client_that_knows_better_submits_a_job(emulator: JobEmulator, endpoint: Endpoint) -> None:
    made = custom_jobs.create(endpoint, job(of(NEW)))
    assert emulator.wait(made.name)["state"] == "JOB_STATE_SUCCEEDED"


def test_it_submits_a_tuning_job_whose_trials_run(emulator: JobEmulator, endpoint: Endpoint) -> None:
    machine = {**pool(QUICK), "machineSpec": {"machineType": NEW}}
    made = tuning_jobs.GATEWAY.create(endpoint, tuning_job(machine, trials=1))
    assert emulator.wait(made.name)["state"] == "JOB_STATE_SUCCEEDED"


def test_it_submits_a_pipeline_whose_job_runs(emulator: JobEmulator, endpoint: Endpoint) -> None:
    task = {"workerPoolSpecs": [of(NEW)]}
    made = training_pipelines.GATEWAY.create(endpoint, pipeline(task=task))
    done = emulator.wait(made.name, "PIPELINE_STATE_SUCCEEDED", "PIPELINE_STATE_FAILED")
    assert done["state"] == "PIPELINE_STATE_SUCCEEDED"


def test_it_makes_a_persistent_resource(emulator: JobEmulator, endpoint: Endpoint) -> None:
    wire = KINDS["persistent resource"][2](NEW)
    assert "error" not in persistent_resources.create(endpoint, "some", wire)


def test_it_is_refused_without_the_switch(idle: JobEmulator) -> None:
    daemon = idle.daemon
    plain = Endpoint(
        kind="emulator", project="local", location="us-central1", url=daemon.url, token=daemon.token
    )
    with pytest.raises(InvalidArgument, match="Machine type n9-standard-4 is not supported"):
        custom_jobs.create(plain, job(of(NEW)))


@pytest.mark.parity("Custom jobs: machine types")
def test_the_setting_allows_it_to_all_clients(emulator: JobEmulator) -> None:
    allowed(emulator, True)
    assert emulator.wait(emulator.create(of(NEW)))["state"] == "JOB_STATE_SUCCEEDED"


def test_the_setting_is_shown(allowing: JobEmulator) -> None:
    assert allowing.call("GET", "/_local/unknown-types").json() == {"allowed": True}


def test_a_reset_forgets_the_setting(emulator: JobEmulator) -> None:
    allowed(emulator, True)
    assert emulator.call("POST", "/_local/reset", {}).status == 200
    assert emulator.call("GET", "/_local/unknown-types").json() == {"allowed": False}


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_a_setting_that_is_neither(idle: JobEmulator, value: object) -> None:
    assert allowed(idle, value).json()["error"]["message"] == "allowed must be true or false."
