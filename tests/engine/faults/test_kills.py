"""Every operation on a job, held at every step, and somebody killed there: one live job after the next `up`.

One table for each operation: its steps, and who is killed there in every run of the tests. KILLS=all kills
everybody at every step, and destroys after each.
`tests/pulumi_vertex_training/plugin/running/test_runs_killed_everywhere.py` tries
every point of the same operations without the engine; what is about the processes is here.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from support.kills.stage import (
    DESTROY,
    REFRESH,
    REPLACE,
    RUN_CREATE,
    RUN_UPDATE,
    UP,
    Hold,
    Moment,
    Situation,
    Stage,
    Victim,
    at,
)

ALL = {"": False, "all": True}[os.environ.get("KILLS", "")]

ASKED, LOST, CARRIED_OUT = Moment.ASKED, Moment.LOST, Moment.CARRIED_OUT
ANSWERED, CALLED = Moment.ANSWERED, Moment.CALLED
PULUMI, PROVIDER, BOTH, EMULATOR = Victim


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of an operation; `usually`: who is killed there without KILLS=all."""

    name: str
    hold: Hold
    usually: tuple[Victim, ...] = ()

    def kills(self, *usually: Victim) -> Step:
        return replace(self, usually=usually)

    def victims(self) -> Iterator[Victim]:
        for victim in Victim:
            if self.hold.moment is ANSWERED and victim not in (PULUMI, BOTH):
                continue  # the engine has the answer: it records it
            if self.hold.moment is LOST and victim is EMULATOR:
                continue  # the same as ASKED
            if ALL or victim in self.usually:
                yield victim


def step(name: str, what: str, moment: Moment = ASKED, *, nth: int = 1) -> Step:
    return Step(name=name, hold=Hold(what=what, moment=moment, nth=nth))


def product(*steps: Step, slow: bool = True) -> pytest.MarkDecorator:
    """Make one test for each step and victim."""
    return pytest.mark.parametrize(
        ("step", "victim"),
        [
            pytest.param(
                each, victim, id=f"{each.name}, {victim.value}", marks=[pytest.mark.slow] if slow else []
            )
            for each in steps
            for victim in each.victims()
        ],
    )


LOOKED_AT = step("how the job stands is asked", "ListCustomJobs")
JOB_LOOKED_FOR = step("the job of the run is looked for", "ListCustomJobs")
NOT_SUBMITTED = step("the job is not submitted yet", "CreateCustomJob")
NEVER_SUBMITTED = step("the submission gets lost", "CreateCustomJob", LOST)
SUBMITTED = step("the job is submitted, the answer is not there", "CreateCustomJob", CARRIED_OUT)
NOT_RECORDED = step("the job is submitted, and not recorded", "CreateCustomJob", ANSWERED)
NOT_DELETED = step("the old job is not deleted", "DeleteCustomJob")
DELETED = step("the old job is deleted, the answer is not there", "DeleteCustomJob", CARRIED_OUT)
DELETED_NOT_RECORDED = step("the old job is deleted, and not recorded", "DeleteCustomJob", ANSWERED)
RUN_NOT_UPDATED = step("the run is not updated", RUN_UPDATE, CALLED)


def up_again(stage: Stage, *, submissions: int) -> None:
    """Deploy again and assert that one job is live, after so many submissions since the trial began."""
    stage.up()
    stage.settle()
    assert stage.submissions() == submissions, stage.output
    stage.assert_one()
    if ALL:
        stage.destroy()


@product(
    step("the run is not recorded", RUN_CREATE, CALLED).kills(BOTH),
    NOT_SUBMITTED.kills(BOTH),
    NEVER_SUBMITTED.kills(PROVIDER),
    SUBMITTED.kills(BOTH, EMULATOR),
    NOT_RECORDED.kills(PULUMI),
    step("waiting", "GetCustomJob").kills(EMULATOR),
    slow=False,
)
def test_the_first_run(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.NOTHING)
    with stage.trial():
        stage.declare(options='wait="running"' if step.name == "waiting" else 'wait="none"')
        stage.interrupt(UP, step.hold, victim)
        up_again(stage, submissions=1)


@product(NOT_SUBMITTED, SUBMITTED.kills(BOTH), NOT_RECORDED)
def test_the_first_run_and_then_a_destruction(stage: Stage, step: Step, victim: Victim) -> None:
    """Kill a deployment whose job is in no state: only the run has its key."""
    stage.prepare(Situation.NOTHING)
    with stage.trial():
        stage.declare()
        stage.interrupt(UP, step.hold, victim)
        stage.settle()
        stage.destroy()


