"""Schedules made by the engine's real provider process on an emulator whose clock is frozen."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.output import Unknown

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.training_schedule import gateway
from pulumi_vertex_training.kinds.training_schedule.rules import validate
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSpec
from pulumi_vertex_training.providers import TrainingScheduleProvider
from pulumi_vertex_training.runs.gateway import gateway_in
from support.client.plugin import UNKNOWN, PluginProcess
from support.waiting import eventually

SCHEDULE = TrainingScheduleProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
PARENT = "projects/local/locations/us-central1"
SLEEP = ["python3", "-c", "import time; time.sleep(600)"]
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "python:3.11-slim", "command": SLEEP},
}
STUDY = {
    "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
    "parameters": [
        {
            "parameter_id": "x",
            "double_value_spec": {"min_value": 0.0, "max_value": 1.0},
            "scale_type": "UNIT_LINEAR_SCALE",
        }
    ],
}
BUCKET = {"staging_bucket": "runs"}
JOBS: dict[str, dict[str, Any]] = {
    "customJobs": {"worker_pool_specs": [POOL]},
    "hyperparameterTuningJobs": {
        "study_spec": STUDY,
        "max_trial_count": 1,
        "parallel_trial_count": 1,
        "trial_job_spec": {"worker_pool_specs": [POOL]},
    },
    "trainingPipelines": {"custom_task": {"worker_pool_specs": [POOL]}},
}
PATHS = {
    "customJobs": ("jobSpec",),
    "hyperparameterTuningJobs": ("trialJobSpec",),
    "trainingPipelines": ("trainingTaskInputs",),
}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Iterator[PluginProcess]:
    with PluginProcess(
        tmp_path_factory.mktemp("program"), config={"vertex-training:dataDir": str(data_dir)}
    ) as process:
        yield process


class Cloud:
    """The emulator, with its clock frozen and a bucket."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.post("/_local/clock/freeze", {})
        self.post("/storage/v1/b?project=local", {"name": "runs", "location": "us-central1"})

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return rest.call(self.endpoint, "POST", f"{self.endpoint.vertex_url}{path}", body=body)

    def run(self, name: str) -> None:
        self.post(f"/v1/{name}:run", {})


@pytest.fixture(scope="module")
def cloud(endpoint: Endpoint) -> Cloud:
    return Cloud(endpoint)


def declared(name: str, collection: str = "customJobs", **more: Any) -> dict[str, Any]:
    """Return the inputs that a program sends."""
    job = more.pop("job", {**JOBS[collection], **BUCKET})
    return {
        "schedule_id": name,
        "schedule": "0 3 1 1 *",
        "job": "train",
        "collection": collection,
        "parent": PARENT,
        "request": {"declaration": {**job, **PLACE}},
        "paused": True,
        "marks": {"project": "p", "stack": "s", "resource": name},
        "__key": f"0123456789abcdef-{zlib.crc32(name.encode()):08x}",  # its own: inner jobs have labels, too
        **PLACE,
        **more,
    }


def create(plugin: PluginProcess, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    checked, failures = plugin.check(SCHEDULE, inputs)
    assert failures == {}
    return plugin.create(SCHEDULE, checked)


@pytest.mark.parametrize("collection", JOBS)
def test_every_kind_of_job_is_submitted_each_time(
    plugin: PluginProcess, cloud: Cloud, collection: str
) -> None:
    label = f"kind-{collection.lower()}"
    name, _ = create(plugin, declared(label, collection))
    for _ in range(2):
        cloud.run(name)
    jobs = gateway_in(collection)

    def live() -> list[Any]:
        found = jobs.list_by_label(cloud.endpoint, {"pulumi-resource": label})
        return found if len(found) == 2 else []

    for one in eventually(live):
        assert one.display_name == "train"
        spec: Any = one.wire
        for key in PATHS[collection]:
            spec = spec[key]
        assert spec["baseOutputDirectory"]["outputUriPrefix"] == f"gs://runs/{label}/"
        jobs.cancel(cloud.endpoint, one.name)


@pytest.mark.parametrize("collection", JOBS)
def test_deleting_a_schedule_deletes_its_runs_on_demand(
    plugin: PluginProcess, cloud: Cloud, data_dir: Path, tmp_path: Path, collection: str
) -> None:
    label, jobs = f"gone-{collection.lower()}", gateway_in(collection)
    name, made = create(plugin, declared(label, collection, on_delete="delete"))
    other, kept = create(plugin, declared(f"{label}-kept", collection))
    for one in (name, other):
        cloud.run(one)

    def runs(of: str) -> list[Any]:
        return list(jobs.list_by_label(cloud.endpoint, {"pulumi-resource": of}))

    eventually(lambda: runs(label) and runs(f"{label}-kept"))
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as destroying:
        destroying.delete(SCHEDULE, name, made)
        assert runs(label) == []
        destroying.delete(SCHEDULE, name, made)  # after a kill, nothing has to exist
        destroying.delete(SCHEDULE, other, kept)
    (run,) = runs(f"{label}-kept")
    assert not run.state.is_terminal
    jobs.cancel(cloud.endpoint, run.name)


def test_a_replaced_schedule_keeps_its_runs(plugin: PluginProcess, cloud: Cloud) -> None:
    name, made = create(plugin, declared("moving", on_delete="delete"))
    cloud.run(name)
    jobs = gateway_in("customJobs")
    (run,) = eventually(lambda: jobs.list_by_label(cloud.endpoint, {"pulumi-resource": "moving"}))
    elsewhere, _ = plugin.check(SCHEDULE, declared("moving", location="europe-west4", on_delete="delete"))
    assert plugin.diff(SCHEDULE, made, elsewhere)[1] == ["location"]
    plugin.create(SCHEDULE, elsewhere)
    plugin.delete(SCHEDULE, name, made)
    assert not jobs.get(cloud.endpoint, run.name).state.is_terminal
    jobs.cancel(cloud.endpoint, run.name)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("skip", "give the job a timeout below the time between two runs"),
        ("cancel", "give the job a timeout below the time between two runs"),
        ("queue", "run the job on a persistent resource with the machines of one run"),
        ("alow", "did you mean allow"),
    ],
)
def test_a_policy_that_needs_to_know_live_runs_is_refused(
    plugin: PluginProcess, policy: str, words: str
) -> None:
    _, failures = plugin.check(SCHEDULE, declared("depends", overlap=policy))
    assert words in failures["overlap"]


