"""A program in YAML on the real engine: jobs and a bucket from creation to destruction, by the plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from support.client.engine import Engine, Result, read_output_until
from support.client.package_plugin import with_plugin

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
TRAIN = "urn:pulumi:test::engine-test::vertex-training:index:CustomJob::train"


def pool(count: object, script: str) -> dict[str, Any]:
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": count,
        "containerSpec": {"imageUri": IMAGE, "command": ["sh", "-c", script]},
    }


def job(script: str, *, workers: object = 1, **more: Any) -> dict[str, Any]:
    pools = [pool(1, script), pool(workers, script)]
    return {
        "type": "vertex-training:CustomJob",
        "properties": {"workerPoolSpecs": pools, "wait": "done", **more},
    }


RESOURCES: dict[str, Any] = {
    "data": {
        "type": "vertex-training:StagingBucket",
        "properties": {"forceDestroy": True, "labels": {"my_team": "${team}"}},
    },
    "train": job("${script}", workers="${workers}", stagingBucket="${data.name}"),
    "after": {**job("true"), "options": {"dependsOn": ["${train}"]}},
}
CONFIG = {
    "script": {"type": "string", "default": "echo ok"},
    "team": {"type": "string", "default": "a"},
    "workers": {"type": "integer", "default": 1},
}
OUTPUTS = {"state": "${train.state}", "directory": "${train.baseOutputDirectory}"}


@dataclass
class Program:
    """A project with a program in YAML."""

    engine: Engine

    def write(self, resources: Mapping[str, Any], outputs: Mapping[str, Any] = OUTPUTS) -> None:
        document = {
            "name": "engine-test",
            "runtime": "yaml",
            "config": CONFIG,
            "resources": dict(resources),
            "outputs": dict(outputs),
        }
        # Without the aliases of YAML, which Pulumi does not read.
        (self.engine.folder / "Pulumi.yaml").write_text(json.dumps(document))

    def resource(self, name: str) -> dict[str, Any]:
        """Return a resource of the state, {} without one."""
        resources = self.engine.checkpoint().get("resources", [])
        return next((one for one in resources if one["urn"].endswith(f"::{name}")), {})

    def steps(self) -> dict[str, Any]:
        """Preview as JSON. Return the detailed differences by the names of the resources that change."""
        preview = self.engine.run("preview", "--json", "--non-interactive").ok().output
        found = json.loads(preview[preview.index("{") :])["steps"]
        return {
            one["urn"].rpartition("::")[2]: (
                one["op"],
                {path: change["kind"] for path, change in (one.get("detailedDiff") or {}).items()},
            )
            for one in found
            if one["op"] != "same"
        }


@pytest.fixture
def program(shared_engine: Engine) -> Program:
    """Return the project with its first program and configuration, and the plugin in Pulumi's folder."""
    made = Program(with_plugin(shared_engine))
    for key in ("team", "workers"):
        made.engine.set(key, None)
    made.write(RESOURCES)
    return made


def test_the_life_of_a_stack(program: Program) -> None:
    engine = program.engine
    created = engine.up().ok()
    assert "4 created" in created.output
    assert engine.outputs()["state"] == "SUCCEEDED"
    first = program.resource("train")
    assert engine.preview("--refresh", "--expect-no-changes").ok()

    engine.set("team", "b")
    engine.set("workers", 2)  # type: ignore[arg-type]
    assert program.steps() == {
        "data": ("update", {"labels.my_team": "update"}),
        "train": ("replace", {"workerPoolSpecs[1].replicaCount": "update-replace"}),
    }
    changed = engine.up().ok()
    assert "workers: 1 -> 2 x n1-standard-4" in changed.output
    second = program.resource("train")
    assert second["id"] != first["id"]
    assert second["outputs"]["__run"]["key"] == first["outputs"]["__run"]["key"].replace("-1", "-2")

    engine.up("--replace", TRAIN).ok()
    assert program.resource("train")["outputs"]["__run"]["key"].endswith("-3")
    _imported_job_is_unchanged(program)
    engine.destroy().ok()
    assert engine.state() == []
    assert not [one for one in GATEWAY.list_jobs(engine.endpoint()) if not one.state.is_terminal]


