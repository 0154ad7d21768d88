"""The folder of checkpoints on the real engine: it is no change for a refresh or a preview."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.engine import Engine

pytestmark = pytest.mark.slow

VARIABLE = "VERTEX_CLUSTER_CHECKPOINT_DIR"
PROGRAM = f"""
bucket = vt.StagingBucket("folders", force_destroy=True)
container = {{
    "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
    "command": ["python3", "-c", "import time; time.sleep(600)"],
}}
machine = {{"machine_type": "n1-standard-4"}}
pool = {{"machine_spec": machine, "replica_count": 1, "container_spec": container}}
own = {{**pool, "container_spec": {{**container, "env": [{{"name": "{VARIABLE}", "value": "gs://mine/all"}}]}}}}
resume = config.get("resume")
vt.CustomJob("kept", worker_pool_specs=[pool, own], staging_bucket=bucket, resume=resume)
vt.CustomJob("shared", worker_pool_specs=[pool], resume=pulumi.Output.concat(bucket.url, "/all"))
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The variables of each job by pool, and what commands printed."""

    kept: list[str]
    shared: list[str]
    recorded: Any
    edited: str
    refused: str


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM)
    for done in engine.preview_and_up():
        done.ok()
    for command in (("refresh", "--preview-only"), ("preview",)):
        engine.run(*command, "--non-interactive", "--expect-no-changes").ok()
    kept, shared = (_job(engine, name) for name in ("kept", "shared"))
    engine.set("resume", "never")
    edited, done = engine.preview_and_up("--diff")
    done.ok()
    assert _job(engine, "kept")["id"] == kept["id"]
    engine.set("resume", "sometimes")
    refused = engine.run("preview", "--non-interactive").output
    return Steps(
        kept=_folders(engine, kept),
        shared=_folders(engine, shared),
        recorded=kept["outputs"],
        edited=edited.ok().output,
        refused=refused,
    )


def _job(engine: Engine, name: str) -> Any:
    (found,) = [one for one in engine.state() if one["urn"].endswith(f":CustomJob::{name}")]
    return found


def _folders(engine: Engine, job: Any) -> list[str]:
    spec = custom_jobs.get(engine.endpoint(), job["id"]).wire["jobSpec"]
    return [
        each["value"]
        for pool in spec["workerPoolSpecs"]
        for each in pool["containerSpec"].get("env", [])
        if each["name"] == VARIABLE
    ]


def test_each_pool_has_the_folder_or_its_own(steps: Steps) -> None:
    hidden = steps.recorded["__run"]
    bucket = steps.recorded["base_output_directory"].split("/")[2]
    assert steps.kept == [f"gs://{bucket}/kept/checkpoints/{hidden['key']}/", "gs://mine/all"]
    assert hidden["checkpoints"] == steps.kept[0]
    assert steps.shared == [f"gs://{bucket}/all/"]


def test_a_change_of_resume_updates_the_record(steps: Steps) -> None:
    assert "resume" in steps.edited
    assert "replace" not in steps.edited


def test_another_word_is_refused(steps: Steps) -> None:
    assert "resume: 'sometimes' is not possible" in steps.refused
