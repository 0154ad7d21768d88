"""The key of a stack with several providers of the package: after an upgrade, and with explicit ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.core.state.entries import PROVIDER_TYPE
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from pulumi_vertex_training.package import stack_key
from support.client.engine import Engine, read_output_until
from support.client.package_plugin import with_plugin
from support.warm import warm_python
from vertex_training import __version__

# Shown quicker in tests/pulumi_vertex_training: package/test_stack_key.py
pytestmark = pytest.mark.slow

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
NEWER = "9.0.0"
LAUNCHER = """#!/bin/sh
exec {python} -m pulumi_vertex_training.package "$@"
"""
"""A plugin that is found as a newer one: the same code, which is not told the version of its launcher."""

PROVIDER: dict[str, Any] = {
    "type": "pulumi:providers:vertex-training",
    "properties": {"endpoint": "emulator", "project": "other-project", "location": "europe-west4"},
}


@pytest.fixture(scope="module")
def engine(shared_engine: Engine) -> Engine:
    return with_plugin(shared_engine)


def write(engine: Engine, resources: Mapping[str, Any]) -> None:
    document = {"name": "engine-test", "runtime": "yaml", "resources": dict(resources)}
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(document))


def job(**options: Any) -> dict[str, Any]:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": {"imageUri": IMAGE, "command": ["sleep", "600"]},
    }
    properties = {"workerPoolSpecs": [pool], "project": "local", "location": "us-central1"}
    return {"type": "vertex-training:CustomJob", "properties": properties, "options": options}


def bucket(**options: Any) -> dict[str, Any]:
    return {"type": "vertex-training:StagingBucket", "properties": {"forceDestroy": True}, "options": options}


def keys(engine: Engine) -> dict[str, str]:
    """Return the keys of the providers in the state, by their names."""
    found = [one for one in engine.checkpoint()["resources"] if one["type"] == PROVIDER_TYPE]
    return {one["urn"].rpartition("::")[2]: one["inputs"][stack_key.INPUT] for one in found}


def plugins(engine: Engine) -> Path:
    return Path(engine.environment["PULUMI_HOME"]) / "plugins"


def test_an_upgrade_after_a_kill_keeps_the_key_and_the_job(engine: Engine) -> None:
    train = job(version=__version__)
    train["properties"]["wait"] = "done"  # so that it is killed before the engine has the job
    write(engine, {"train": train})
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    read_output_until(process, "RUNNING", "running")
    engine.kill(process)
    killed = keys(engine)
    assert len(killed) == 1

    newer = plugins(engine) / f"resource-vertex-training-v{NEWER}" / "pulumi-resource-vertex-training"
    newer.parent.mkdir()
    newer.write_text(LAUNCHER.format(python=warm_python.for_plugins()))
    newer.chmod(0o755)
    shutil.move(plugins(engine) / f"resource-vertex-training-v{__version__}", engine.folder / "older")
    explicit = {"other": PROVIDER, "data": bucket(provider="${other}")}
    write(engine, {"train": job(version=NEWER), **explicit})
    upgraded = engine.up().ok()
    assert "adopted custom job" in upgraded.output
    assert set(keys(engine).values()) == set(killed.values())
    assert len(keys(engine)) >= 2
    (running,) = GATEWAY.list_jobs(engine.endpoint())

    write(engine, {"train": job(provider="${other}"), **explicit})
    engine.up().ok()
    (kept,) = GATEWAY.list_jobs(engine.endpoint())
    assert (kept.name, kept.state.is_terminal) == (running.name, False)
    assert set(keys(engine).values()) == set(killed.values())
    assert (
        "other-project"
        in next(one for one in engine.state() if one["urn"].endswith("::data"))["inputs"]["project"]
    )


def test_new_providers_of_one_deployment_get_one_key(engine: Engine) -> None:
    engine.add_stack("second")
    second = Engine(folder=engine.folder, environment={**engine.environment, "PULUMI_STACK": "second"})
    write(second, {"data": bucket(), "other": PROVIDER, "more": bucket(provider="${other}")})
    second.up().ok()
    found = keys(second)
    assert len(found) == 2
    assert len(set(found.values())) == 1
    second.destroy().ok()
