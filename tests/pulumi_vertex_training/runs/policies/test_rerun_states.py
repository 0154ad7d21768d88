"""The facts that a decision about a rerun or a removal is made from, and the removals."""

from __future__ import annotations

import itertools

import pytest

from pulumi_vertex_training.kinds.custom_job.gateway import JobState
from pulumi_vertex_training.runs.policies import deletion_policy
from pulumi_vertex_training.runs.policies.deletion_policy import Step, plan
from pulumi_vertex_training.runs.policies.run_status import (
    ENDED,
    LIVE,
    STARTED,
    Change,
    LastRun,
    LookupResult,
    change_of,
    last_run,
)

REMOVALS = tuple(itertools.product(LastRun, (False, True), (False, True)))


@pytest.mark.parametrize(
    ("recorded", "declared", "record_changed", "change"),
    [
        pytest.param(("v1-a", None), ("v1-a", None), False, Change.NOTHING, id="nothing"),
        pytest.param(("v1-a", ""), ("v1-a", None), False, Change.NOTHING, id="no token, empty token"),
        pytest.param(("v1-a", None), ("v1-a", None), True, Change.RECORD, id="record"),
        pytest.param(("v1-a", "1"), ("v1-a", "1"), False, Change.NOTHING, id="the same token"),
        pytest.param(("v1-a", "1"), ("v1-a", "2"), True, Change.RUN_TOKEN, id="token and record"),
        pytest.param(("v1-a", None), ("v1-a", "1"), False, Change.RUN_TOKEN, id="a first token"),
        pytest.param(("v1-a", "1"), ("v1-a", None), False, Change.RUN_TOKEN, id="no token any more"),
        pytest.param(("v1-a", "1"), ("v1-b", "2"), True, Change.SPEC, id="all"),
        pytest.param(("v1-a", "1"), (None, "2"), True, Change.SPEC_UNKNOWN, id="not known"),
    ],
)
def test_change_of(
    recorded: tuple[str | None, str | None],
    declared: tuple[str | None, str | None],
    record_changed: bool,
    change: Change,
) -> None:
    assert change_of(recorded=recorded, declared=declared, record_changed=record_changed) is change


@pytest.mark.parametrize("state", JobState, ids=lambda state: state.name)
def test_states_of_the_service(state: JobState) -> None:
    run = last_run("JOB_STATE_PENDING", state.name)
    if state is JobState.JOB_STATE_UNSPECIFIED:
        assert run is LastRun.NOT_KNOWN
    else:
        assert (run in ENDED) == state.is_terminal
        assert (run in LIVE | {LastRun.CANCELLING}) == (not state.is_terminal)


@pytest.mark.parametrize(
    ("recorded", "seen", "run"),
    [
        pytest.param(None, LookupResult.ABSENT, LastRun.NONE, id="never submitted"),
        pytest.param(None, LookupResult.NO_ANSWER, LastRun.NONE, id="never recorded, no answer"),
        pytest.param(None, "JOB_STATE_RUNNING", LastRun.RUNNING, id="submitted, not recorded"),
        pytest.param("JOB_STATE_RUNNING", LookupResult.ABSENT, LastRun.GONE, id="deleted while live"),
        pytest.param("JOB_STATE_RUNNING", LookupResult.NO_ANSWER, LastRun.NOT_KNOWN, id="no answer"),
        pytest.param("JOB_STATE_RUNNING", "JOB_STATE_FAILED", LastRun.FAILED, id="failed since"),
        pytest.param(
            "JOB_STATE_SUCCEEDED", LookupResult.ABSENT, LastRun.SUCCEEDED, id="deleted after success"
        ),
        pytest.param("JOB_STATE_FAILED", LookupResult.ABSENT, LastRun.FAILED, id="deleted after failure"),
        pytest.param("JOB_STATE_FAILED", LookupResult.NO_ANSWER, LastRun.FAILED, id="ended, not asked"),
        pytest.param("JOB_STATE_RUNNING", "JOB_STATE_OF_2030", LastRun.NOT_KNOWN, id="a new state"),
        pytest.param("PIPELINE_STATE_RUNNING", "PIPELINE_STATE_PAUSED", LastRun.PAUSED, id="a pipeline"),
    ],
)
def test_the_state_of_the_last_run(recorded: str | None, seen: str | LookupResult, run: LastRun) -> None:
    assert last_run(recorded, seen) is run


def test_every_removal_has_a_row_and_every_row_a_removal() -> None:
    assert {plan(run, keep_record=keep, protect_running=protect).row for run, keep, protect in REMOVALS} == {
        row.name for row in deletion_policy.ROWS
    }


def test_a_removal_is_refused_for_a_live_job_under_protection_alone() -> None:
    for run, keep, protect in REMOVALS:
        made = plan(run, keep_record=keep, protect_running=protect)
        assert made.refused == (protect and run in LIVE)
        assert not (made.refused and made.steps)


def test_the_steps_of_a_removal() -> None:
    for run, keep, _ in REMOVALS:
        steps = plan(run, keep_record=keep, protect_running=False).steps
        assert (Step.CANCEL in steps) == (run in LIVE | {LastRun.NOT_KNOWN})
        assert (Step.WAIT in steps) == (run not in ENDED | {LastRun.NONE, LastRun.GONE})
        assert (Step.DELETE in steps) == (not keep and run in STARTED and run is not LastRun.GONE)
        assert steps == tuple(step for step in Step if step in steps)


@pytest.mark.parametrize(
    ("run", "keep", "protect", "sentence"),
    [
        pytest.param(
            LastRun.RUNNING,
            True,
            False,
            "train: it is running, and its record is kept; cancel, wait until it has ended",
            id="kept",
        ),
        pytest.param(LastRun.GONE, False, True, "train: it was deleted; nothing to do", id="gone"),
        pytest.param(LastRun.GONE, True, False, "train: it was deleted; nothing to do", id="gone, kept"),
        pytest.param(LastRun.NONE, True, False, "train: it has not run yet; nothing to do", id="never run"),
        pytest.param(
            LastRun.RUNNING,
            False,
            True,
            "train cannot be destroyed: it is running and protect_running is set; let it end, cancel it, or "
            "set protect_running to False and run `pulumi up`, then try again",
            id="refused",
        ),
    ],
)
def test_what_a_removal_says(run: LastRun, keep: bool, protect: bool, sentence: str) -> None:
    assert plan(run, keep_record=keep, protect_running=protect).sentence("train") == sentence
