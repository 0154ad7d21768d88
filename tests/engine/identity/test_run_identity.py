"""Runs whose stack or resource is renamed, and runs of two deployments or backends, on the real engine.

`tests/pulumi_vertex_training/core/running/test_run_identity.py` has the cases that need one deployment at
a time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client import engine as support
from support.client.kills.stage import DESTROY, UP, Moment, Stage, Victim, at

ALIAS = 'opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="train")])'


def test_a_renamed_job_and_a_renamed_stack_run_nothing(engine: support.Engine) -> None:
    stage = Stage(engine)
    stage.declare("A")
    stage.up()
    stage.forget()
    before = stage.live()
    stage.engine.run("stack", "rename", "other").ok()
    stage.engine.environment["PULUMI_STACK"] = "other"
    stage.declare("A", options=f'wait="none", {ALIAS}')
    program = stage.subject.program(stage.declaration)  # the spec has the first name, too
    stage.engine.write(program.replace("vt.CustomJob(name", 'vt.CustomJob("practise"'))
    stage.up()
    assert stage.live() == stage.recorded_jobs() == before
    assert stage.submissions() == 0
    stage.assert_one()


def test_a_job_that_is_renamed_and_changed_at_once_keeps_its_record(stage: Stage) -> None:
    """Replace a job that the engine deletes under its former URN."""
    kept = 'on_replace="keep", wait="none"'
    stage.declare("A", options=kept)
    stage.up()
    stage.forget()
    (before,) = stage.live()
    stage.declare("B", options=f"{kept}, {ALIAS}")
    program = stage.subject.program(stage.declaration)
    stage.engine.write(program.replace("vt.CustomJob(name", 'vt.CustomJob("practise"'))
    stage.up()
    assert (stage.submissions(), before in stage.live()) == (1, False)
    assert custom_jobs.get(stage.engine.endpoint(), before).state.word == "CANCELLED"
    stage.assert_one_live()


PARENT = """
class Group(pulumi.ComponentResource):
    def __init__(self):
        super().__init__("test:index:Group", "group")