@product(NOT_SUBMITTED, SUBMITTED.kills(BOTH), NOT_RECORDED)
def test_the_first_run_and_then_another_spec(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.NOTHING)
    with stage.trial():
        stage.declare()
        stage.interrupt(UP, step.hold, victim)
        stage.declare()
        up_again(stage, submissions=1 if (step, victim) == (NOT_SUBMITTED, EMULATOR) else 2)


@product(
    JOB_LOOKED_FOR.kills(PULUMI),
    NOT_SUBMITTED,
    NEVER_SUBMITTED,
    SUBMITTED,
    NOT_RECORDED,
)
def test_a_run_whose_job_was_never_submitted(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.RECORDED)
    with stage.trial():
        stage.interrupt(UP, step.hold, victim)
        if step.hold == JOB_LOOKED_FOR.hold and victim is PULUMI:
            stage.until_left()  # the provider goes, and submits nothing for a deployment that is dead
            assert stage.submissions() == 0
        up_again(stage, submissions=1)


@product(
    RUN_NOT_UPDATED.kills(PULUMI),
    LOOKED_AT,
    step("the run is updated, the old job is not cancelled", "GetCustomJob"),
    step("the old job is about to be cancelled", "CancelCustomJob").kills(EMULATOR),
    step("the old job is cancelled", "CancelCustomJob", CARRIED_OUT),
    step("waiting for the old job's end", "GetCustomJob", nth=2).kills(PROVIDER),
    NOT_DELETED,
    DELETED,
    DELETED_NOT_RECORDED,
    NOT_SUBMITTED,
    NEVER_SUBMITTED,
    SUBMITTED,
    NOT_RECORDED.kills(BOTH),
)
def test_a_changed_spec(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.LIVE)
    with stage.trial():
        stage.declare()
        stage.interrupt(UP, step.hold, victim)
        up_again(stage, submissions=1)


@product(
    step("the old job is cancelled", "CancelCustomJob", CARRIED_OUT).kills(BOTH),
    SUBMITTED.kills(BOTH),
    slow=False,
)
def test_a_changed_spec_with_records_that_are_kept(stage: Stage, step: Step, victim: Victim) -> None:
    """Replace a job as by default: the record of the old one stays."""
    stage.prepare(Situation.LIVE)
    with stage.trial():
        stage.declare(options='wait="none", on_replace="keep"')
        stage.interrupt(UP, step.hold, victim)
        stage.up()
        stage.settle()
        assert stage.submissions() == 1, stage.output
        stage.assert_one_live()
        assert len(stage.jobs()) == 2
    stage.destroy()


@product(
    LOOKED_AT.kills(EMULATOR),
    RUN_NOT_UPDATED,
    NOT_DELETED,
    DELETED,
    DELETED_NOT_RECORDED,
    NOT_SUBMITTED,
    NEVER_SUBMITTED,
    SUBMITTED.kills(PROVIDER),
    NOT_RECORDED.kills(BOTH),
)
def test_a_rerun_on_failure_counts_though_it_was_interrupted(
    stage: Stage, step: Step, victim: Victim
) -> None:
    stage.prepare(Situation.FAILED)
    with stage.trial():
        stage.interrupt(UP, step.hold, victim)
        _ = stage.control  # an emulator that was killed is not started to look at a job
        stage.up()
        stage.settle()
        stage.until_failed()
        assert "limit of reruns on failure, 1, is reached" in stage.up("--expect-no-changes").output
        assert stage.submissions() == 1
        assert [job["name"] for job in stage.jobs()] == stage.recorded_jobs()


@product(
    step("nobody was asked", "GetCustomJob"),
    step("the answer is not there", "GetCustomJob", CARRIED_OUT).kills(BOTH),
)
def test_a_refresh(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.LIVE)
    with stage.trial():
        before = stage.live()
        stage.interrupt(REFRESH, step.hold, victim)
        stage.up()
        stage.settle()
        assert stage.submissions() == 0
        stage.assert_one()
        assert stage.live() == before


class Left(enum.Enum):
    """The state of a job after an interrupted deletion."""

    LIVE = "live"
    CANCELLED = "cancelled"
    GONE = "gone"


