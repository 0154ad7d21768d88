"""Live jobs in words."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from pulumi_vertex_training.cloud.jobs import JobRecord, from_wire
from pulumi_vertex_training.runs.monitoring.live_jobs import described, since, size
from vertex_training.findings.words import duration

NOW = datetime(2026, 2, 3, 12, 10, tzinfo=timezone.utc)
POOLS = [{"replicaCount": "1"}, {}, {"replicaCount": "4"}]


def record(state: str, **wire: Any) -> JobRecord:
    return from_wire({"name": "projects/p/locations/l/customJobs/1", "state": state, **wire})


def in_words(job: JobRecord) -> str:
    return described(job.state.word, size(job), since(job), now=NOW)


def test_a_running_job_has_its_replicas_and_its_running_time() -> None:
    job = record(
        "JOB_STATE_RUNNING",
        createTime="2026-02-03T09:00:00Z",
        startTime="2026-02-03T10:00:00Z",
        jobSpec={"workerPoolSpecs": POOLS},
    )
    assert in_words(job) == "RUNNING (5 replicas, 2 h 10 min)"


def test_a_queued_job_waits_since_its_creation() -> None:
    job = record("JOB_STATE_QUEUED", createTime="2026-02-03T12:09:30Z")
    assert in_words(job) == "QUEUED (30 s)"


def test_the_replicas_of_a_pipeline_are_in_the_inputs_of_its_task() -> None:
    job = record("PIPELINE_STATE_RUNNING", trainingTaskInputs={"workerPoolSpecs": POOLS[:1]})
    assert in_words(job) == "RUNNING (1 replica)"


def test_a_tuning_job_has_its_live_trials() -> None:
    trials = [{"state": "ACTIVE"}, {"state": "SUCCEEDED"}, {"state": "REQUESTED"}]
    job = record("JOB_STATE_RUNNING", trials=trials, trialJobSpec={"workerPoolSpecs": POOLS})
    assert in_words(job) == "RUNNING (2 live trials)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3600, "1 h"), (90061, "1 d 1 h"), (86460, "1 d")],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text