"""


# Shown quicker in tests/pulumi_vertex_training: core/running/test_run_identity.py
@pytest.mark.slow
def test_a_job_is_one_job_wherever_it_is_declared(stage: Stage, template: Path, tmp_path: Path) -> None:
    """Move it below a parent with an alias, back without one; deploy it alone, and from a second checkout."""
    stage.declare("A")
    stage.up()
    stage.forget()
    (before,) = stage.live()
    alone = stage.engine.folder / "infra" / "__main__.py"
    program = alone.read_text()
    alias = "pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE)"
    opts = f"pulumi.ResourceOptions(parent=Group(), aliases=[{alias}])"
    stage.declare("A", options=f'wait="none", opts={opts}')
    moved = stage.subject.program(stage.declaration)
    stage.engine.write(PARENT + moved)
    stage.up()
    assert (stage.submissions(), stage.live()) == (0, [before])
    (urn,) = [one["urn"] for one in stage.recorded()]
    assert "test:index:Group$" in urn

    stage.up("--target", urn)
    second = support.copy(template, tmp_path / "checkout")
    second.environment = {**stage.engine.environment}
    second.write(PARENT + moved)
    second.environment["PULUMI_BACKEND_URL"] = stage.engine.environment["PULUMI_BACKEND_URL"]
    assert "Resources:" in second.run(*UP, "--expect-no-changes").ok().output
    assert (stage.submissions(), stage.live()) == (0, [before])
    stage.assert_one()

    alone.write_text(program)
    stage.up()
    assert (stage.submissions(), before in stage.live()) == (1, False)
    stage.assert_one()


# Shown quicker in tests/pulumi_vertex_training: core/interrupted/test_jobs.py, core/state/test_entries.py
@pytest.mark.slow
def test_a_killed_first_deployment_of_a_target_is_continued(stage: Stage) -> None:
    """Deploy the job alone, so that the stack has no key: the pending creation in the state names the run."""
    target = ("--target", stage.subject.urn)
    for then in (target, ()):
        stage.clear()
        stage.declare("A")
        stage.interrupt((*UP, *target), at("CreateCustomJob", Moment.CARRIED_OUT), Victim.BOTH)
        stage.settle()
        stage.up(*then)
        assert stage.submissions() == 1, stage.output
        stage.assert_one()
        if then:
            stage.up()
        stage.up("--expect-no-changes")
        assert stage.submissions() == 1
        assert [one.name for one in (stage.engine.data_dir / "creations").glob("urn-*")] == []


# Shown quicker in tests/pulumi_vertex_training: core/running/test_run_identity.py,
# package/test_stack_key.py
@pytest.mark.slow
def test_a_killed_deployment_of_a_saved_plan_is_continued(stage: Stage) -> None:
    """Plan a first job, and then its replacement on demand."""
    stage.declare("A")
    urn = stage.subject.urn
    cold = replace(  # the shared Python is no child of the command, whose arguments have the plan
        stage.engine,
        environment={**stage.engine.environment, "PULUMI_PYTHON_CMD": sys.executable},
    )
    planned = Stage(cold, data_dir=stage.data_dir, subject=stage.subject, declaration=stage.declaration)
    plan = str(stage.engine.folder / "plan.json")
    for words in ((), ("--replace", urn)):
        stage.forget()
        stage.engine.preview("--save-plan", plan, *words).ok()
        up = (*UP, "--plan", plan, *words)
        planned.interrupt(up, at("CreateCustomJob", Moment.CARRIED_OUT), Victim.BOTH)
        planned.settle()
        (made,) = stage.live()
        if words:  # the engine refuses the old plan, because its first step is done
            stage.engine.preview("--save-plan", plan, *words).ok()
        planned.run(*up).ok()
        assert (planned.submissions(), stage.live()) == (1, [made]), planned.output
        stage.assert_one_live()


@pytest.mark.slow
def test_a_deployment_that_takes_the_lock_of_a_live_one_adds_no_job(stage: Stage) -> None:
    stage.declare()
    with stage.held(UP, at("CreateCustomJob", Moment.CARRIED_OUT)) as (first, release):
        assert "pulumi cancel" in stage.run(*UP).failed().output
        stage.engine.run("cancel", "--yes").ok()
        stage.up()
        release()
        first.communicate(timeout=60)
    stage.up()
    assert stage.submissions() == 1
    stage.assert_one()


@pytest.fixture
def neighbour(stage: Stage, template: Path, python: Path, tmp_path: Path) -> Iterator[Stage]:
    """Yield a stack in another backend, with the same emulator and the same names of project and resource."""
    project = support.copy(template, tmp_path / "project", python=python)
    other = Stage(project, data_dir=stage.data_dir)
    yield other
    other.settle()
    other.engine.unlock()
    other.run(*DESTROY)


@pytest.mark.slow
def test_equal_names_in_two_backends_do_not_touch_each_other(stage: Stage, neighbour: Stage) -> None:
    stage.declare("A")
    neighbour.declare("A")
    stage.interrupt(UP, at("CreateCustomJob", Moment.CARRIED_OUT), Victim.BOTH)
    (mine,) = stage.live()
    neighbour.interrupt(UP, at("CreateCustomJob", Moment.CARRIED_OUT), Victim.BOTH)
    (theirs,) = set(stage.live()) - {mine}
    both = [one.engine.start(*UP) for one in (stage, neighbour)]
    for process in both:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
    stage.settle()
    assert (stage.recorded_jobs(), neighbour.recorded_jobs()) == ([mine], [theirs])
    assert sorted(stage.live()) == sorted([mine, theirs])
    assert stage.submissions() == 2

    stage.declare("B")
    stage.up()
    neighbour.up("--expect-no-changes")
    assert theirs in stage.live()
    stage.run(*DESTROY).ok()
    assert stage.live() == neighbour.recorded_jobs() == [theirs]
    neighbour.up("--expect-no-changes")
    neighbour.destroy()
    assert stage.submissions() == 3