def test_a_directory_by_the_id_of_the_run_is_not_overwritten() -> None:
    def warned(request: dict[str, Any]) -> list[str]:
        spec = ScheduleSpec(
            schedule_id="own", location="us-central1", schedule="0 3 * * *", request=json.dumps(request)
        )
        return [found.path for found in validate(spec, zones=frozenset({spec.time_zone}), on_google=False)]

    fixed = {"baseOutputDirectory": {"outputUriPrefix": "gs://runs/own/"}}
    assert warned({"jobSpec": fixed}) == ["job"]
    assert warned({"jobSpec": {**fixed, "args": ["--out=$(CLOUD_ML_JOB_ID)"]}}) == []
    assert warned({"jobSpec": {}}) == []


def test_a_killed_creation_is_adopted_by_the_same_resource_only(
    plugin: PluginProcess, cloud: Cloud, data_dir: Path, tmp_path: Path
) -> None:
    name, made = create(plugin, declared("begun"))
    before = gateway.get(cloud.endpoint, name)
    again, adopted = create(plugin, declared("begun", schedule="30 4 * * *"))
    assert again == name
    assert adopted["__run"] == made["__run"], "the runs of the killed deployment belong to it"
    after = gateway.get(cloud.endpoint, name)
    assert (before.job["schedule"], after.job["schedule"]) == ("0 3 1 1 *", "30 4 * * *")
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as other:
        with pytest.raises(grpc.RpcError) as refused:
            create(other, declared("begun", __key="fedcba9876543210-01234567"))
        words = str(refused.value.details())  # type: ignore[attr-defined]
        assert words.startswith("Failure: schedule begun already exists in project local, us-central1")
    assert gateway.get(cloud.endpoint, name).job == after.job


def test_what_was_changed_outside_is_read_back(plugin: PluginProcess, cloud: Cloud) -> None:
    name, made = create(plugin, declared("drifting", on_delete="delete"))
    _, outs, inputs = plugin.read(SCHEDULE, name, made)
    assert (outs["name"], inputs["on_delete"], inputs["paused"]) == (name, "delete", True)
    assert inputs["request"] == made["request"]
    gateway.set_paused(cloud.endpoint, gateway.get(cloud.endpoint, name).job, paused=False)
    assert plugin.read(SCHEDULE, name, made)[2]["paused"] is False
    gateway.delete_job(cloud.endpoint, name)
    assert plugin.read(SCHEDULE, name, made)[0] == ""


def test_a_request_has_the_digits_of_its_numbers_and_no_internal_value(plugin: PluginProcess) -> None:
    checked, failures = plugin.check(SCHEDULE, declared("plain"))
    assert failures == {}
    again, _ = plugin.check(SCHEDULE, declared("plain"))
    assert checked == again
    assert set(checked["request"]) == {"displayName", "jobSpec"}
    numbered = declared("plain", job={**JOBS["customJobs"], "display_name": "fit {run}"})
    assert plugin.check(SCHEDULE, numbered)[0]["request"]["displayName"] == "fit scheduled"
    assert checked["name"] == f"{PARENT}/jobs/plain"


def test_on_google_cloud_a_schedule_needs_an_account(plugin: PluginProcess) -> None:
    inputs = declared("there", endpoint="google", project="my-project")
    _, failures = plugin.check(SCHEDULE, inputs)
    (message,) = failures.values()
    assert "a service account submits the runs" in message
    _, failures = plugin.check(SCHEDULE, {**inputs, "service_account": "a@p.iam.gserviceaccount.com"})
    assert failures == {}


def test_the_errors_of_the_job_are_reported_with_their_paths(plugin: PluginProcess) -> None:
    pool = {**POOL, "replica_count": -1, "machine_type": "n1-standard-4"}
    _, failures = plugin.check(SCHEDULE, declared("wrong", job={"worker_pool_specs": [pool]}))
    assert {"job.worker_pool_specs[0].machine_type", "job.worker_pool_specs[0].replica_count"} <= {*failures}


def test_a_request_that_is_not_known_yet_stays_unknown(plugin: PluginProcess) -> None:
    unknown = {**declared("later"), "request": UNKNOWN}
    checked, failures = plugin.check(SCHEDULE, unknown)
    assert failures == {}
    assert isinstance(checked["request"], Unknown)
