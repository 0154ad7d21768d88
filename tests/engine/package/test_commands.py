"""The commands on a stack that a program in YAML deployed: plan, apply, drift, runs, status and promote."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from scripts.layout import layout
from scripts.tools import policy_pack
from support.client.engine import Engine
from support.client.package_plugin import with_plugin
from support.client.services.drifting import call
from support.emulated import command
from support.emulated.command import Ended

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
TYPE = "vertex-training:index:"


def pool(count: object, **task: Any) -> dict[str, Any]:
    return {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": count, **task}


def resources(*, workers: int = 1, team: str = "a", live: int = 1) -> dict[str, Any]:
    """Return a bucket, a package, a job of it that ends, and one that runs until it is cancelled."""
    package = {
        "executorImageUri": IMAGE,
        "packageUris": ["${code.uri}"],
        "pythonModule": "${code.pythonModule}",
    }
    sleep = {"containerSpec": {"imageUri": IMAGE, "command": ["sleep", "600"]}}
    return {
        "data": {
            "type": "vertex-training:StagingBucket",
            "properties": {"forceDestroy": True, "labels": {"my_team": team}},
        },
        "code": {
            "type": "vertex-training:StagedPackage",
            "properties": {
                "bucket": "${data.name}",
                "source": "trainer",
                "packageName": "trainer",
                "version": "1",
            },
        },
        "train": {
            "type": "vertex-training:CustomJob",
            "properties": {
                "stagingBucket": "${data.name}",
                "wait": "done",
                "workerPoolSpecs": [
                    pool(count, pythonPackageSpec=package) for count in (1, workers) if count
                ],
            },
        },
        "live": {
            "type": "vertex-training:CustomJob",
            "properties": {"workerPoolSpecs": [pool(1, **sleep), pool(live, **sleep)]},
        },
    }


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project with a program in YAML and two stacks."""

    engine: Engine

    def write(self, declared: Mapping[str, Any]) -> None:
        document = {"name": "engine-test", "runtime": "yaml", "resources": dict(declared)}
        # Without the aliases of YAML, which Pulumi does not read.
        (self.engine.folder / "Pulumi.yaml").write_text(json.dumps(document))

    def run(self, *words: str) -> Ended:
        return command.run(*words, env=self.engine.environment, folder=self.engine.folder, timeout=300)

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        ended = self.run(*words, "--json")
        assert ended.code == code, ended.err + ended.out
        found = ended.json
        assert isinstance(found, dict)
        return found

    def resource(self, name: str) -> dict[str, Any]:
        """Return a resource of the state."""
        (found,) = (one for one in self.engine.state() if one["urn"].endswith(f"::{name}"))
        return found


@pytest.fixture(scope="module")
def project(shared_engine: Engine) -> Project:
    made = Project(engine=with_plugin(shared_engine, is_cold=True))
    trainer = made.engine.folder / "trainer"
    trainer.mkdir()
    (trainer / "__init__.py").touch()
    (trainer / "task.py").write_text("print('trained')\n")
    return made


def by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in entries}


def test_the_commands_of_a_team(project: Project) -> None:
    _a_saved_plan_is_applied_to_a_new_stack(project)
    _a_plan_names_what_changes(project)
    _the_runs_are_listed(project)
    _a_drift_is_found(project)
    _what_was_tried_is_promoted(project)


def _a_saved_plan_is_applied_to_a_new_stack(project: Project) -> None:
    project.write(resources())
    plan = project.json("plan", "--save-plan", "plan.json")
    assert plan["counts"] == {"create": 4, "none": 0}
    assert {name: one["type"] for name, one in by_name(plan["changes"]).items()} == {
        "data": "StagingBucket",
        "code": "StagedPackage",
        "train": "CustomJob",
        "live": "CustomJob",
    }
    applied = project.run("apply", "--plan", "plan.json", "--yes")
    assert applied.code == 0, applied.out + applied.err
    assert project.resource("train")["outputs"]["state"] == "SUCCEEDED"


