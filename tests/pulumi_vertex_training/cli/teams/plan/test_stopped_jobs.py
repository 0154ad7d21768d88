"""The jobs that a deployment stops, by the state of a preview's steps."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.jobs import RecordedJob
from pulumi_vertex_training.cli.teams.plan.plan import read

NAME = "projects/1/locations/us-central1/customJobs/2"
INPUTS = {
    "endpoint": "emulator",
    "project": "local",
    "location": "us-central1",
    "worker_pool_specs": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 3}],
}


def stopped(op: str, recorded: Any, name: str = NAME) -> RecordedJob | None:
    urn = f"urn:pulumi:dev::digits::{registry.type_token('CustomJob')}::train"
    old = {"id": name, "inputs": INPUTS, "outputs": {"state": recorded}}
    step = {"op": op, "urn": urn, "oldState": old, "newState": {"inputs": INPUTS}}
    return read({"steps": [step]}).changes[0].stopped


@pytest.mark.parametrize("op", ["replace", "delete"])
@pytest.mark.parametrize("recorded", ["RUNNING", "PENDING", None, "A_NEW_STATE"])
def test_a_job_that_may_be_live_is_asked_for(op: str, recorded: Any) -> None:
    found = stopped(op, recorded)
    assert found is not None
    assert (found.name, found.replicas) == (NAME, 3)


@pytest.mark.parametrize("recorded", ["SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"])
def test_a_job_that_has_ended_is_not_asked_for(recorded: str) -> None:
    assert stopped("replace", recorded) is None


def test_a_job_that_stays_is_not_asked_for() -> None:
    assert stopped("update", "RUNNING") is None


def test_a_name_that_no_service_gave_is_not_asked_for() -> None:
    assert stopped("delete", "RUNNING", "not-a-job") is None
