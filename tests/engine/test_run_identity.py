"""What a run is known by, on the real engine: when it is the same, when it is another, and whose it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import engine as support
from support.kills import DESTROY, ON_FAILURE, REPLACE, UP, Moment, Stage, Victim, at

KEPT = 'wait="done", on_delete="cancel"'
LAG = {"method": "ListCustomJobs", "stale": {"changes": 1}, "times": "always"}
"""Lists show what was so before the last job was created or deleted."""
ALIAS = 'opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="train")])'


@pytest.mark.parametrize(
    ("ends", "options"),
    [
        pytest.param(None, 'wait="none"', id="live jobs"),
        pytest.param(True, KEPT, id="finished jobs that the service keeps"),
    ],
)
def test_what_is_changed_and_changed_back_runs_anew(stage: Stage, ends: bool | None, options: str) -> None:
    stage.forget()
    with stage.trial():
        names = []
        for spec in ("A", "B", "A"):
            stage.declare(spec, ends=ends, options=options)
            if ends and len(names) == 2:  # a process that did not make the key has to look for its job
                stage.interrupt(UP, at("CreateCustomJob", Moment.LOST), Victim.BOTH)
            stage.up()
            stage.settle()
            names.append(stage.recorded_jobs())
        assert stage.submissions() == 3
        assert names[0] != names[2]
        if ends is None:
            stage.assert_one()
    stage.clear()


@pytest.mark.parametrize(
    ("ends", "options"),
    [
        pytest.param(None, 'wait="none"', id="a live job"),
        pytest.param(True, KEPT, id="a finished job that the service keeps"),
    ],
)
def test_what_is_replaced_on_demand_runs_anew(stage: Stage, ends: bool | None, options: str) -> None:
    stage.declare(ends=ends, options=options)
    stage.up()
    stage.forget()
    with stage.trial():
        before = stage.recorded_jobs()
        stage.run(*REPLACE).ok()
        assert stage.submissions() == 1
        assert stage.recorded_jobs() != before
        assert "unchanged" in stage.up("--expect-no-changes").output
        assert stage.submissions() == 1
    stage.clear()


def test_a_renamed_job_and_a_renamed_stack_run_nothing(stage: Stage) -> None:
    stage.declare("A")
    stage.up()
    stage.forget()
    with stage.trial():
        before = stage.live()
        stage.declare("A", name="practise", options=f'wait="none", {ALIAS}')
        stage.up()
        assert stage.live() == stage.recorded_jobs() == before
        stage.engine.run("stack", "rename", "other").ok()
        stage.engine.environment["PULUMI_STACK"] = "other"
        stage.up()
        assert stage.live() == before
        stage.engine.run("stack", "rename", "test").ok()
        stage.engine.environment["PULUMI_STACK"] = "test"
        stage.up("--expect-no-changes")
        assert stage.submissions() == 0
        stage.assert_one()
    stage.clear()


def test_every_rerun_on_failure_may_be_interrupted_and_counts(stage: Stage) -> None:
    stage.clear()
    stage.forget()
    with stage.trial():
        stage.declare(ends=False, options=ON_FAILURE.format(limit=2))
        for moment in (Moment.LOST, Moment.CARRIED_OUT):
            stage.interrupt(UP, at("CreateCustomJob", moment), Victim.BOTH)
            stage.until(lambda: set(stage.states()) <= {"FAILED"}, "the end of what was submitted")
            stage.up()
            stage.settle()
            stage.until(lambda: set(stage.states()) == {"FAILED"}, "the end of all")
        assert "limit of reruns on failure, 2, is reached" in stage.up("--expect-no-changes").output
        assert stage.submissions() == 3
        assert set(stage.recorded_jobs()) <= {job["name"] for job in stage.jobs()}
    stage.clear()


def test_a_deployment_that_takes_the_lock_of_a_live_one_adds_no_job(stage: Stage) -> None:
    stage.clear()
    stage.forget()
    with stage.trial():
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
    stage.clear()


def test_a_job_that_is_not_listed_yet_is_not_run_again(stage: Stage) -> None:
    stage.clear()
    stage.declare(options=ON_FAILURE.format(limit=1))
    stage.up()
    stage.forget()
    with stage.trial():
        stage.control.add_fault(LAG)
        stage.up("--expect-no-changes")
        stage.control.clear_faults()
        assert stage.submissions() == 0
        stage.assert_one()


def test_a_job_that_is_listed_though_it_is_gone_is_not_adopted(stage: Stage) -> None:
    stage.clear()
    stage.declare()
    stage.up()
    stage.forget()
    with stage.trial():
        before = stage.live()
        stage.control.add_fault(LAG)
        stage.run(*REPLACE).ok()
        stage.control.clear_faults()
        assert stage.submissions() == 1
        stage.assert_one()
        assert stage.live() != before


@pytest.fixture
def neighbour(stage: Stage, template: Path, tmp_path: Path) -> Iterator[Stage]:
    """Another checkout with another backend: project, stack and resource have the same names there, and the
    emulator is the same."""
    other = Stage(support.copy(template, tmp_path / "project"), data_dir=stage.data_dir)
    yield other
    other.settle()
    other.engine.run("cancel", "--yes")
    other.run(*DESTROY)


@pytest.mark.slow
def test_equal_names_in_two_backends_do_not_touch_each_other(stage: Stage, neighbour: Stage) -> None:
    stage.clear()
    stage.forget()
    with stage.trial():
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
    stage.clear()