# Shown quicker in tests/pulumi_vertex_training: package/test_server.py, core/running/test_run_identity.py
@pytest.mark.slow
def test_options_of_a_live_job(program: Program) -> None:
    """Change a live job that is protected, whose change is ignored, and that runs on beside the new one."""
    engine = program.engine

    def declare(script: str, **options: Any) -> None:
        program.write({"train": {**job(script, wait="running"), "options": options}})

    declare("sleep 600", retainOnDelete=True, protect=True)
    engine.up().ok()
    declare("sleep 700", retainOnDelete=True, protect=True)
    assert "marked for protection" in engine.preview().failed().output
    declare("sleep 700", retainOnDelete=True, protect=True, ignoreChanges=["workerPoolSpecs"])
    engine.preview("--expect-no-changes").ok()
    engine.unprotect()
    declare("sleep 700", retainOnDelete=True)
    engine.up().ok()
    found = GATEWAY.list_by_label(engine.endpoint(), {"pulumi-resource": "train"})
    live = [one for one in found if not one.state.is_terminal]
    assert len(live) == 2
    for one in live:
        GATEWAY.cancel(engine.endpoint(), one.name)
    engine.destroy().ok()


def _imported_job_is_unchanged(program: Program) -> None:
    """Import a job of another tool, and declare what `pulumi import` prints."""
    engine = program.engine
    wire = {"displayName": "theirs", "jobSpec": {"workerPoolSpecs": [pool(1, "sleep 600")]}}
    record = GATEWAY.create(engine.endpoint(), wire)
    file = engine.folder / "generated.yaml"
    engine.run(
        *("import", "vertex-training:index:CustomJob", "theirs", record.job_id, "--yes", "--skip-preview"),
        *("--protect=false", "--out", str(file), "--non-interactive"),
    ).ok()
    generated = yaml.safe_load(file.read_text())["resources"]
    assert set(generated["theirs"]["properties"]) == {"displayName", "workerPoolSpecs"}
    program.write({name: one for name, one in RESOURCES.items() if name != "after"} | generated)
    kept = engine.up("--target", f"{TRAIN.removesuffix('train')}theirs", "--expect-no-changes").ok()
    assert "unchanged" in kept.output
    assert not GATEWAY.get(engine.endpoint(), record.name).state.is_terminal


# Shown quicker in tests/pulumi_vertex_training: package/test_server.py, package/test_waits.py;
# tests/engine/package/test_python_programs.py
@pytest.mark.slow
def test_a_failed_job_holds_back_its_dependents(program: Program) -> None:
    """Deploy a job that fails twice, and then without the failure."""
    engine = program.engine
    engine.up().ok()
    engine.set("script", "echo the reason; exit 3")
    failed: list[Result] = [engine.up().failed()]
    program.write({**RESOURCES, "late": RESOURCES["after"]})
    failed.append(engine.up().failed())
    for result in failed:
        assert "the reason" in result.output
        assert "Deployments fail until the job succeeds (wait: done)" in result.output
    assert program.resource("train")["initErrors"]
    assert not program.resource("late")
    engine.set("script", "echo ok")
    engine.up().ok()
    assert program.resource("late")
    assert not program.resource("train").get("initErrors")
    engine.destroy().ok()


# Shown quicker in tests/engine/package/test_python_programs.py
@pytest.mark.slow
def test_an_interrupted_creation_is_adopted(program: Program) -> None:
    """Kill the engine and the plugin while the first job of a new resource runs."""
    engine = program.engine
    program.write({"more": job("sleep 600", wait="done")}, {})
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    read_output_until(process, "running 2/2")
    engine.kill(process)
    program.write({"more": job("sleep 600", wait="running")}, {})
    assert "adopted custom job" in engine.up().ok().output
    found = GATEWAY.list_by_label(engine.endpoint(), {"pulumi-resource": "more"})
    assert [one.name for one in found] == [program.resource("more")["id"]]
    engine.destroy().ok()


OTHER_KINDS: dict[str, Any] = {
    "models": {"type": "vertex-training:StagingBucket", "properties": {"forceDestroy": True}},
    "images": {"type": "vertex-training:ImageRepository", "properties": {"forceDestroy": True}},
    "file": {
        "type": "vertex-training:StagedFile",
        "properties": {"bucket": "${models.name}", "source": "app/train.py"},
    },
    "gpus": {
        "type": "vertex-training:PersistentResource",
        "properties": {
            "resourcePools": [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "${workers}"}]
        },
    },
    "image": {
        "type": "vertex-training:TrainingImage",
        "properties": {
            **{"repository": "${images.url}", "source": "app"},
            **{"tags": ["${team}"], "onDelete": "delete"},
        },
    },
    "digits": {
        "type": "vertex-training:Model",
        "properties": {
            "artifactUri": "gs://${models.name}/files/file",
            "containerSpec": {"imageUri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-5:latest"},
            **{"labels": {"my_team": "${team}"}, "onDelete": "delete"},
        },
        "options": {"dependsOn": ["${file}"]},
    },
    "nightly": {
        "type": "vertex-training:TrainingSchedule",
        "properties": {
            "schedule": "0 3 * * *",
            "customJob": {"workerPoolSpecs": [pool(1, "${script}")], "stagingBucket": "${models.name}"},
        },
    },
}
OTHER_OUTPUTS = {"machines": "${gpus.state}", "image": "${image.uri}", "version": "${digits.versionId}"}


