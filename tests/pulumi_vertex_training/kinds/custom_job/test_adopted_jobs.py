"""`CustomJob(adopt=...)` on the engine in the test's process: whose job it is, from then on.

`tests/engine/jobs/test_adoption.py` has the same on the real engine, with previews and policies.
"""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from support.client.in_process.project import Project
from support.waiting import eventually

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
RUN = "0123456789abcdef-2"
PROGRAM = f"""
def declare(name, machine="n1-standard-4", **options):
    task = {{"image_uri": "{IMAGE}", "command": ["sleep", "600"]}}
    pool = {{"machine_spec": {{"machine_type": machine}}, "replica_count": 1, "container_spec": task}}
    vt.CustomJob(name, worker_pool_specs=[pool], **options)


"""


def declared(engine: Project, **jobs: dict[str, Any]) -> None:
    engine.write(PROGRAM + "".join(f"declare({name!r}, **{options!r})\n" for name, options in jobs.items()))


def submit(engine: Project, name: str, **labels: str) -> JobRecord:
    """Submit the job as somebody else."""
    task = {"imageUri": IMAGE, "command": ["sleep", "600"]}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": task}
    job = {"displayName": name, "jobSpec": {"workerPoolSpecs": [pool]}, "labels": labels}
    return custom_jobs.create(engine.endpoint(), job)


def recorded(engine: Project) -> dict[str, str]:
    """Return the job of each resource."""
    return {one["urn"].rpartition("::")[2]: one["id"] for one in engine.state()}


def live(engine: Project) -> set[str]:
    return {one.name for one in custom_jobs.list_jobs(engine.endpoint()) if not one.state.is_terminal}


@pytest.fixture
def engine(project: Project) -> Project:
    """Return the module's project with an empty stack."""
    project.destroy().ok()
    return project


def test_an_adopted_job_is_replaced_when_it_changes_and_destroyed(engine: Project) -> None:
    job = submit(engine, "theirs")
    declared(engine, theirs={"adopt": job.job_id})
    assert f"theirs: adopted custom job {job.job_id}: it is " in engine.up().ok().output
    assert recorded(engine) == {"theirs": job.name}
    declared(engine, theirs={})
    engine.up("--expect-no-changes").ok()
    declared(engine, theirs={"machine": "n1-standard-8"})
    engine.up().ok()
    (replacement,) = recorded(engine).values()
    assert job.name not in live(engine)
    assert replacement in live(engine)
    engine.destroy().ok()
    assert custom_jobs.get(engine.endpoint(), job.name).state.is_terminal, "a job of somebody else is kept"


def test_a_job_that_differs_is_refused_with_every_difference_and_adopted_later(engine: Project) -> None:
    job = submit(engine, "different")
    other = {"adopt": job.name, "machine": "n1-standard-8", "labels": {"team": "vision"}}
    declared(engine, different=other)
    refused = engine.up().failed().output
    assert "worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-4' -> 'n1-standard-8'" in refused
    assert "labels.team: none -> 'vision'" in refused
    assert f"vertex-training import {job.job_id}" in refused
    assert (recorded(engine), job.name in live(engine)) == ({}, True)
    declared(engine, different={"adopt": job.name})
    engine.up().ok()
    assert recorded(engine) == {"different": job.name}


def test_a_job_of_another_declaration_is_adopted_only_with_its_run(engine: Project) -> None:
    labels = {"vertex-training-run": RUN, "pulumi-stack": "prod"}
    job = submit(engine, "foreign", **labels)
    declared(engine, foreign={"adopt": job.job_id})
    assert f"belongs to run {RUN} (stack prod)" in engine.up().failed().output
    assert job.name in live(engine)
    declared(engine, foreign={"adopt": job.job_id, "taking_over": RUN})
    engine.up().ok()
    assert recorded(engine) == {"foreign": job.name}


@pytest.mark.parametrize("forgotten", [False, True], ids=["recorded", "forgotten"])
def test_a_job_moves_to_another_declaration_of_its_stack(engine: Project, forgotten: bool) -> None:
    """Remove the old declaration in the same deployment, which must not remove the job with it."""
    declared(engine, old={"display_name": "old"})
    engine.up().ok()
    (name,) = recorded(engine).values()
    run = custom_jobs.get(engine.endpoint(), name).labels["vertex-training-run"]
    if forgotten:
        engine.forget(*(one["urn"] for one in engine.state()))
    declared(engine, new={"display_name": "old", "adopt": name, "taking_over": run})
    engine.up().ok()
    assert (recorded(engine), live(engine)) == ({"new": name}, {name})


def test_an_adopted_job_that_is_gone_runs_again(engine: Project) -> None:
    job = submit(engine, "gone")
    declared(engine, gone={"adopt": job.job_id})
    engine.up().ok()
    endpoint = engine.endpoint()
    custom_jobs.cancel(endpoint, job.name)
    eventually(lambda: job.name not in live(engine))
    custom_jobs.delete(endpoint, job.name)
    engine.refresh().ok()
    engine.up().ok()
    assert recorded(engine)["gone"] != job.name
