"""The cost of jobs so far, by the times in their records."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.costs.spent import spent_by
from support.ground.specs.prices import table
from vertex_training.cost.runs import Spent

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=timezone.utc)
NOWHERE = Endpoint(kind="emulator", project="p", location="us-central1", url="http://127.0.0.1:1", token="x")
PARENT = "projects/1/locations/us-central1"
SPEC = {
    "workerPoolSpecs": [
        {
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": "1",
            "containerSpec": {"imageUri": "a"},
        },
        {
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": "3",
            "containerSpec": {"imageUri": "a"},
        },
    ]
}
STUDY = {
    "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameterId": "x", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}],
}


def at(hour: int, minute: int = 0) -> str:
    return f"2026-11-23T{hour:02}:{minute:02}:00Z"


def spent(record: JobRecord) -> Spent | None:
    return spent_by(NOWHERE, record, table=table(), now=NOW)


def job(
    start: str | None,
    end: str | None = None,
    state: JobState = JobState.JOB_STATE_SUCCEEDED,
    spec: dict[str, Any] = SPEC,
) -> JobRecord:
    return JobRecord(
        name=f"{PARENT}/customJobs/1",
        display_name="a",
        state=state,
        start_time=start,
        end_time=end,
        wire={"displayName": "a", "jobSpec": spec},
    )


def test_a_job_has_cost_its_replicas_from_start_to_end():
    found = spent(job(at(8), at(9, 30)))
    assert found is not None
    assert (found.total, found.replica_hours) == (pytest.approx(4.4 * 1.5), pytest.approx(6))


def test_a_live_job_has_cost_what_it_ran_so_far():
    found = spent(job(at(11), state=JobState.JOB_STATE_RUNNING))
    assert found is not None
    assert found.total == pytest.approx(4.4)


@pytest.mark.parametrize("end", [None, at(9)])
def test_a_job_that_never_started_has_cost_nothing(end: str | None):
    assert spent(job(None, end, JobState.JOB_STATE_CANCELLED)) is None


def test_a_spot_job_has_cost_the_price_of_spot():
    found = spent(job(at(8), at(9), spec={**SPEC, "scheduling": {"strategy": "SPOT"}}))
    assert found is not None
    assert found.total == pytest.approx(4 * (0.5 + 0.1))


def test_a_tuning_job_has_cost_its_trials_and_not_the_time_between_them():
    trials = [
        {"id": "1", "state": "SUCCEEDED", "startTime": at(8), "endTime": at(9)},
        {"id": "2", "state": "INFEASIBLE", "startTime": at(10), "endTime": at(10, 30)},
        {"id": "3", "state": "REQUESTED"},
    ]
    record = JobRecord(
        name=f"{PARENT}/hyperparameterTuningJobs/1",
        display_name="a",
        state=JobState.JOB_STATE_RUNNING,
        start_time=at(8),
        wire={
            "displayName": "a",
            "studySpec": STUDY,
            "maxTrialCount": 3,
            "parallelTrialCount": 1,
            "trialJobSpec": SPEC,
            "trials": trials,
        },
    )
    found = spent(record)
    assert found is not None
    assert (found.total, found.replica_hours) == (pytest.approx(4.4 * 1.5), pytest.approx(6))


def test_a_pipeline_whose_job_cannot_be_read_has_cost_its_own_time():
    record = JobRecord(
        name=f"{PARENT}/trainingPipelines/1",
        display_name="a",
        state=JobState.JOB_STATE_SUCCEEDED,
        start_time=at(8),
        end_time=at(9),
        wire={
            "displayName": "a",
            "trainingTaskDefinition": "gs://google-cloud-aiplatform/schema/trainingjob/definition/"
            "custom_task_1.0.0.yaml",
            "trainingTaskInputs": SPEC,
        },
    )
    found = spent(record)
    assert found is not None
    assert found.total == pytest.approx(4.4)


def test_a_job_of_a_newer_version_has_no_cost():
    assert spent(job(at(8), at(9), spec={"workerPoolSpecs": "all"})) is None


def test_a_machine_without_a_price_leaves_the_rest_known():
    pools = [{**SPEC["workerPoolSpecs"][0], "machineSpec": {"machineType": "c2-standard-8"}}]
    found = spent(job(at(8), at(9), spec={"workerPoolSpecs": pools}))
    assert found is not None
    assert found.total is None
    assert found.known == pytest.approx(0.1)
    assert found.unknown
