"""Components that the plugin constructs, in a program in YAML on the real engine."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from support.client.engine import Engine, read_output_until
from support.client.package_plugin import with_plugin

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
COMPONENTS = {f"vertex-training:index:{name}" for name in ("DistributedTraining", "TrainingEnvironment")}
SECRET = "hidden-in-the-state"
MACHINE = {"machineType": "n1-standard-4"}


def pool(**more: Any) -> dict[str, Any]:
    return {"machineSpec": MACHINE, **more}


def training(script: str, **more: Any) -> dict[str, Any]:
    """Declare a training, whose chief has a secret in its environment."""
    token = {"name": "TOKEN", "value": {"fn::secret": SECRET}}
    task = {"imageUri": IMAGE, "command": ["sh", "-c", script], "env": [token]}
    return {
        "type": "vertex-training:DistributedTraining",
        "properties": {
            "chief": pool(containerSpec=task),
            "workers": pool(containerSpec=task),
            "bucket": {"forceDestroy": True},
            **{"wait": "done", **more},
        },
    }


OUTPUTS = {"state": "${train.state}", "bucket": "${train.bucketName}", "other": "${other.jobId}"}


@dataclass
class Program:
    engine: Engine

    def write(self, resources: Mapping[str, Any], outputs: Mapping[str, Any] = OUTPUTS) -> None:
        document = {
            "name": "engine-test",
            "runtime": "yaml",
            "resources": dict(resources),
            "outputs": dict(outputs),
        }
        (self.engine.folder / "Pulumi.yaml").write_text(json.dumps(document))

    def children(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the resources below a component, by their types."""
        found = self.engine.checkpoint()["resources"]
        parent = next(one["urn"] for one in found if one["type"] in COMPONENTS and one["urn"].endswith(name))
        return {one["type"].rpartition(":")[2]: one for one in found if one.get("parent") == parent}


@pytest.fixture(scope="module")
def program(shared_engine: Engine) -> Iterator[Program]:
    yield Program(with_plugin(shared_engine))


def test_the_life_of_components(program: Program) -> None:
    engine = program.engine
    mine = {"endpoint": "emulator", "dataDir": str(engine.data_dir), "project": "theirs"}
    resources = {
        "mine": {"type": "pulumi:providers:vertex-training", "properties": mine},
        "train": training("echo ok", labels={"my_team": "a"}),
        "other": {**training("echo ok"), "options": {"provider": "${mine}", "protect": True}},
    }
    program.write(resources)
    previewed, created = engine.preview_and_up()
    assert "8 to create" in previewed.ok().output
    assert "8 created" in created.ok().output
    outputs = engine.outputs()
    assert outputs["state"] == "SUCCEEDED"
    ours, theirs = program.children("train"), program.children("other")
    assert outputs["bucket"] == ours["StagingBucket"]["id"]
    assert outputs["other"] == theirs["CustomJob"]["outputs"]["jobId"]
    assert {one["provider"].split("::")[-2] for one in ours.values()} == {"default"}
    assert {one["provider"].split("::")[-2] for one in theirs.values()} == {"mine"}
    assert [all(one.get("protect") for one in each.values()) for each in (ours, theirs)] == [False, True]
    assert theirs["CustomJob"]["outputs"]["project"] == "theirs"
    assert ours["CustomJob"]["inputs"]["labels"] == {"my_team": "a"}
    assert SECRET not in json.dumps(engine.checkpoint())
    first = ours["CustomJob"]["inputs"]["workerPoolSpecs"][0]["containerSpec"]
    assert (first["imageUri"], "ciphertext" in first["env"][0]["value"]) == (IMAGE, True)
    assert "8 unchanged" in engine.up("--expect-no-changes").ok().output

    resources["train"] = training("echo other", labels={"my_team": "a"})
    stage = {
        "type": "vertex-training:TrainingEnvironment",
        "properties": {
            "bucket": {"forceDestroy": True},
            "network": True,
            "deployers": ["group:ml@a.example"],
        },
    }
    resources["stage"] = stage
    program.write(resources, {**OUTPUTS, "shared": "${stage.bucket}"})
    changed = engine.up().ok()
    assert "1 replaced" in changed.output
    assert program.children("train")["CustomJob"]["outputs"]["__run"]["key"].endswith("-2")
    assert "made without services, service accounts, roles and network" in changed.output
    assert engine.outputs()["shared"] == program.children("stage")["StagingBucket"]["id"]

    program.write({**resources, "train": training("sleep 600", onInterrupt="cancel")})
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    read_output_until(process, "running 2/2")
    os.kill(process.pid, signal.SIGINT)
    assert "cancelled (onInterrupt)" in process.communicate()[0]
    engine.unprotect()
    engine.destroy().ok()
    assert not [one for one in GATEWAY.list_jobs(engine.endpoint()) if not one.state.is_terminal]
