"""Refresh on the real engine: what the service has of a job shows as property lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.engine import Engine

PROGRAM = """
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        {{
            "machine_spec": {{"machine_type": "n1-standard-4"}},
            "replica_count": 1,
            "container_spec": {{
                "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
                "command": ["python3", "-c", "import time; time.sleep(300)"],
                "env": [{{"name": "API_KEY", "value": config.require_secret("key")}}],
            }},
        }}
    ],
    labels={{"team": "{team}"}},
)
"""


def edit_state(engine: Engine, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the recorded job, as somebody would who repairs a state manually."""
    exported = json.loads(engine.run("stack", "export").ok().output)
    (job,) = [one for one in exported["deployment"]["resources"] if one["type"].endswith(":CustomJob")]
    edit(job)
    target = engine.folder / "state.json"
    target.write_text(json.dumps(exported))
    engine.run("stack", "import", "--file", str(target)).ok()


def refresh(engine: Engine, *arguments: str) -> str:
    return engine.run("refresh", "--non-interactive", *arguments).ok().output


def job_of(engine: Engine) -> dict[str, Any]:
    (job,) = [one for one in engine.state() if one["type"].endswith(":CustomJob")]
    return job


def test_a_record_that_is_not_what_lives_shows_as_property_lines_and_is_put_right(engine: Engine) -> None:
    engine.run("config", "set", "--secret", "key", "hunter2-hunter2").ok()
    engine.write(PROGRAM.format(team="vision"))
    engine.up().ok()
    refresh(engine, "--preview-only", "--expect-no-changes")
    before = job_of(engine)

    def another_team(job: dict[str, Any]) -> None:
        for part in ("inputs", "outputs"):
            job[part]["labels"]["team"] = "speech"

    edit_state(engine, another_team)
    shown = refresh(engine, "--preview-only", "--diff")
    assert '~ team: "speech" => "vision"' in shown
    assert "hunter2" not in shown
    refresh(engine, "--yes", "--skip-preview")
    after = job_of(engine)
    assert after["inputs"].keys() == before["inputs"].keys()
    assert after["inputs"]["labels"] == {"team": "vision"}
    assert "hunter2" not in json.dumps(engine.state())
    engine.preview("--expect-no-changes").ok()
    assert len(custom_jobs.list_jobs(engine.endpoint())) == 1


def test_a_record_of_another_job_is_seen_for_what_it_is(engine: Engine) -> None:
    """Point the id in the state to a job with another spec: refresh says so, and the next plan replaces."""
    engine.run("config", "set", "--secret", "key", "hunter2-hunter2").ok()
    engine.write(PROGRAM.format(team="vision"))
    engine.up().ok()
    wire = dict(custom_jobs.list_jobs(engine.endpoint())[0].wire)
    other = custom_jobs.create(
        engine.endpoint(),
        {"displayName": wire["displayName"], "jobSpec": wire["jobSpec"], "labels": {"team": "other"}},
    )

    def another_job(job: dict[str, Any]) -> None:
        job["id"] = job["outputs"]["name"] = other.name

    edit_state(engine, another_job)
    shown = refresh(engine, "--preview-only", "--diff")
    assert '~ team: "vision" => "other"' in shown
    refresh(engine, "--yes", "--skip-preview")
    planned = engine.preview("--diff").ok().output
    assert '~ team: "other" => "vision"' in planned
    assert "the job is replaced" in planned
    for one in custom_jobs.list_live(engine.endpoint()):
        custom_jobs.cancel(engine.endpoint(), one.name)