def _a_plan_names_what_changes(project: Project) -> None:
    settings = project.engine.folder / "policies.json"
    settings.write_text(json.dumps({"labels": {"enforcementLevel": "mandatory", "required": ["owner"]}}))
    project.engine.set("vertex-training:policyConfig", settings.name)
    project.write(resources(team="b", live=3))
    plan = project.json("plan", code=16)
    changes = by_name(plan["changes"])
    assert changes["data"]["words"] == ["labels.my_team: a -> b"]
    assert changes["live"]["words"] == ["workers: 1 -> 3 x n1-standard-4; chief unchanged"]
    assert changes["live"]["liveJob"]["state"] == "RUNNING"
    assert changes["live"]["reasons"]
    assert set(changes) == {"data", "live"}
    assert {one["name"] for one in plan["cost"]["resources"]} == {"train", "live"}
    assert {one["resource"] for one in plan["policy"]["violations"]} == {"data", "train", "live"}
    assert plan["failed"] == ["policy"]
    project.engine.set("vertex-training:policyConfig", None)
    project.write(resources())


def _the_runs_are_listed(project: Project) -> None:
    job = project.resource("train")["id"]
    (run,) = project.json("runs", "train")["runs"]
    assert run["state"] == "JOB_STATE_SUCCEEDED"
    assert project.json("status", job)["name"] == job


def _a_drift_is_found(project: Project) -> None:
    endpoint = project.engine.endpoint()
    live, bucket = project.resource("live")["id"], project.resource("data")["id"]
    GATEWAY.cancel(endpoint, live)
    call(project.engine, "PATCH", f"/storage/v1/b/{bucket}", {"labels": {"my_team": "c"}})
    drift = project.json("drift")
    assert "debug" not in {one["severity"] for one in drift["findings"]}
    found = by_name(drift["changes"])
    assert found["data"]["words"] == ["labels.my_team: a -> c"]
    assert found["live"]["effect"] == "cancelled"
    urn = f"urn:pulumi:test::engine-test::{TYPE}CustomJob::live"
    repair = shlex.split(found["live"]["repair"])
    assert repair == ["pulumi", "up", "--refresh", "--replace", urn]
    assert set(found) == {"data", "live"}
    project.engine.run(*repair[1:], "--yes", "--skip-preview", "--non-interactive").ok()


def _what_was_tried_is_promoted(project: Project) -> None:
    declared = {name: one for name, one in resources().items() if name != "live"}
    project.write(declared)
    project.engine.up().ok()
    tried = project.resource("code")["outputs"]
    project.engine.add_stack("prod")
    ended = project.run("promote", "--from", "test", "--to", "prod", "--yes")
    assert ended.code == 0, ended.out + ended.err
    (project.engine.folder / "trainer" / "task.py").write_text("print('changed since')\n")
    project.engine.environment["PULUMI_STACK"] = "prod"
    deployed = project.engine.up().ok()
    assert "promoted from stack test, run train/1" in deployed.output
    assert project.resource("code")["outputs"]["sha256"] == tried["sha256"]
    assert project.resource("train")["outputs"]["state"] == "SUCCEEDED"


def test_the_policy_pack_judges_a_program_in_yaml(project: Project) -> None:
    if not policy_pack.is_installed(layout()):
        message = "the environment of the policy pack is missing: run `make policies`"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    pack = policy_pack.scripts(layout())
    settings = project.engine.folder / "of-the-pack.json"
    declared = resources()
    declared["live"]["properties"]["labels"] = {"my_team": {"fn::secret": "my-password"}}
    rules = {
        "machine-types": {"enforcementLevel": "mandatory", "allowed": ["n1-standard-8"]},
        "labels": {"enforcementLevel": "mandatory", "values": {"my_team": ["vision"]}},
    }
    settings.write_text(json.dumps(rules))
    project.write(declared)
    path = {"PATH": f"{pack}{os.pathsep}{project.engine.environment['PATH']}"}
    engine = Engine(folder=project.engine.folder, environment={**project.engine.environment, **path})
    refused = engine.preview("--policy-pack", str(pack), "--policy-pack-config", str(settings)).failed()
    said = [line.strip() for line in refused.output.splitlines() if "Choose " in line]
    assert "live: labels.my_team: the secret is not allowed. Choose vision." in said
    assert "data: labels.my_team: 'a' is not allowed. Choose vision." in said
    path = "train: worker_pool_specs[0].machine_spec.machine_type"
    assert f"{path}: 'n1-standard-4' is not allowed. Choose n1-standard-8." in said
    assert "my-password" not in refused.output
