"""The change of a declaration and the state of its last run, from which reruns and deletions are decided."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.kinds.custom_job.gateway import JobState
from pulumi_vertex_training.runs.policies.run_status import (
    ENDED,
    LIVE,
    Change,
    LastRun,
    LookupResult,
    change_of,
    last_run,
)


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
