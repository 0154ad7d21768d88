"""The cost of a job on the dashboard: of an hour with all machines and trials, and of the run so far."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.ui.source.costs import JobCost, cost_of
from support.tables import every_row

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=timezone.utc)
PARENT = "projects/1/locations/us-central1"
START = "2026-11-23T10:00:00Z"
STUDY = {
    "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameterId": "x", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}],
}


def pools(**machine: Any) -> dict[str, Any]:
    pool = {"machineSpec": machine, "replicaCount": "1", "containerSpec": {"imageUri": "a"}}
    return {"workerPoolSpecs": [pool]}


def tuning(parallel: int, trials: int, running: int) -> dict[str, Any]:
    return {
        "displayName": "a",
        "studySpec": STUDY,
        "maxTrialCount": trials,
        "parallelTrialCount": parallel,
        "trialJobSpec": pools(machineType="n1-standard-4"),
        "trials": [{"id": str(i), "state": "ACTIVE", "startTime": START} for i in range(1, running + 1)],
    }


@every_row(
    "collection, wire, shown",
    [
        (
            "customJobs",
            {"displayName": "a", "jobSpec": pools(machineType="n1-standard-4")},
            JobCost(hourly="$0.25", so_far="$0.49"),
        ),
        (
            "customJobs",
            {"displayName": "a", "jobSpec": pools(machineType="ct5lp-hightpu-4t", tpuTopology="4x8")},
            JobCost(hourly="at least $38.61", so_far="at least $77.23"),
        ),
        ("hyperparameterTuningJobs", tuning(3, 9, 3), JobCost(hourly="$0.74", so_far="$1.47")),
        ("hyperparameterTuningJobs", tuning(8, 2, 2), JobCost(hourly="$0.49", so_far="$0.98")),
    ],
)
def test_an_hour_has_all_machines_and_parallel_trials(
    collection: str, wire: dict[str, Any], shown: JobCost
) -> None:
    record = JobRecord(
        name=f"{PARENT}/{collection}/1",
        display_name="a",
        state=JobState.JOB_STATE_RUNNING,
        start_time=START,
        wire=wire,
    )
    assert cost_of(record, now=NOW) == shown
