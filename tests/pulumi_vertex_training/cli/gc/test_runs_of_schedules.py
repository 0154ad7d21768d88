"""`gc` knows the runs of a schedule by the identity in the schedule's state."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Status, decide_job
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StackName, StateContents, contents_of
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.registry import type_token
from pulumi_vertex_training.runs.identity import key_of_schedule, labels

IDENTITY = "0123456789abcdef"
NAME = StackName(backend="file:///b", organization="organization", project="p", stack="s")
RUN = JobRecord(
    name="projects/1/locations/us-central1/customJobs/2",
    display_name="train",
    state=JobState.JOB_STATE_SUCCEEDED,
    labels=labels(key_of_schedule(IDENTITY), "v1-1"),
)


def state(*resources: dict[str, Any]) -> StateContents:
    return contents_of({"deployment": {"resources": list(resources)}})


SCHEDULE = {
    "type": type_token("TrainingSchedule"),
    "urn": "urn:pulumi:s::p::x::nightly",
    "id": "projects/p/locations/us-central1/jobs/nightly",
    "outputs": {"__run": {"key": key_of_schedule(IDENTITY)}},
}


def test_a_run_of_a_schedule_in_a_state_is_known() -> None:
    now = state(SCHEDULE)
    assert decide_job(RUN, [KnownStack(name=NAME, now=now, past=now)]).status is Status.KNOWN


def test_a_run_of_a_schedule_that_a_stack_had_is_an_orphan() -> None:
    found = decide_job(RUN, [KnownStack(name=NAME, now=state(), past=state(SCHEDULE))])
    assert found.status is Status.ORPHAN


def test_a_run_of_an_unknown_schedule_is_not_proven() -> None:
    found = decide_job(RUN, [KnownStack(name=NAME, now=state(), past=NOTHING)])
    assert found.status is Status.UNPROVEN
