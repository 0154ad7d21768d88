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


def stopped(op: str, recorded: Any, name: str = NAME, **more: Any) -> RecordedJob | None:
    urn = f"urn:pulumi:dev::digits::{registry.type_token('CustomJob')}::train"
    inputs = {**INPUTS, **more}
    old = {"id": name, "inputs": inputs, "outputs": {"state": recorded}}
    step = {"op": op, "urn": urn, "oldState": old, "newState": {"inputs": inputs}}
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


@pytest.mark.parametrize("op, is_protected", [("delete", True), ("replace", False)])
def test_a_protected_job_is_not_deleted(op: str, is_protected: bool) -> None:
    """Check deletions alone: a forbidden replacement is an error of the preview already."""
    found = stopped(op, "RUNNING", protect_running=True)
    assert found is not None
    assert found.is_protected is is_protected


FOLDER = "gs://b/all/"
POOL = INPUTS["worker_pool_specs"][0]  # type: ignore[index]
TASK = {"image_uri": "i", "env": [{"name": "VERTEX_CLUSTER_CHECKPOINT_DIR", "value": FOLDER}]}


@pytest.mark.parametrize(
    "declared, folder",
    [
        ({}, ""),
        ({"resume": "after_interruption"}, ""),
        ({"resume": "never"}, ""),
        ({"resume": "gs://b/all"}, FOLDER),
        ({"worker_pool_specs": [{**POOL, "container_spec": TASK}]}, FOLDER),
    ],
)
def test_only_a_folder_of_all_runs_gives_the_next_job_the_checkpoints(
    declared: dict[str, Any], folder: str
) -> None:
    found = stopped("replace", "RUNNING", **declared)
    assert found is not None
    assert found.continues_from == folder
