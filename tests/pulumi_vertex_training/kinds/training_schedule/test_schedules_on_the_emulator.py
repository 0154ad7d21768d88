"""Schedules made by the engine's real provider process on an emulator whose clock is frozen."""

from __future__ import annotations

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

    def executions(self, name: str) -> list[dict[str, Any]]:
        """Return the executions of the schedule's workflow, oldest first."""
        url = f"{self.endpoint.vertex_url}/v1/{gateway.workflow_name(name)}/executions"
        found = rest.call(self.endpoint, "GET", url, query={"view": "FULL"}).get("executions", [])
        return list(reversed(found))

    def ended(self, name: str, count: int) -> list[str]:
        """Let time pass until that many executions have ended. Return their results, in no order."""

        def done() -> list[dict[str, Any]]:
            self.post("/_local/clock/advance", {"seconds": 61})
            found = [one for one in self.executions(name) if "endTime" in one]
            return found if len(found) >= count else []

        found = eventually(done, what=lambda: self.executions(name))
        return [str(one.get("result") or one["error"]) for one in found]


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
def test_every_kind_of_job_runs_in_a_directory_of_its_own(
    plugin: PluginProcess, cloud: Cloud, collection: str
) -> None:
    label = f"kind-{collection.lower()}"
    name, _ = create(plugin, declared(label, collection))
    for _ in range(2):
        cloud.run(name)  # at the same time: one of the two executions submits
    jobs = gateway_in(collection)

    def live() -> list[Any]:
        return jobs.list_by_label(cloud.endpoint, {"pulumi-resource": label})

    (first,) = eventually(live, what=lambda: cloud.executions(name))
    skipped, submitted = sorted(cloud.ended(name, 2), key=lambda result: "skipped" not in result)
    assert "skipped" in skipped
    assert submitted == f'"{first.name}"'
    assert first.display_name == "train"
    spec: Any = first.wire
    for key in PATHS[collection]:
        spec = spec[key]
    assert spec["baseOutputDirectory"]["outputUriPrefix"].startswith(f"gs://runs/{label}/20")
    jobs.cancel(cloud.endpoint, first.name)


def test_queued_runs_start_one_after_the_other(plugin: PluginProcess, cloud: Cloud) -> None:
    jobs = gateway_in("customJobs")
    name, _ = create(plugin, declared("queued", overlap="queue"))

    def live() -> list[Any]:
        return jobs.list_live(cloud.endpoint, labels={"pulumi-resource": "queued"})

    cloud.run(name)
    (first,) = eventually(live)
    for _ in range(2):
        cloud.run(name)
    eventually(lambda: len(cloud.executions(name)) == 3)
    waiting = [one["name"] for one in cloud.executions(name)]
    assert [one.name for one in live()] == [first.name]
    for count in (2, 3):
        for one in live():
            jobs.cancel(cloud.endpoint, one.name)
        cloud.ended(name, count)
        (now,) = eventually(live)
        assert now.name in str(cloud.executions(name)[count - 1].get("result"))
    assert [one["name"] for one in cloud.executions(name)] == waiting


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
        for policy in ("skip", "allow"):
            theirs = declared("begun", overlap=policy, __key="fedcba9876543210-01234567")
            with pytest.raises(grpc.RpcError) as refused:
                create(other, theirs)
            words = str(refused.value.details())  # type: ignore[attr-defined]
            assert words.startswith("Failure: schedule begun already exists in project local, us-central1")
    assert gateway.get(cloud.endpoint, name).job == after.job


def test_what_was_changed_outside_is_read_back(plugin: PluginProcess, cloud: Cloud) -> None:
    name, made = create(plugin, declared("drifting", overlap="queue"))
    _, outs, inputs = plugin.read(SCHEDULE, name, made)
    assert (outs["drift"], inputs["overlap"], inputs["paused"]) == ([], "queue", True)
    assert inputs["request"] == made["request"]
    gateway.set_paused(cloud.endpoint, gateway.get_job(cloud.endpoint, name), paused=False)
    gateway.delete_workflow(cloud.endpoint, gateway.workflow_name(name))
    _, outs, inputs = plugin.read(SCHEDULE, name, made)
    assert (outs["drift"], inputs["paused"]) == (["its workflow was deleted"], False)
    gateway.delete_job(cloud.endpoint, name)
    assert plugin.read(SCHEDULE, name, made)[0] == ""


def test_a_changed_policy_makes_and_removes_the_workflow(plugin: PluginProcess, cloud: Cloud) -> None:
    job = {**JOBS["customJobs"], "base_output_directory": "gs://runs/fixed/"}
    direct = declared("policies", job=job, overlap="allow")
    name, made = create(plugin, direct)
    assert made["workflow"] == ""
    skipping, _ = plugin.check(SCHEDULE, declared("policies", job=job, overlap="skip"))
    assert plugin.diff(SCHEDULE, made, skipping) == (True, [])
    updated = plugin.update(SCHEDULE, name, made, skipping)
    assert gateway.get(cloud.endpoint, name).workflow is not None
    assert updated["workflow"] == gateway.workflow_name(name)
    again, _ = plugin.check(SCHEDULE, direct)
    plugin.update(SCHEDULE, name, updated, again)
    assert gateway.find_workflow(cloud.endpoint, gateway.workflow_name(name)) is None
    plugin.delete(SCHEDULE, name, made)
    plugin.delete(SCHEDULE, name, made)  # after a kill, neither has to exist


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
    assert all(isinstance(checked[name], Unknown) for name in ("request", "own_directory", "workflow"))
