"""The plugin over gRPC, without an engine: jobs and buckets from creation to deletion, on an emulator."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_job
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipeline
from pulumi_vertex_training.package.wire.properties import Properties
from pulumi_vertex_training.runs import secret_arguments
from pulumi_vertex_training.runs.gateway import RunGateway
from support.client.package_process import BUCKET, JOB, STACK_KEY, InitFailed, PackageProcess
from support.waiting import eventually
from vertex_training import __version__
from vertex_training.fields.decode import UNKNOWN

REPOSITORY = "vertex-training:index:ImageRepository"
FILE = "vertex-training:index:StagedFile"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"


def pool(script: str, **more: Any) -> dict[str, Any]:
    container = {"imageUri": IMAGE, "command": ["sh", "-c", script], **more}
    return {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1, "containerSpec": container}


def job(script: str = "true", **more: Any) -> dict[str, Any]:
    return {"workerPoolSpecs": [pool(script)], "wait": "done", **more}


@pytest.fixture
def plugin(data_dir: Path) -> Iterator[PackageProcess]:
    with PackageProcess({"endpoint": "emulator", "dataDir": str(data_dir)}) as process:
        yield process


def created(plugin: PackageProcess, name: str, news: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    inputs, reasons = plugin.check(JOB, name, news)
    assert not reasons
    id_, outputs = plugin.create(JOB, name, inputs)
    return id_, outputs.values


def test_the_life_of_a_job(plugin: PackageProcess, endpoint: Endpoint, data_dir: Path) -> None:
    bucket, _ = plugin.check(BUCKET, "results", {"name": "a-bucket", "forceDestroy": True})
    plugin.create(BUCKET, "results", bucket)
    news = job(labels={"my_team": "a"}, stagingBucket="a-bucket")
    inputs, _ = plugin.check(JOB, "train", news)
    assert inputs.values["labels"] == {"my_team": "a"}
    assert inputs.values["displayName"] == "train"
    previewed = plugin.create(JOB, "train", inputs, preview=True)[1].values
    assert previewed["state"] is UNKNOWN
    assert previewed["displayName"] == "train"
    id_, outputs = plugin.create(JOB, "train", inputs)
    made = outputs.values
    assert (made["state"], made["name"]) == ("SUCCEEDED", id_)
    assert made["baseOutputDirectory"].startswith("gs://a-bucket/train/")
    assert ("train", "succeeded") in plugin.lines
    labels = GATEWAY.get(endpoint, id_).labels
    assert labels["vertex-training-key"].startswith(f"{STACK_KEY}-")
    assert labels["pulumi-resource"] == "train"

    again, _ = plugin.check(JOB, "train", news, inputs.values)
    assert plugin.diff(JOB, "train", made, again.values) == ("NONE", {})
    assert plugin.read(JOB, "train", id_, made)[1]["state"] == "SUCCEEDED"
    other, _ = plugin.check(
        JOB, "train", {**news, "workerPoolSpecs": [pool("false")], "waitTimeout": 5}, inputs.values
    )
    assert plugin.diff(JOB, "train", made, other.values) == (
        "SOME",
        {"workerPoolSpecs[0].containerSpec.command[2]": "UPDATE_REPLACE", "waitTimeout": "UPDATE"},
    )
    kept, _ = plugin.check(JOB, "train", {**news, "keepRuns": 2}, inputs.values)
    assert plugin.diff(JOB, "train", made, kept.values) == ("SOME", {"keepRuns": "UPDATE"})
    updated = plugin.update(JOB, "train", made, kept.values, id_=id_, preview=True)
    assert (updated["keepRuns"], updated["state"]) == (2, "SUCCEEDED")
    assert plugin.update(JOB, "train", made, kept.values, id_=id_)["jobId"] == made["jobId"]
    with PackageProcess({"endpoint": "emulator", "dataDir": str(data_dir)}) as destroying:
        destroying.delete(JOB, "train", id_, made)
        assert destroying.read(JOB, "train", id_, {**made, "state": "RUNNING"})[0] == ""


def test_a_function_reads_a_job_that_exists(plugin: PackageProcess, endpoint: Endpoint) -> None:
    record = GATEWAY.create(endpoint, {"displayName": "theirs", "labels": {"my_team": "a"}, "jobSpec": POOLS})
    for job in (record.job_id, record.name):
        found, reasons = plugin.invoke("getCustomJob", {"job": job, "location": None})
        assert (found["name"], found["displayName"], reasons) == (record.name, "theirs", [])
        assert found["labels"] == {"my_team": "a"}
    _, reasons = plugin.invoke("getCustomJob", {"jobs": record.job_id, "project": ["p"]})
    assert {reason.partition(": ")[0] for reason in reasons} == {"jobs", "project"}
    assert plugin.invoke("getTrainingPipeline", {"job": UNKNOWN})[0]["modelDirectory"] is UNKNOWN
    with pytest.raises(grpc.RpcError, match="custom job 123 cannot be looked up: "):
        plugin.invoke("getCustomJob", {"job": "123"})
    with pytest.raises(grpc.RpcError, match="getNothing is no function of this package"):
        plugin.invoke("getNothing", {})
    with pytest.raises(grpc.RpcError) as refused:
        plugin.invoke("getCustomJob", {"job": "hush-hush"}, secrets=frozenset({"job"}))
    assert "hush-hush" not in str(refused.value)
    GATEWAY.cancel(endpoint, record.name)


def test_a_job_shows_its_log_and_returns_its_metrics(plugin: PackageProcess) -> None:
    bucket, _ = plugin.check(BUCKET, "metrics", {"name": "a-bucket-of-metrics", "forceDestroy": True})
    plugin.create(BUCKET, "metrics", bucket)
    folder = "/gcs/$(echo $AIP_MODEL_DIR | cut -c6-)"
    script = f"""mkdir -p {folder}; echo '{{"loss": 0.5}}' > {folder}/metrics.json; echo replica_count=3"""
    _, made = created(plugin, "shown", job(script, stagingBucket="a-bucket-of-metrics", streamLogs=True))
    assert made["metrics"] == {"loss": 0.5}
    assert made["modelDirectory"] == f"{made['baseOutputDirectory']}model/"
    assert [line for name, line in plugin.lines if name == "shown" and line.endswith("] replica_count=3")]
    # An end that a refresh sees is recorded with its results, too.
    seen = {name: value for name, value in made.items() if name not in ("metrics", "modelDirectory")}
    assert plugin.read(JOB, "shown", made["name"], {**seen, "state": "RUNNING"})[1]["metrics"] == {
        "loss": 0.5
    }
    with pytest.raises(InitFailed) as failed:
        created(plugin, "bad-shown", job("echo the reason; exit 3", streamLogs=True))
    assert [line for name, line in plugin.lines if name == "bad-shown" and line.endswith("] the reason")]
    assert "the reason" not in str(failed.value)


def test_a_failed_job_fails_each_deployment_that_waits(plugin: PackageProcess) -> None:
    inputs, _ = plugin.check(JOB, "bad", job("echo the reason; exit 3"))
    with pytest.raises(InitFailed, match="status of 3") as first:
        plugin.create(JOB, "bad", inputs)
    id_, outputs = first.value.id, first.value.outputs
    assert "the reason" in str(first.value)
    assert (outputs["name"], outputs["state"]) == (id_, "FAILED")
    assert plugin.diff(JOB, "bad", outputs, inputs.values) == ("SOME", {"wait": "UPDATE"})
    assert plugin.update(JOB, "bad", outputs, inputs.values, id_=id_, preview=True)["state"] == "FAILED"
    warning = [text for name, text in plugin.lines if name == "bad" and text.startswith("warning: ")]
    assert len(warning) == 1
    assert "Deployments fail until the job succeeds" in warning[0]
    with pytest.raises(InitFailed, match="status of 3"):
        plugin.update(JOB, "bad", outputs, inputs.values, id_=id_)
    with pytest.raises(InitFailed, match="status of 3"):
        plugin.read(JOB, "bad", id_, outputs)

    without, _ = plugin.check(JOB, "bad", {**job("echo the reason; exit 3"), "wait": "none"}, inputs.values)
    assert plugin.diff(JOB, "bad", outputs, without.values) == ("SOME", {"wait": "UPDATE"})
    kept = plugin.update(JOB, "bad", outputs, without.values, id_=id_)
    assert plugin.diff(JOB, "bad", kept, without.values) == ("NONE", {})
    assert plugin.read(JOB, "bad", id_, kept)[1]["state"] == "FAILED"


def test_a_job_that_fails_after_the_wait_fails_the_next_deployment(
    plugin: PackageProcess, endpoint: Endpoint
) -> None:
    news = job("sleep 600", wait="running")
    id_, outputs = created(plugin, "later", news)
    assert outputs["state"] == "RUNNING"
    inputs, _ = plugin.check(JOB, "later", news, outputs)
    assert plugin.diff(JOB, "later", outputs, inputs.values) == ("NONE", {})
    GATEWAY.cancel(endpoint, id_)
    eventually(lambda: GATEWAY.get(endpoint, id_).state.is_terminal)
    with pytest.raises(InitFailed, match="CANCELLED"):
        plugin.update(JOB, "later", outputs, inputs.values, id_=id_)
    with pytest.raises(InitFailed, match="CANCELLED"):
        plugin.read(JOB, "later", id_, outputs)


def test_a_live_job_stays_if_its_next_run_cannot_be_submitted(
    plugin: PackageProcess, endpoint: Endpoint
) -> None:
    """Plan the replacement: a preview may be of a program that makes the bucket, too."""
    news = job("sleep 600", wait="running")
    id_, outputs = created(plugin, "live", news)
    inputs, _ = plugin.check(JOB, "live", {**news, "stagingBucket": "no-such-bucket-at-all"}, outputs)
    assert plugin.diff(JOB, "live", outputs, inputs.values)[0] == "SOME"
    with pytest.raises(grpc.RpcError, match="The new job could not be submitted"):
        plugin.delete(JOB, "live", id_, outputs)
    assert not GATEWAY.get(endpoint, id_).state.is_terminal
    again, _ = plugin.check(JOB, "live", {**news, "workerPoolSpecs": [pool("sleep 700")]}, outputs)
    assert plugin.diff(JOB, "live", outputs, again.values)[0] == "SOME"
    plugin.delete(JOB, "live", id_, outputs)
    assert GATEWAY.get(endpoint, id_).state.is_terminal


def test_an_interrupted_wait_keeps_the_job(plugin: PackageProcess, endpoint: Endpoint) -> None:
    found: list[tuple[str, dict[str, Any]]] = []
    waiting = threading.Thread(target=lambda: found.append(created(plugin, "long", job("sleep 600"))))
    waiting.start()
    eventually(lambda: any(name == "long" and text.startswith("running") for name, text in plugin.lines))
    plugin.cancel()
    waiting.join(60)
    [(id_, outputs)] = found
    assert not GATEWAY.get(endpoint, id_).state.is_terminal
    assert any("keeps running" in text for name, text in plugin.lines if name == "long")
    plugin.delete(JOB, "long", id_, outputs)


def test_a_bucket_and_its_import(plugin: PackageProcess) -> None:
    news = {"name": "a-named-bucket", "labels": {"my_team": "a"}, "forceDestroy": True}
    inputs, reasons = plugin.check(BUCKET, "data", news)
    assert not reasons
    id_, outputs = plugin.create(BUCKET, "data", inputs)
    assert (id_, outputs.values["url"]) == ("a-named-bucket", "gs://a-named-bucket")
    _, same, declared = plugin.read(BUCKET, "data", id_, outputs.values)
    assert same == outputs.values
    assert {**inputs.values, **declared} == inputs.values
    assert plugin.read(BUCKET, "data", id_, outputs.values, inputs.values)[2] == inputs.values
    _, live, imported = plugin.read(BUCKET, "data", id_)
    assert live["url"] == "gs://a-named-bucket"
    assert imported == {"name": "a-named-bucket", "labels": {"my_team": "a"}}
    checked, _ = plugin.check(BUCKET, "data", imported, imported)
    assert plugin.diff(BUCKET, "data", live, checked.values)[0] == "NONE"
    assert plugin.read(BUCKET, "data", "no-such-bucket")[0] == ""


def test_a_repository_and_its_import(plugin: PackageProcess) -> None:
    inputs, reasons = plugin.check(REPOSITORY, "images", {"description": "digits"})
    assert not reasons
    id_, outputs = plugin.create(REPOSITORY, "images", inputs)
    short = outputs.values["repositoryId"]
    assert short == "digits-dev-images"
    imported_id, live, imported = plugin.read(REPOSITORY, "images", short)
    assert (imported_id, live["url"]) == (id_, outputs.values["url"])
    assert imported == {"repositoryId": short, "description": "digits"}
    checked, _ = plugin.check(REPOSITORY, "images", imported, imported)
    assert plugin.diff(REPOSITORY, "images", live, checked.values, id_=id_) == ("NONE", {})
    assert plugin.read(REPOSITORY, "images", "no-such-repository")[0] == ""


def test_a_file_is_staged(plugin: PackageProcess, tmp_path: Path, data_dir: Path) -> None:
    bucket, _ = plugin.check(BUCKET, "staged", {"name": "a-bucket-of-files", "forceDestroy": True})
    plugin.create(BUCKET, "staged", bucket)
    (tmp_path / "data.csv").write_text("1,2")
    news = {"bucket": "a-bucket-of-files", "source": str(tmp_path / "data.csv")}
    inputs, reasons = plugin.check(FILE, "data", news)
    assert not reasons
    assert inputs.values["prefix"] == "files/data"
    id_, outputs = plugin.create(FILE, "data", inputs)
    assert (id_, outputs.values["size"]) == (outputs.values["uri"], 3)
    assert plugin.read(FILE, "data", id_, outputs.values)[0] == id_
    with pytest.raises(grpc.RpcError, match="cannot be imported"):
        plugin.read(FILE, "data", id_)
    with PackageProcess({"endpoint": "emulator", "dataDir": str(data_dir)}) as destroying:
        destroying.delete(FILE, "data", id_, outputs.values)
        assert destroying.read(FILE, "data", id_, outputs.values)[0] == ""


STUDY = {
    "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameterId": "rate", "doubleValueSpec": {"minValue": 0.1, "maxValue": 1.0}}],
}
POOLS = {"workerPoolSpecs": [pool("sleep 600")]}
CUSTOM_TASK = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"


@pytest.mark.parametrize(
    ("resource", "gateway", "wire", "declared"),
    [
        ("CustomJob", GATEWAY, {"jobSpec": POOLS}, {"workerPoolSpecs"}),
        (
            "HyperparameterTuningJob",
            tuning_job.GATEWAY,
            {"trialJobSpec": POOLS, "studySpec": STUDY, "maxTrialCount": 2, "parallelTrialCount": 1},
            {"trialJobSpec", "studySpec", "maxTrialCount", "parallelTrialCount"},
        ),
        (
            "TrainingPipeline",
            training_pipeline.GATEWAY,
            {"trainingTaskDefinition": CUSTOM_TASK, "trainingTaskInputs": POOLS},
            {"customTask"},
        ),
    ],
)
def test_the_import_of_a_job(
    resource: str,
    gateway: RunGateway,
    wire: dict[str, Any],
    declared: set[str],
    plugin: PackageProcess,
    endpoint: Endpoint,
) -> None:
    token = f"vertex-training:index:{resource}"
    record = gateway.create(endpoint, {"displayName": "theirs", "labels": {"my_team": "a"}, **wire})
    id_, outputs, inputs = plugin.read(token, "hand", record.job_id)
    assert (id_, outputs["jobId"]) == (record.name, record.job_id)
    shown = {name: value for name, value in inputs.items() if not name.startswith("__")}
    assert set(shown) == {"displayName", "labels", *declared}
    assert "diskSpec" not in json.dumps(shown)  # nothing inside them is a default
    checked, reasons = plugin.check(token, "hand", shown, inputs)
    assert not reasons
    assert checked.values["__run"]["identity"] == inputs["__run"]["identity"]
    eventually(lambda: gateway.get(endpoint, id_).state.word == "RUNNING")
    assert plugin.diff(token, "hand", outputs | {"state": "RUNNING"}, checked.values) == ("NONE", {})
    plugin.delete(token, "hand", id_, outputs)


def test_a_job_of_another_declaration_is_only_imported_with_its_run(plugin: PackageProcess) -> None:
    ours, made = created(plugin, "ours", job())
    run = made["__run"]["key"]
    with pytest.raises(grpc.RpcError, match=f"given up for good, import {made['jobId']}@{run}"):
        plugin.read(JOB, "hand", ours)
    id_, outputs, _ = plugin.read(JOB, "hand", f"{made['jobId']}@{run}")
    assert (id_, outputs["__run"]["key"]) == (ours, run)
    assert plugin.read(JOB, "hand", "123456")[0] == ""


def test_secrets_stay_secrets_and_are_shown_nowhere(plugin: PackageProcess, endpoint: Endpoint) -> None:
    secret = "hush-hush-hush"
    script = f"echo {secret}; exit 3"
    news = {"workerPoolSpecs": [pool(script, env=[{"name": "KEY", "value": secret}])], "wait": "done"}
    paths = frozenset(
        {"workerPoolSpecs[0].containerSpec.env[0].value", "workerPoolSpecs[0].containerSpec.command[2]"}
    )
    inputs, _ = plugin.check(JOB, "masked", news, secrets=paths)
    assert inputs.secrets == paths | {"__run.spec_hash"}
    with pytest.raises(InitFailed) as failed:
        plugin.create(JOB, "masked", inputs)
    assert secret not in str(failed.value)
    assert not [text for _, text in plugin.lines if secret in text]
    (record,) = GATEWAY.list_by_label(endpoint, {"pulumi-resource": "masked"})
    assert record.labels[secret_arguments.LABEL] == "0-2"
    wrong = {**news, "displayName": secret * 20}
    _, reasons = plugin.check(JOB, "masked", wrong, secrets=paths | {"displayName"})
    assert reasons
    assert secret not in str(reasons)


def test_each_mistake_is_named_by_its_path_as_the_program_writes_it(plugin: PackageProcess) -> None:
    broken = pool("true") | {"replicaCount": -1, "machineSpec": {"machineType": "n9-standard-4"}}
    _, reasons = plugin.check(
        JOB, "wrong", {"workerPoolSpecs": [broken], "wait": "ever", "marks": {}, "onDelete": "x"}
    )
    paths = {reason.partition(": ")[0] for reason in reasons}
    assert {"workerPoolSpecs[0].replicaCount", "wait", "marks", "onDelete"} <= paths
    _, [reason] = plugin.check(JOB, "wrong", {"workerPoolSpecs": [pool("true") | {"replicaCount": 2}]})
    assert reason.startswith("workerPoolSpecs[0].replicaCount: 2 replicas; ")
    assert "put the other 1 in workerPoolSpecs[1]" in reason
    newer = pool("true") | {"machineSpec": {"machineType": "n9-standard-4"}}
    _, [reason] = plugin.check(JOB, "wrong", {"workerPoolSpecs": [newer]})
    assert "allowUnknownTypes" in reason
    assert plugin.check(JOB, "later", {"workerPoolSpecs": UNKNOWN})[1] == []
    with pytest.raises(grpc.RpcError, match="is no resource of this package"):
        plugin.check("vertex-training:index:Nothing", "wrong", {})


def test_what_the_engine_asks_first(plugin: PackageProcess) -> None:
    schema = json.loads(plugin.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)
    assert (schema["name"], schema["version"]) == ("vertex-training", __version__)
    assert plugin.stub.GetPluginInfo(empty_pb2.Empty()).version == __version__
    assert plugin.configured.acceptSecrets


def test_the_plugin_starts_without_the_sdk_and_the_clients_of_google() -> None:
    """Import neither: a program in YAML starts the plugin twice, and each of them takes a second."""
    code = (
        "import sys\n"
        "from pulumi_vertex_training.package.wire import sdk\n"
        "sdk.load_messages_alone()\n"
        "import pulumi_vertex_training.package.server\n"
        "print({'pulumi.resource', 'google.api_core', 'google.auth'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def test_properties_keep_their_secrets_as_a_whole_if_a_path_is_gone() -> None:
    from pulumi_vertex_training.package.wire import properties

    written = properties.write({"labels": {"a": "1"}, "name": "x"}, {"labels.b"})
    assert properties.read(written) == Properties(
        values={"labels": {"a": "1"}, "name": "x"}, secrets=frozenset({"labels"})
    )
