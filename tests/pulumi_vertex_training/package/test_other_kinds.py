"""The plugin over gRPC, without an engine: machines, images, models and schedules on an emulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.persistent_resource import gateway as machines
from pulumi_vertex_training.kinds.persistent_resource.gateway import READINESS
from pulumi_vertex_training.kinds.training_schedule import gateway as schedules
from pulumi_vertex_training.package import adapter, functions
from pulumi_vertex_training.package.kinds import kind_of
from pulumi_vertex_training.package.waits.ready_wait import ReadyOptions, ReadyWait
from pulumi_vertex_training.package.wire.messages import in_package
from pulumi_vertex_training.package.wire.properties import Properties
from support.client.package_process import BUCKET, PackageProcess, urn_of
from vertex_training.fields.decode import UNKNOWN

MACHINES = "vertex-training:index:PersistentResource"
IMAGE = "vertex-training:index:TrainingImage"
MODEL = "vertex-training:index:Model"
SCHEDULE = "vertex-training:index:TrainingSchedule"
REPOSITORY = "vertex-training:index:ImageRepository"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-5:latest"
TRAINING = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"


@pytest.fixture(scope="module")
def plugin(data_dir: Path) -> Iterator[PackageProcess]:
    with PackageProcess({"endpoint": "emulator", "dataDir": str(data_dir)}) as process:
        yield process


@pytest.fixture(scope="module")
def destroying(data_dir: Path) -> Iterator[PackageProcess]:
    """Yield the plugin of another deployment: a process deletes nothing that it has created."""
    with PackageProcess({"endpoint": "emulator", "dataDir": str(data_dir)}) as process:
        yield process


@dataclass
class Life:
    """A resource of a kind, from its creation to its deletion."""

    plugin: PackageProcess
    token: str
    name: str
    news: dict[str, Any]
    id: str = ""
    inputs: Properties = field(default_factory=Properties)
    outputs: dict[str, Any] = field(default_factory=dict)

    def check(self, **changes: Any) -> Properties:
        news = {**self.news, **changes}
        inputs, reasons = self.plugin.check(self.token, self.name, news, self.inputs.values)
        assert not reasons
        return inputs

    def create(self) -> None:
        self.inputs = self.check()
        self.previewed = self.plugin.create(self.token, self.name, self.inputs, preview=True)[1].values
        self.id, outputs = self.plugin.create(self.token, self.name, self.inputs)
        self.outputs = outputs.values
        assert self.diff() == ("NONE", {})
        id_, read, inputs = self.plugin.read(self.token, self.name, self.id, self.outputs)
        assert id_ == self.id
        assert self.diff(outputs=read) == ("NONE", {})
        assert not set(inputs) - set(self.inputs.values)

    def diff(self, outputs: Mapping[str, Any] | None = None, **changes: Any) -> tuple[str, dict[str, str]]:
        recorded = self.outputs if outputs is None else outputs
        return self.plugin.diff(self.token, self.name, recorded, self.check(**changes).values, id_=self.id)

    def update(self, **changes: Any) -> dict[str, str]:
        """Change the resource in place. Return the changes of the plan."""
        _, found = self.diff(**changes)
        inputs = self.check(**changes)
        self.plugin.update(self.token, self.name, self.outputs, inputs.values, id_=self.id, preview=True)
        self.outputs = self.plugin.update(self.token, self.name, self.outputs, inputs.values, id_=self.id)
        self.news |= changes
        self.inputs = inputs
        assert self.diff() == ("NONE", {})
        return found

    def imported(self, asked: str) -> dict[str, Any]:
        """Import what was created. Return the inputs, with which nothing changes."""
        id_, live, inputs = self.plugin.read(self.token, self.name, asked)
        assert id_ == self.id
        checked, reasons = self.plugin.check(self.token, self.name, inputs, inputs)
        assert not reasons
        assert self.plugin.diff(self.token, self.name, live, checked.values, id_=id_) == ("NONE", {})
        with pytest.raises(grpc.RpcError, match=r"belongs to .*which may still change or delete it"):
            self.plugin.read(self.token, "of-another-declaration", asked)
        return inputs

    def delete(self, destroying: PackageProcess) -> None:
        destroying.delete(self.token, self.name, self.id, self.outputs)
        assert destroying.read(self.token, self.name, self.id, self.outputs)[0] == ""


def pool(count: int, **more: Any) -> dict[str, Any]:
    return {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": count, **more}


def test_machines_are_waited_for(
    plugin: PackageProcess, destroying: PackageProcess, endpoint: Endpoint
) -> None:
    life = Life(plugin, MACHINES, "gpus", {"resourcePools": [pool(1)], "labels": {"my_team": "a"}})
    life.create()
    assert (life.outputs["state"], life.previewed["state"]) == ("RUNNING", UNKNOWN)
    assert life.previewed["persistentResourceId"] == life.outputs["persistentResourceId"] == "digits-dev-gpus"
    assert life.update(resourcePools=[pool(2)]) == {"resourcePools[0].replicaCount": "UPDATE"}
    assert life.outputs["state"] == "RUNNING"
    assert life.diff(resourcePools=[pool(2, diskSpec={"bootDiskSizeGb": 200})]) == (
        "SOME",
        {"resourcePools[0].diskSpec.bootDiskSizeGb": "UPDATE_REPLACE"},
    )
    imported = life.imported("digits-dev-gpus")
    assert imported.pop("resourcePools") == [{**pool(2), "id": "n1-standard-4"}]
    assert imported == {"persistentResourceId": "digits-dev-gpus", "labels": {"my_team": "a"}}
    there, _ = plugin.invoke("getPersistentResource", {"persistentResourceId": "digits-dev-gpus"})
    assert (there["state"], there["resourcePools"][0]["replicaCount"]) == ("RUNNING", 2)
    # A resize by another tool: a refresh finds it, and the next deployment changes it back.
    machines.patch(
        endpoint, life.id, {"resourcePools": [_live_pool(endpoint, life.id, 3)]}, mask=["resource_pools"]
    )
    drifted = plugin.read(MACHINES, "gpus", life.id, life.outputs)[1]
    assert "resourcePools[0].replicaCount" in life.diff(outputs=drifted)[1]
    life.delete(destroying)


def _live_pool(endpoint: Endpoint, name: str, count: int) -> dict[str, Any]:
    return {**machines.get(endpoint, name).wire["resourcePools"][0], "replicaCount": str(count)}


def test_machines_that_have_failed_fail_each_deployment_that_waits() -> None:
    """Answer as the service does when there are no machines: the emulator always has some."""
    error = {"code": 8, "message": "no GPUs are left in us-central1-a"}
    name = "projects/7/locations/us-central1/persistentResources/gpus"
    record = machines.from_wire({"name": name, "state": "ERROR", "error": error})
    google = {"endpoint": "google", "project": "p", "location": "us-central1"}

    def wait(options: ReadyOptions) -> ReadyWait:
        declared = replace(READINESS, get=lambda *_: record)
        return ReadyWait(urn="urn:x", id=name, outputs=google, declared=declared, options=options)

    failing = wait(ReadyOptions())
    for waited in (failing.run(), failing.recorded()):
        assert waited.outputs["state"] == "ERROR"
        assert "persistent resource gpus failed: no GPUs are left in us-central1-a" in waited.failure
        assert "`pulumi up --replace 'urn:x'`, or set wait: false" in waited.failure
    assert failing.is_due()
    kept = wait(ReadyOptions(wait=False))
    assert (kept.is_due(), kept.run().failure, kept.recorded().failure) == (False, "", "")
    assert kept.run().outputs["state"] == "ERROR"


def test_an_image_is_built_once(plugin: PackageProcess, destroying: PackageProcess, tmp_path: Path) -> None:
    repository = Life(plugin, REPOSITORY, "images", {"forceDestroy": True})
    repository.create()
    there, _ = plugin.invoke("getImageRepository", {"repositoryId": "digits-dev-images"})
    assert there["url"] == repository.outputs["url"]
    source = tmp_path / "app"
    source.mkdir()
    (source / "Dockerfile").write_text("FROM scratch\nCOPY train.py /app/\n")
    (source / "train.py").write_text("print('hi')\n")
    news = {"repository": repository.outputs["url"], "source": str(source), "onDelete": "delete"}
    unknown, reasons = plugin.check(IMAGE, "later", {**news, "repository": UNKNOWN})
    assert not reasons
    assert unknown.values["name"] == "later"
    life = Life(plugin, IMAGE, "Train (A)", news)
    life.create()
    assert life.previewed["contentHash"] == life.outputs["contentHash"]
    assert (life.id, life.outputs["name"]) == (life.outputs["uri"], "train-a")
    assert life.update(tags=["stable"]) == {"tags[0]": "UPDATE"}
    (source / "train.py").write_text("print('other')\n")
    assert life.diff()[1] == {"contentHash": "UPDATE_REPLACE"}
    secret, _ = plugin.check(IMAGE, "masked", {**news, "env": {"A": "hush"}}, secrets=frozenset({"env.A"}))
    assert secret.secrets == {"env.A", "contentHash"}
    with pytest.raises(grpc.RpcError, match="a TrainingImage cannot be imported: it is made of files"):
        plugin.read(IMAGE, "train", life.id)
    life.delete(destroying)


def test_a_model_gets_versions(
    plugin: PackageProcess, destroying: PackageProcess, endpoint: Endpoint
) -> None:
    bucket = Life(plugin, BUCKET, "models", {"name": "a-bucket-of-models", "forceDestroy": True})
    bucket.create()
    objects.upload(endpoint, "a-bucket-of-models", "it/model.joblib", b"m")
    news = {"artifactUri": "gs://a-bucket-of-models/it", "containerSpec": {"imageUri": SERVING}}
    life = Life(plugin, MODEL, "digits", {**news, "labels": {"my_team": "a"}, "onDelete": "delete"})
    life.create()
    assert (life.outputs["versionId"], life.outputs["displayName"]) == ("1", "digits")
    assert life.previewed["versionId"] is UNKNOWN
    assert life.id == f"{life.outputs['name']}@1"
    assert life.update(description="Of digits", versionAliases=["golden"]) == {
        "description": "ADD",
        "versionAliases": "ADD",
    }
    assert life.diff(containerSpec={"imageUri": SERVING, "ports": [{"containerPort": 8080}]})[1] == {
        "containerSpec.ports": "ADD_REPLACE"
    }
    inputs = life.imported("digits-dev-digits@1")
    assert inputs == {
        **news,
        "displayName": "digits",
        "modelId": "digits-dev-digits",
        "labels": {"my_team": "a"},
        "description": "Of digits",
        "versionAliases": ["golden"],
    }
    there, _ = plugin.invoke("getModel", {"modelId": "digits-dev-digits", "version": "golden"})
    assert (there["fullName"], there["containerImageUri"]) == (life.id, SERVING)
    there, _ = plugin.invoke("getStagingBucket", {"name": "a-bucket-of-models"})
    assert there["url"] == "gs://a-bucket-of-models"
    models.update(endpoint, life.outputs["name"], {"description": "changed"})
    drifted = plugin.read(MODEL, "digits", life.id, life.outputs)[1]
    assert life.diff(outputs=drifted)[1] == {"description": "UPDATE"}
    life.delete(destroying)


def test_the_files_of_a_failed_job_are_no_model_without_files() -> None:
    """Give null, which the engine sends for an output without a value."""
    given = Properties(values={"artifactUri": None, "containerSpec": {"imageUri": SERVING}})
    OPERATION.configure(lambda _: None)
    _, reasons = adapter.check(adapter.Request(kind=kind_of(MODEL), urn=urn_of(MODEL, "later"), inputs=given))
    assert [in_package(reason) for reason in reasons] == [
        "artifactUri: is null: its job has failed, or has not ended yet. Give the job wait: done, or run "
        "`pulumi up` again when it has ended"
    ]


def test_a_function_needs_a_place() -> None:
    OPERATION.configure({"vertex-training:endpoint": "google"}.get)
    wanted = {"getModel": ["project", "location"], "getStagingBucket": ["project"]}
    for function, paths in wanted.items():
        lookup = functions.lookup_of(f"vertex-training:index:{function}")
        name = "modelId" if function == "getModel" else "name"
        _, reasons = functions.invoke(lookup, Properties(values={name: "it"}))
        assert [reason.partition(": ")[0] for reason in reasons if "is not given" in reason] == paths


def test_a_schedule_has_its_job_as_a_template(
    plugin: PackageProcess, destroying: PackageProcess, endpoint: Endpoint
) -> None:
    container = {"imageUri": TRAINING, "command": ["true"], "env": [{"name": "MY_KEY", "value": "hush-hush"}]}
    job = {"workerPoolSpecs": [pool(1, containerSpec=container)], "stagingBucket": "a-bucket"}
    life = Life(plugin, SCHEDULE, "nightly", {"schedule": "0 3 * * *", "customJob": job})
    life.create()
    assert (
        life.outputs["request"]["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"][0]["name"]
        == "MY_KEY"
    )
    assert life.previewed["name"] == life.outputs["name"]
    wider = {**container, "args": ["--wide"]}
    other = {**job, "workerPoolSpecs": [pool(1, containerSpec=wider)]}
    assert life.update(customJob=other, paused=True) == {
        "customJob.workerPoolSpecs[0].containerSpec.args": "ADD",
        "paused": "UPDATE",
    }
    assert life.diff(location="europe-west4")[1]["location"] == "UPDATE_REPLACE"
    imported = life.imported("digits-dev-nightly")
    template = imported.pop("customJob")
    assert imported == {"scheduleId": "digits-dev-nightly", "schedule": "0 3 * * *", "paused": True}
    assert template == {
        "workerPoolSpecs": [pool(1, containerSpec=wider)],
        "baseOutputDirectory": "gs://a-bucket/nightly/",
    }
    schedules.set_paused(endpoint, schedules.get(endpoint, life.id).job, paused=False)
    drifted = plugin.read(SCHEDULE, "nightly", life.id, life.outputs)[1]
    assert life.diff(outputs=drifted)[1] == {"paused": "UPDATE"}
    life.delete(destroying)


def test_mistakes_in_the_job_of_a_schedule_have_its_path(plugin: PackageProcess) -> None:
    def reasons(**inputs: Any) -> list[str]:
        return plugin.check(SCHEDULE, "wrong", {"schedule": "0 3 * * *", **inputs})[1]

    job = {"workerPoolSpecs": [pool(0)]}
    assert [line.partition(": ")[0] for line in reasons(customJob=job)] == ["customJob.workerPoolSpecs[0]"]
    for inputs, path in (
        ({}, "customJob"),
        ({"customJob": job, "trainingPipeline": {}}, "trainingPipeline"),
        ({"customJob": "echo"}, "customJob"),
        ({"customJob": {**job, "rerun": "always"}}, "customJob.rerun"),
        ({"customJob": job, "request": {}}, "request"),
    ):
        assert path in [line.partition(": ")[0] for line in reasons(**inputs)]
    secret = {"workerPoolSpecs": [pool(1, containerSpec={"imageUri": TRAINING, "args": ["hush"]})]}
    path = "customJob.workerPoolSpecs[0].containerSpec.args[0]"
    inputs, found = plugin.check(
        SCHEDULE, "masked", {"schedule": "0 3 * * *", "customJob": secret}, secrets=frozenset({path})
    )
    assert not found
    assert inputs.secrets == {path, "request"}
    unknown, found = plugin.check(
        SCHEDULE, "later", {"schedule": "0 3 * * *", "customJob": {**secret, "stagingBucket": UNKNOWN}}
    )
    assert not found
    assert unknown.values["request"] is UNKNOWN
