"""Orphans: jobs that a killed deployment submitted and did not record. They are adopted or removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RUN_LABEL, parse
from support.client.engine import Engine, Result
from support.client.shared_engine import operation
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

# Shown quicker in tests/pulumi_vertex_training: runs/test_deletion.py, runs/test_submission.py,
# core/running/test_run_identity.py, kinds/custom_job/test_adopted_jobs.py
pytestmark = pytest.mark.slow

PROGRAM = """
def declare(name, machine="n1-standard-4", retain=False, **options):
    container = vt.ContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        command=["python3", "-c", "import time; time.sleep(600)"],
    )
    pool = vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type=machine), container_spec=container
    )
    opts = pulumi.ResourceOptions(retain_on_delete=True) if retain else None
    vt.CustomJob(name, worker_pool_specs=[pool], opts=opts, **options)


"""
DESTROY = ("destroy", "--yes", "--skip-preview", "--non-interactive")

Declared = dict[str, dict[str, Any]]
"""The arguments of `declare` in the program, by the name of the job."""

FIRST: Declared = {
    "changed": {},
    "taken-out": {},
    "let-go": {},
    "destroyed": {},
    "protected": {"protect_running": True},
    "old-recorded": {},
    "old-forgotten": {},
    "retained": {"retain": True},
    "kept": {"on_delete": "cancel"},
}


def write(engine: Engine, declared: Declared) -> None:
    engine.write(PROGRAM + "".join(f"declare({name!r}, **{it!r})\n" for name, it in declared.items()))


def forget(engine: Engine, *names: str) -> None:
    """Remove jobs from the state, as `pulumi state delete` does."""
    urns = [
        one["urn"] for one in engine.state() if one["urn"].endswith(tuple(f":CustomJob::{n}" for n in names))
    ]
    assert len(urns) == len(names)
    engine.forget(*urns)


def jobs(engine: Engine) -> dict[str, JobRecord]:
    """Return the jobs of the service by their names."""
    return {job.name: job for job in custom_jobs.list_jobs(engine.endpoint())}


def submit_like(engine: Engine, job: JobRecord) -> str:
    """Submit the job of another declaration, which is equal except for its run, and return its name."""
    labels = {**job.labels, RUN_LABEL: "0123456789abcdef-1", DECLARATION_LABEL: "0123456789abcdef"}
    other = {"displayName": "of another declaration", "jobSpec": job.wire["jobSpec"], "labels": labels}
    return custom_jobs.create(engine.endpoint(), other).name


def leave_behind(engine: Engine, job: JobRecord) -> None:
    """Submit the next run of a job, as a deployment does that is killed before it records the answer."""
    run = parse(job.labels[RUN_LABEL]).next()
    labels = {**job.labels, RUN_LABEL: str(run)}
    custom_jobs.create(
        engine.endpoint(),
        {"displayName": job.display_name, "jobSpec": job.wire["jobSpec"], "labels": labels},
    )


@dataclass(kw_only=True)
class Steps:
    """The output of each command on one stack, and the service's jobs after each."""

    submitted: dict[str, JobRecord]
    """The jobs of the first deployment by their resources."""
    others: dict[str, str]
    """The names of jobs of other declarations, by the resource whose job they are like."""
    second: Result
    second_jobs: dict[str, JobRecord]
    third: Result
    third_jobs: dict[str, JobRecord]
    unlisted: Result
    unlisted_state: list[str]
    """The resources that are left in the state."""
    protected: Result
    protected_jobs: dict[str, JobRecord]
    destroyed: Result
    left: dict[str, JobRecord]

    def of(self, jobs: dict[str, JobRecord], name: str) -> list[JobRecord]:
        return [job for job in jobs.values() if job.display_name == name]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    write(engine, FIRST)
    engine.up().ok()
    submitted = {job.display_name: job for job in jobs(engine).values()}
    others = {name: submit_like(engine, submitted[name]) for name in ("taken-out", "destroyed")}

    forget(engine, "changed", "let-go", "old-forgotten")
    leave_behind(engine, submitted["taken-out"])
    adopting = {
        f"new-{it}": {
            "display_name": f"old-{it}",
            "adopt": submitted[f"old-{it}"].job_id,
            "taking_over": submitted[f"old-{it}"].labels["vertex-training-run"],
        }
        for it in ("recorded", "forgotten")
    }
    declared: Declared = {
        "changed": {"machine": "n1-standard-8"},
        "destroyed": {},
        "protected": {"protect_running": True},
        "retained": {"retain": True, "machine": "n1-standard-8"},
        "kept": {"machine": "n1-standard-8", "on_delete": "cancel"},
        **adopting,
    }
    write(engine, declared)
    second, second_jobs = engine.up().ok(), jobs(engine)
    write(engine, {**declared, "retained": {"retain": True, "machine": "n1-standard-16"}})
    third, third_jobs = engine.up().ok(), jobs(engine)

    leave_behind(engine, submitted["destroyed"])
    custom_jobs.cancel(engine.endpoint(), submitted["protected"].name)
    leave_behind(engine, submitted["protected"])
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    control = Control(url=emulator.url, token=emulator.token)
    control.add_fault({"method": "ListCustomJobs", "status": 403, "times": "always"})
    unlisted = engine.destroy()
    control.clear_faults()
    unlisted_state = [one["urn"].rpartition("::")[2] for one in engine.state()]
    protected, protected_jobs = engine.run(*DESTROY, "--continue-on-error"), jobs(engine)
    for one in protected_jobs.values():
        if one.display_name == "protected":
            custom_jobs.cancel(engine.endpoint(), one.name)
    return Steps(
        submitted=submitted,
        others=others,
        second=second,
        second_jobs=second_jobs,
        third=third,
        third_jobs=third_jobs,
        unlisted=unlisted,
        unlisted_state=unlisted_state,
        protected=protected,
        protected_jobs=protected_jobs,
        destroyed=engine.destroy(),
        left=jobs(engine),
    )