# Shown quicker in tests/pulumi_vertex_training: package/test_other_kinds.py, package/test_server.py
@pytest.mark.slow
def test_the_life_of_the_other_kinds(program: Program) -> None:
    """Deploy machines, an image, a model and a schedule, change them in place, import and destroy them."""
    engine = program.engine
    (engine.folder / "app").mkdir(exist_ok=True)
    (engine.folder / "app" / "Dockerfile").write_text("FROM scratch\nCOPY train.py /app/\n")
    (engine.folder / "app" / "train.py").write_text("print('hi')\n")
    for key in CONFIG:
        engine.set(key, None)
    program.write(OTHER_KINDS, OTHER_OUTPUTS)
    created = engine.up().ok()
    assert f"{len(OTHER_KINDS) + 1} created" in created.output
    outputs = engine.outputs()
    assert (outputs["machines"], outputs["version"]) == ("RUNNING", "1")
    assert outputs["image"] == program.resource("image")["id"]
    assert engine.preview("--expect-no-changes").ok()
    assert engine.run("refresh", "--preview-only", "--expect-no-changes", "--non-interactive").ok()

    engine.set("team", "b")
    engine.set("workers", 2)  # type: ignore[arg-type]
    engine.set("script", "echo other")
    assert program.steps() == {
        "gpus": ("update", {"resourcePools[0].replicaCount": "update"}),
        "image": ("update", {"tags[0]": "update"}),
        "digits": ("update", {"labels.my_team": "update"}),
        "nightly": ("update", {"customJob.workerPoolSpecs[0].containerSpec.command[2]": "update"}),
    }
    changed = engine.up().ok()
    assert "4 updated" in changed.output
    assert engine.preview("--expect-no-changes").ok()
    _imported_kinds_are_unchanged(program)
    assert "deleted" in engine.destroy().ok().output


def _imported_kinds_are_unchanged(program: Program) -> None:
    """Give up three resources, import them again, and declare what `pulumi import` prints."""
    engine, generated = program.engine, {}
    for name, kind in (("gpus", "PersistentResource"), ("digits", "Model"), ("nightly", "TrainingSchedule")):
        recorded = program.resource(name)
        engine.forget(recorded["urn"])
        file = engine.folder / f"{name}.yaml"
        engine.run(
            *("import", f"vertex-training:index:{kind}", name, recorded["id"], "--yes", "--skip-preview"),
            *("--protect=false", "--out", str(file), "--non-interactive"),
        ).ok()
        generated |= yaml.safe_load(file.read_text())["resources"]
    arguments = {"modelId": "engine-test-test-digits"}
    found = {"function": "vertex-training:getModel", "arguments": arguments, "return": "artifactUri"}
    program.write({**OTHER_KINDS, **generated}, {**OTHER_OUTPUTS, "files": {"fn::invoke": found}})
    assert "unchanged" in engine.up("--expect-no-changes").ok().output
    assert engine.outputs()["files"].startswith("gs://")


# Shown quicker in tests/pulumi_vertex_training: core/test_max_cost.py
@pytest.mark.slow
def test_the_price_at_which_a_job_stops(engine: Engine) -> None:
    program = Program(with_plugin(engine))

    def declared(**more: Any) -> dict[str, Any]:
        alone = job("true", workers=0, **more)
        return {"train": {**alone, "properties": {**alone["properties"], "wait": "none"}}}

    engine = program.engine
    program.write(declared(maxCost=1), {})
    previewed, deployed = engine.preview_and_up()
    assert "train stops after 4 h 4 min of running, at most $1.00" in previewed.ok().output
    deployed.ok()
    jobs = GATEWAY.list_jobs(engine.endpoint())
    assert [one.wire["jobSpec"]["scheduling"] for one in jobs] == [
        {"timeout": "14640s", "disableRetries": True}
    ]
    # Another sum is recorded in place, and runs nothing.
    program.write(declared(maxCost=2), {})
    assert program.steps() == {"train": ("update", {"maxCost": "update"})}
    engine.up().ok()
    assert len(GATEWAY.list_jobs(engine.endpoint())) == 1
    for wrong, message in (
        (0, "maxCost: 0.0 is no limit of the cost; give US dollars above 0, such as 50"),
        ("much", "maxCost: Cannot assign type 'string' to type 'number'"),
        (0.001, "maxCost: $0.001 is below the cost of a minute of running, $0.0041; give at least 0.01"),
    ):
        program.write(declared(maxCost=wrong), {})
        assert message in engine.preview().failed().output
