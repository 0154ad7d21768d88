"""A job that a killed deployment submitted and did not record never goes on unseen."""

from __future__ import annotations

import pytest

from support.engine import Engine
from vertex_training.cloud import custom_jobs
from vertex_training.cloud.custom_jobs import JobRecord

PROGRAM = """
vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="{machine}"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
                command=["python3", "-c", "import time; time.sleep(300)"],
            ),
        )
    ],
)
"""


def jobs(engine: Engine) -> list[JobRecord]:
    return custom_jobs.list_jobs(engine.endpoint())


@pytest.fixture
def forgotten(engine: Engine) -> JobRecord:
    """A live job that the state does not know, though it knows its run: what a kill within create leaves."""
    engine.write(PROGRAM.format(machine="n1-standard-4"))
    engine.up().ok()
    (job,) = jobs(engine)
    urn = next(one["urn"] for one in engine.state() if one["type"].endswith(":CustomJob"))
    engine.run("state", "delete", urn, "--yes").ok()
    return job


def test_it_is_removed_when_the_declaration_changed_meanwhile(engine: Engine, forgotten: JobRecord) -> None:
    engine.write(PROGRAM.format(machine="n1-standard-8"))
    output = engine.up().ok().output
    assert f"custom job {forgotten.job_id} was left behind by an interrupted deployment" in output
    (job,) = jobs(engine)
    assert job.name != forgotten.name
    assert not job.state.is_terminal


@pytest.mark.parametrize("taken_out", [True, False], ids=["taken out", "destroyed"])
def test_it_is_removed_with_its_declaration(engine: Engine, forgotten: JobRecord, taken_out: bool) -> None:
    other = custom_jobs.create(
        engine.endpoint(),
        {
            "displayName": "of another declaration",
            "jobSpec": forgotten.wire["jobSpec"],
            "labels": {**forgotten.labels, "vertex-training-run": "0123456789abcdef-1"},
        },
    )
    if taken_out:
        engine.write("")
        engine.up().ok()
    else:
        engine.destroy().ok()
    (left,) = jobs(engine)
    assert left.name == other.name
    assert not left.state.is_terminal