def test_an_orphan_is_removed_when_the_declaration_has_changed(steps: Steps) -> None:
    orphan = steps.submitted["changed"]
    assert f"custom job {orphan.job_id} was left behind by an interrupted deployment" in steps.second.output
    (job,) = steps.of(steps.second_jobs, "changed")
    assert job.name != orphan.name
    assert not job.state.is_terminal


def test_an_orphan_is_removed_with_its_declaration(steps: Steps) -> None:
    assert steps.of(steps.second_jobs, "taken-out") == []
    assert not steps.second_jobs[steps.others["taken-out"]].state.is_terminal
    steps.destroyed.ok()
    assert steps.of(steps.left, "destroyed") == []
    assert not steps.left[steps.others["destroyed"]].state.is_terminal


def test_a_job_that_was_taken_out_of_the_state_and_of_the_program_is_let_go(steps: Steps) -> None:
    for found in (steps.second_jobs, steps.left):
        assert not found[steps.submitted["let-go"].name].state.is_terminal


def test_a_job_that_is_retained_stays_live_through_reruns_and_destruction(steps: Steps) -> None:
    assert len(steps.of(steps.third_jobs, "retained")) == 3
    steps.destroyed.ok()
    assert [job.state.is_terminal for job in steps.of(steps.left, "retained")] == [False] * 3


def test_a_protected_orphan_is_not_removed_with_its_declaration(steps: Steps) -> None:
    assert "protect_running is set" in steps.protected.failed().output
    states = [job.state.is_terminal for job in steps.of(steps.protected_jobs, "protected")]
    assert states.count(False) == 1


def test_a_service_that_refuses_to_list_is_no_reason_to_forget(steps: Steps) -> None:
    steps.unlisted.failed()
    assert any("destroyed" in name for name in steps.unlisted_state), steps.unlisted.output
    steps.destroyed.ok()
    assert steps.of(steps.left, "destroyed") == []


@pytest.mark.parametrize("name", ["recorded", "forgotten"])
def test_a_run_that_is_adopted_in_the_same_stack_is_not_removed(steps: Steps, name: str) -> None:
    job = steps.submitted[f"old-{name}"]
    assert [each.name for each in steps.of(steps.second_jobs, f"old-{name}")] == [job.name]
    assert not steps.second_jobs[job.name].state.is_terminal
    assert operation(steps.third.output, f"new-{name}") == ""


def test_records_that_were_kept_are_no_orphans(steps: Steps) -> None:
    steps.destroyed.ok()
    replaced, last = sorted(steps.of(steps.left, "kept"), key=lambda job: job.create_time or "")
    assert replaced.name == steps.submitted["kept"].name
    assert {replaced.state.word, last.state.word} == {"CANCELLED"}


def test_nothing_else_is_left(steps: Steps) -> None:
    names = {job.display_name for job in steps.left.values()}
    assert names - {"protected"} == {"of another declaration", "let-go", "retained", "kept"}
