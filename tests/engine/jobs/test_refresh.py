"""Refresh on the real engine: what the service has of a job shows as property lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.engine import Engine

# Shown quicker in tests/pulumi_vertex_training: core/running/test_run_identity.py,
# core/test_property_changes.py
pytestmark = pytest.mark.slow

PROGRAM = """
def declare(name):
    container = {
        "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "command": ["python3", "-c", "import time; time.sleep(600)"],
        "env": [{"name": "API_KEY", "value": pulumi.Output.secret("hunter2-hunter2")}],
    }
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": container,
    }
    vt.CustomJob(name, worker_pool_specs=[pool], labels={"team": name})


declare("edited")
declare("pointed")
"""


@dataclass(kw_only=True)
class Steps:
    """The output of commands on one stack, and its state before and after a refresh."""

    before: dict[str, Any]
    shown: str
    after: dict[str, Any]
    state: str
    planned: str
    jobs: list[str]
    """The service's jobs that `edited` has submitted."""


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM)
    engine.up().ok()
    before = job_of(engine, "edited")
    wire = custom_jobs.get(engine.endpoint(), job_of(engine, "pointed")["id"]).wire
    other = custom_jobs.create(
        engine.endpoint(),
        {
            "displayName": wire["displayName"],
            "jobSpec": {**wire["jobSpec"], "scheduling": {"timeout": "3600s"}},
            "labels": {"team": "other"},
        },
    )

    edit_state(engine, other.name)
    shown = refresh(engine, "--yes", "--diff")
    jobs = custom_jobs.list_jobs(engine.endpoint())
    return Steps(
        before=before,
        shown=shown,
        after=job_of(engine, "edited"),
        state=json.dumps(engine.state()),
        planned=engine.preview("--diff").ok().output,
        jobs=[one.name for one in jobs if one.display_name == "edited"],
    )


def edit_state(engine: Engine, other: str) -> None:
    """Give a job another label in the state, and another the id `other`, as in a manual repair."""
    with engine.edited_resources() as resources:
        jobs = {
            one["urn"].rpartition("::")[2]: one for one in resources if one["type"].endswith(":CustomJob")
        }
        for part in ("inputs", "outputs"):
            jobs["edited"][part]["labels"]["team"] = "speech"
        jobs["pointed"]["id"] = jobs["pointed"]["outputs"]["name"] = other


def refresh(engine: Engine, *arguments: str) -> str:
    return engine.run("refresh", "--non-interactive", *arguments).ok().output


def job_of(engine: Engine, name: str) -> dict[str, Any]:
    (job,) = [one for one in engine.state() if one["urn"].endswith(f":CustomJob::{name}")]
    return job


def test_a_state_that_differs_from_the_live_job_shows_as_property_lines_and_is_corrected(
    steps: Steps,
) -> None:
    assert '~ team: "speech" => "edited"' in steps.shown
    assert "hunter2" not in steps.shown
    assert steps.after["inputs"].keys() == steps.before["inputs"].keys()
    assert steps.after["inputs"]["labels"] == {"team": "edited"}
    assert "hunter2" not in steps.state
    assert "CustomJob::edited" not in steps.planned, "the next deployment has nothing to change"
    assert len(steps.jobs) == 1


def test_an_id_of_another_job_shows_its_properties_and_the_next_plan_replaces_it(steps: Steps) -> None:
    assert '~ team: "pointed" => "other"' in steps.shown
    assert "timeout: 3600s -> none; label team: other -> pointed; the job is replaced" in steps.planned
    assert "CustomJob::pointed" in steps.planned
