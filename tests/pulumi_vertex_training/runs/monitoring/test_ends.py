"""A job that the service cancelled at its timeout is told from one that was cancelled on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud.jobs import JobError, JobRecord, JobState
from pulumi_vertex_training.core.running.rerun_facts import facts_of
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from pulumi_vertex_training.runs.diagnosis.diagnosis import has_failed
from pulumi_vertex_training.runs.monitoring.ends import message_of, timed_out
from pulumi_vertex_training.runs.policies.rerun import Policy, decide
from pulumi_vertex_training.runs.policies.run_status import Change, LastRun
from pulumi_vertex_training.views.study_view import why_ended
from vertex_training.cost.max_cost import Limit

POOLS = [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"}]
NAME = "projects/1/locations/us-central1/{}/2"
HOUR = {"timeout": "3600s"}


def record(
    end: str,
    *,
    state: JobState = JobState.JOB_STATE_CANCELLED,
    collection: str = "customJobs",
    scheduling: dict[str, Any] | None = None,
) -> JobRecord:
    job = {"workerPoolSpecs": POOLS, **({"scheduling": scheduling} if scheduling else {})}
    wire: dict[str, Any] = {
        "customJobs": {"displayName": "train", "jobSpec": job},
        "hyperparameterTuningJobs": {"displayName": "train", "trialJobSpec": job, "maxTrialCount": 2},
        "trainingPipelines": {"displayName": "train", "trainingTaskInputs": job},
    }[collection]
    return JobRecord(
        name=NAME.format(collection),
        display_name="train",
        state=state,
        start_time="2026-11-01T10:00:00Z",
        end_time=end,
        error=JobError(code=1, message="CANCELED"),
        wire=wire,
    )


@pytest.mark.parametrize(
    ("found", "is_timeout"),
    [
        (record("2026-11-01T11:00:00Z", scheduling=HOUR), True),
        (record("2026-11-01T10:59:59.500Z", scheduling=HOUR), True),
        (record("2026-11-01T11:00:40Z", scheduling=HOUR), True),
        (record("2026-11-01T10:59:00Z", scheduling=HOUR), False),
        (record("2026-11-08T10:00:00Z"), True),
        (record("2026-11-08T09:00:00Z"), False),
        (record("", scheduling=HOUR), False),
        (record("2026-11-01T12:00:00Z", scheduling=HOUR, state=JobState.JOB_STATE_SUCCEEDED), False),
        (record("2026-11-01T12:00:00Z", scheduling=HOUR, collection="trainingPipelines"), True),
        (record("2026-11-01T12:00:00Z", scheduling=HOUR, collection="hyperparameterTuningJobs"), False),
    ],
)
def test_the_duration_decides(found: JobRecord, is_timeout: bool) -> None:
    assert timed_out(found) is is_timeout
    if found.state is JobState.JOB_STATE_CANCELLED:
        assert has_failed(found) is is_timeout


def test_the_reason_is_the_timeout() -> None:
    found = record("2026-11-01T11:00:00Z", scheduling=HOUR)
    assert message_of(found) == "The job ran for all of scheduling.timeout, 3600s, and was cancelled."
    assert "its work takes longer than 3600s" in why_ended(found)
    on_purpose = record("2026-11-01T10:30:00Z", scheduling=HOUR)
    assert message_of(on_purpose) == "CANCELED"
    assert why_ended(on_purpose) == ""


@pytest.mark.parametrize(
    ("end", "limit", "last_run"),
    [
        ("2026-11-01T10:10:00Z", Limit(seconds=600, most=1.0).label, LastRun.TIMED_OUT),
        ("2026-11-01T10:09:00Z", Limit(seconds=600, most=1.0).label, LastRun.CANCELLED),
        ("2026-11-01T10:10:00Z", None, LastRun.CANCELLED),
        ("2026-11-08T10:00:00Z", None, LastRun.TIMED_OUT),
    ],
)
def test_the_state_alone_shows_it_too(end: str, limit: str | None, last_run: LastRun) -> None:
    recorded = {
        "name": NAME.format("customJobs"),
        "endpoint": "google",
        "project": "p",
        "location": "us-central1",
        "display_name": "train",
        "worker_pool_specs": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}],
        "state": "JOB_STATE_CANCELLED",
        "start_time": "2026-11-01T10:00:00Z",
        "end_time": end,
        "limit": limit,
    }
    facts = facts_of(GATEWAY, NAME.format("customJobs"), Change.NOTHING, recorded, {"rerun": "on_failure"})
    assert facts.last_run is last_run
    row = decide(facts).row
    assert facts.rerun.policy is Policy.ON_FAILURE
    assert row == ("failed-again" if last_run is LastRun.TIMED_OUT else "cancelled")