NOT_CANCELLED = step("the job is not cancelled", "GetCustomJob")
TO_BE_CANCELLED = step("the job is about to be cancelled", "CancelCustomJob")
CANCELLED = step("the job is cancelled, the answer is not there", "CancelCustomJob", CARRIED_OUT)
ENDING = step("waiting for its end", "GetCustomJob", nth=3)


def left(hold: Hold, victim: Victim) -> Left:
    """Return what is left of the job, by the requests that were sent and the processes that could send more.

    A provider without an engine cannot say that it is about to cancel the job, and does not; what it has
    begun it ends.
    """
    is_refused = hold.moment is ASKED and victim is EMULATOR
    if hold == NOT_CANCELLED.hold or (hold == TO_BE_CANCELLED.hold and is_refused):
        return Left.LIVE
    if victim is PULUMI or (hold.what == "DeleteCustomJob" and not is_refused):
        return Left.GONE
    return Left.CANCELLED


def interrupt_deletion(stage: Stage, command: tuple[str, ...], step: Step, victim: Victim) -> Left:
    """Interrupt the deletion, and assert that it leaves what is expected."""
    stage.interrupt(command, step.hold, victim)
    expected = left(step.hold, victim)
    states = {Left.LIVE: ["RUNNING"], Left.CANCELLED: ["CANCELLED"], Left.GONE: []}[expected]
    stage.until(lambda: stage.states() == states, f"the job is {expected.value}")
    return expected


def up_after_deletion(stage: Stage, expected: Left, before: list[str]) -> None:
    """Deploy again: a job that was cancelled to be deleted runs again, as a deleted one does."""
    stage.up()
    stage.settle()
    stage.assert_one()
    assert (stage.live() == before) == (expected is Left.LIVE)
    assert stage.submissions() == (expected is not Left.LIVE)


@product(
    NOT_CANCELLED.kills(PULUMI),
    TO_BE_CANCELLED,
    CANCELLED.kills(BOTH),
    replace(ENDING, hold=at("GetCustomJob", nth=2)),
    NOT_DELETED,
    DELETED.kills(EMULATOR),
    DELETED_NOT_RECORDED,
)
def test_a_destruction_and_then_another(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.LIVE)
    with stage.trial():
        interrupt_deletion(stage, DESTROY, step, victim)
        stage.destroy()
        stage.settle()
        assert stage.submissions() == 0


@product(
    NOT_CANCELLED,
    TO_BE_CANCELLED,
    CANCELLED.kills(BOTH),
    replace(ENDING, hold=at("GetCustomJob", nth=2)),
    NOT_DELETED,
    DELETED.kills(PROVIDER),
    DELETED_NOT_RECORDED,
)
def test_a_destruction_and_then_a_deployment(stage: Stage, step: Step, victim: Victim) -> None:
    stage.prepare(Situation.LIVE)
    with stage.trial():
        before = stage.live()
        expected = interrupt_deletion(stage, DESTROY, step, victim)
        up_after_deletion(stage, expected, before)


@product(
    NOT_CANCELLED,
    TO_BE_CANCELLED.kills(EMULATOR),
    CANCELLED.kills(BOTH),
    ENDING,
    NOT_DELETED,
    DELETED,
    DELETED_NOT_RECORDED,
)
def test_a_replacement_on_demand_while_the_old_job_is_deleted(
    stage: Stage, step: Step, victim: Victim
) -> None:
    """Kill a replacement; the next deployment finishes it once the old job is cancelled."""
    stage.prepare(Situation.LIVE)
    with stage.trial():
        before = stage.live()
        expected = interrupt_deletion(stage, REPLACE, step, victim)
        up_after_deletion(stage, expected, before)


@product(
    JOB_LOOKED_FOR.kills(PULUMI),
    NOT_SUBMITTED,
    NEVER_SUBMITTED,
    SUBMITTED.kills(PROVIDER),
    NOT_RECORDED.kills(BOTH),
)
def test_a_replacement_on_demand_once_the_old_job_is_deleted(
    stage: Stage, step: Step, victim: Victim
) -> None:
    stage.prepare(Situation.LIVE)
    with stage.trial():
        before = stage.live()
        stage.interrupt(REPLACE, step.hold, victim)
        stage.up()
        stage.settle()
        assert stage.submissions() == 1
        stage.assert_one()
        assert stage.live() != before
