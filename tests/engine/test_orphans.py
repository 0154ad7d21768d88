"""A job that a killed deployment submitted and did not record never goes on unseen."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from support.engine import Engine
from vertex_emulator import launcher
from vertex_emulator.control import Control

PROGRAM = """
vt.CustomJob(
    "{name}",
    display_name="digits",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="{machine}"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
                command=["python3", "-c", "import time; time.sleep(300)"],
            ),
        )
    ],
    {options}
)
"""
RETAINED = "opts=pulumi.ResourceOptions(retain_on_delete=True)"


def program(*, machine: str = "n1-standard-4", name: str = "train", options: str = "") -> str:
    return PROGRAM.format(machine=machine, name=name, options=options)


def forget(engine: Engine) -> None:
    """Take the job out of the state, and leave its run there: as after a kill within create."""
    urn = next(one["urn"] for one in engine.state() if one["type"].endswith(":CustomJob"))
    engine.run("state", "delete", urn, "--yes").ok()


def names(engine: Engine) -> set[str]:
    return {job.name for job in jobs(engine)}


def jobs(engine: Engine) -> list[JobRecord]:
    return custom_jobs.list_jobs(engine.endpoint())


@pytest.fixture
def forgotten(engine: Engine) -> JobRecord:
    """A live job that the state does not know, though it knows its run: what a kill within create leaves."""
    engine.write(program())
    engine.up().ok()
    (job,) = jobs(engine)
    forget(engine)
    return job


def test_it_is_removed_when_the_declaration_changed_meanwhile(engine: Engine, forgotten: JobRecord) -> None:
    engine.write(program(machine="n1-standard-8"))
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


def test_a_job_that_is_retained_lives_on_through_runs_and_destruction(engine: Engine) -> None:
    for machine in ("n1-standard-4", "n1-standard-8", "n1-standard-16"):
        engine.write(program(machine=machine, options=RETAINED))
        engine.up().ok()
    assert len(jobs(engine)) == 3
    engine.destroy().ok()
    assert [job.state.is_terminal for job in jobs(engine)] == [False] * 3
    for job in jobs(engine):
        custom_jobs.cancel(engine.endpoint(), job.name)


def test_one_that_is_protected_is_not_removed_with_its_declaration(engine: Engine) -> None:
    engine.write(program(options="protect_running=True"))
    engine.up().ok()
    forget(engine)
    assert "protect_running is set" in engine.destroy().failed().output
    assert not jobs(engine)[0].state.is_terminal
    custom_jobs.cancel(engine.endpoint(), jobs(engine)[0].name)


def test_a_service_that_refuses_to_list_is_no_reason_to_forget(engine: Engine, forgotten: JobRecord) -> None:
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    control = Control(url=emulator.url, token=emulator.token)
    control.add_fault({"method": "ListCustomJobs", "status": 403})
    engine.destroy().failed()
    control.clear_faults()
    engine.destroy().ok()
    assert jobs(engine) == []


@pytest.mark.parametrize("recorded", [True, False], ids=["its job is recorded", "its job is forgotten"])
def test_a_run_that_is_taken_over_in_the_same_stack_is_not_removed(engine: Engine, recorded: bool) -> None:
    engine.write(program(name="old"))
    engine.up().ok()
    (job,) = jobs(engine)
    if not recorded:
        forget(engine)
    run = job.labels["vertex-training-run"]
    engine.write(program(name="new", options=f'adopt="{job.job_id}", taking_over="{run}"'))
    engine.up().ok()
    assert names(engine) == {job.name}
    assert not jobs(engine)[0].state.is_terminal
    engine.up("--expect-no-changes").ok()


def test_records_that_were_kept_are_not_left_behind(engine: Engine) -> None:
    engine.write(program(options='on_delete="cancel"'))
    engine.up().ok()
    (kept,) = names(engine)
    engine.write(program(machine="n1-standard-8"))
    engine.up().ok()
    engine.destroy().ok()
    assert names(engine) == {kept}
