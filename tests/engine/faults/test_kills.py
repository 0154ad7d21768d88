"""Kills of the real processes: one for each kind of resource, and one of each process.

Each is at the point where most is at stake: the service has carried out the creation, and the state does not
know. `tests/pulumi_vertex_training/core/test_kills_everywhere.py` tries every point of every operation, in
the test's process; `tests/engine/stand_ins/test_in_process_engine.py` shows that its calls are those of the
real engine.
"""

from __future__ import annotations

import pytest

from support.client.kills.stage import DESTROY, UP, Moment, Stage, Victim, at
from support.client.kills.subjects import (
    BUCKET,
    CUSTOM_JOB,
    MODEL,
    PERSISTENT_RESOURCE,
    PIPELINE,
    REPOSITORY,
    STAGED_FILE,
    STAGED_FOLDER,
    TUNING_JOB,
    Subject,
)

KINDS = (
    *(CUSTOM_JOB, TUNING_JOB, PIPELINE, MODEL, PERSISTENT_RESOURCE),
    *(BUCKET, REPOSITORY, STAGED_FILE, STAGED_FOLDER),
)
"""The kinds except images, of which `tests/engine/identity/test_undeclared.py` kills one, and schedules."""


def of_kind(subject: Subject) -> object:
    """Return the row of a kind; one of the jobs and one of the objects is tried by each run."""
    marks = [] if subject in (CUSTOM_JOB, STAGED_FOLDER) else [pytest.mark.slow]
    return pytest.param(subject, id=subject.noun, marks=marks)


# Shown quicker in tests/pulumi_vertex_training: core/test_kills_everywhere.py, kinds/test_lost_answers.py
@pytest.mark.parametrize("subject", [of_kind(each) for each in KINDS])
def test_what_the_service_has_and_the_state_has_not(stage: Stage, subject: Subject) -> None:
    stage.subject = subject
    stage.declare()
    stage.interrupt(UP, at(subject.method("Create"), Moment.CARRIED_OUT), Victim.BOTH)
    stage.settle()
    (made,) = [one["name"] for one in stage.jobs()]
    stage.up()
    stage.assert_declared()
    (one,) = stage.jobs()
    assert one["name"] == made
    assert stage.submissions() == len(one.get("objects", [one]))


@pytest.mark.parametrize(
    ("victim", "method", "moment"),
    [
        pytest.param(Victim.PROVIDER, "CreateCustomJob", Moment.LOST, id="the provider"),
        # test_faults.py kills pulumi, and the emulator while pulumi waits, in other deployments.
        pytest.param(
            *(Victim.PULUMI, "CreateCustomJob", Moment.ANSWERED), id="pulumi", marks=pytest.mark.slow
        ),
        pytest.param(Victim.EMULATOR, "CreateCustomJob", Moment.CARRIED_OUT, id="the emulator"),
        pytest.param(
            *(Victim.EMULATOR, "GetCustomJob", Moment.ASKED),
            id="the emulator while pulumi waits",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_one_process_is_killed(stage: Stage, victim: Victim, method: str, moment: Moment) -> None:
    stage.declare(options='wait="running"' if method == "GetCustomJob" else "")
    stage.interrupt(UP, at(method, moment), victim)
    stage.up()
    stage.settle()
    stage.assert_one()
    assert stage.submissions() == 1, stage.output


def test_a_provider_does_nothing_for_an_engine_that_was_killed(stage: Stage) -> None:
    stage.declare()
    stage.interrupt(UP, at("CreateCustomJob", Moment.LOST), Victim.BOTH)
    stage.settle()
    stage.interrupt(UP, at("ListCustomJobs"), Victim.PULUMI)
    stage.until_left()
    assert stage.submissions() == 0
    stage.up()
    stage.assert_one()
    stage.interrupt(DESTROY, at("GetCustomJob"), Victim.PULUMI)
    stage.until_left()
    assert stage.states() == ["RUNNING"]
    stage.destroy()
    stage.assert_nothing_is_left()


# Shown quicker in tests/pulumi_vertex_training: core/test_kills_everywhere.py,
# core/running/test_run_identity.py
@pytest.mark.slow
def test_the_old_job_is_cancelled_and_its_record_kept(stage: Stage) -> None:
    """Kill a replacement as it is by default, with the job's old record kept, and then finish it."""
    stage.declare()
    stage.up()
    stage.forget()
    stage.declare(options='on_replace="keep"')
    stage.interrupt(UP, at("CancelCustomJob", Moment.CARRIED_OUT), Victim.BOTH)
    stage.up()
    stage.settle()
    assert stage.submissions() == 1, stage.output
    stage.assert_one_live()
    assert len(stage.jobs()) == 2
