"""Decisions of gc on persistent resources and models."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Status, decide_persistent
from pulumi_vertex_training.cli.gc.stack_state import StagingFolder, contents_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.registry import type_token
from pulumi_vertex_training.runs.persistent import PersistentRecord
from support.client.specs.known_stacks import (
    IDENTITY,
    JOB,
    KEPT_JOB,
    NEXT_JOB,
    STAGED,
    URI,
    resource,
    stack,
    stacks,
    state,
)
from support.tables import every_row

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")
HERE = {"endpoint": "google", "project": "p", "location": "us-central1"}
MARKS = {"pulumi-project": "digits", "pulumi-stack": "prod", "pulumi-resource": "gpus"}
GPUS = "projects/42/locations/us-central1/persistentResources/gpus"
PIPELINE = "8402938402938402938"
IN_STATE = resource(
    "PersistentResource",
    "projects/p/locations/us-central1/persistentResources/gpus",
    persistent_resource_id="gpus",
    **HERE,
)


def pipeline(**outputs: Any) -> dict[str, Any]:
    """Return the pipeline that uploaded a model."""
    name = f"projects/42/locations/us-central1/trainingPipelines/{PIPELINE}"
    return resource("TrainingPipeline", name, __run={"key": f"{IDENTITY}-1"}, **outputs)


PIPELINE_RUN = pipeline(on_delete="cancel")


def begun(**inputs: Any) -> dict[str, Any]:
    """Return a resource whose creation is pending: it has no id yet."""
    return {"type": type_token("PersistentResource"), "inputs": {"persistent_resource_id": "gpus", **inputs}}


def begins(*resources: Any, is_deployed_now: bool | None) -> KnownStack:
    """Return a stack whose state has the pending creation."""
    now = contents_of(state(*resources, pending=[begun(**HERE)]))
    return replace(stack(is_deployed_now=is_deployed_now), now=now)


def gpus(**more: Any) -> PersistentRecord:
    return PersistentRecord(name=GPUS, display_name="", labels=MARKS, **more)


def digits(**more: Any) -> PersistentRecord:
    return PersistentRecord(
        name="projects/42/locations/us-central1/models/digits", display_name="", labels=MARKS, **more
    )


@every_row(
    ("record", "stacks", "status", "because"),
    [
        pytest.param(
            gpus(),
            [stack()],
            Status.UNPROVEN,
            "^no stack here has it; its labels name digits/prod/gpus, but labels alone are no proof; "
            "`vertex-training gc --yes gpus` deletes it$",
            id="unknown",
        ),
        pytest.param(gpus(), [stack(IN_STATE)], Status.KNOWN, "prod .* has it", id="known"),
        pytest.param(
            gpus(), [begins(is_deployed_now=True)], Status.KNOWN, "`pulumi cancel`", id="being created"
        ),
        pytest.param(
            gpus(),
            [begins(is_deployed_now=False)],
            Status.UNPROVEN,
            "^a killed deployment of stack digits/prod in file:///a began to create it; if it is still "
            "declared, `pulumi up` there adopts it; `vertex-training gc --yes gpus` deletes it$",
            id="its creation was killed",
        ),
        pytest.param(
            gpus(),
            [begins(is_deployed_now=None)],
            Status.UNPROVEN,
            "began to create it, unless one is still running; ",
            id="perhaps being created",
        ),
        pytest.param(
            gpus(),
            [begins(IN_STATE, is_deployed_now=False)],
            Status.KNOWN,
            "has it",
            id="a creation was killed, and it was adopted",
        ),
        pytest.param(gpus(), [stack(past=(IN_STATE,))], Status.UNPROVEN, "no stack here", id="once known"),
        pytest.param(
            gpus(),
            [stack(resource("CustomJob", JOB, job_spec={"persistent_resource_id": "gpus"}, **HERE))],
            Status.KNOWN,
            "has it",
            id="a job that is known runs on it",
        ),
        pytest.param(
            gpus(),
            [stack({"type": "other", "inputs": {"note": f"see {GPUS} for more", "location": "EU"}})],
            Status.KNOWN,
            "has it",
            id="mentioned by anything",
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "endpoint": "emulator"}))], Status.UNPROVEN, "", id="emulator"
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "project": "q"}))], Status.UNPROVEN, "", id="other project"
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "project": "42"}))], Status.KNOWN, "", id="a project's number"
        ),
        pytest.param(
            gpus(),
            [stack(begun(**{**HERE, "location": "us-east1"}))],
            Status.UNPROVEN,
            "",
            id="other location",
        ),
        pytest.param(
            gpus(),
            [stack({"type": "other", "inputs": {"persistentResourceId": "gpus"}})],
            Status.KNOWN,
            "",
            id="without a location",
        ),
        pytest.param(
            digits(),
            [stack(IN_STATE, begun(persistent_resource_id="digits"))],
            Status.UNPROVEN,
            "",
            id="a persistent resource of the model's name",
        ),
        pytest.param(
            digits(), [stack(resource("Model", adopt="digits@3"))], Status.KNOWN, "", id="being adopted"
        ),
        pytest.param(
            digits(), [stack(resource("Model", parent_model="digits"))], Status.KNOWN, "", id="has a version"
        ),
        pytest.param(
            digits(),
            [stack(resource("TrainingPipeline", model="projects/42/locations/us-central1/models/digits@1"))],
            Status.KNOWN,
            "has it",
            id="the output of a pipeline",
        ),
        pytest.param(
            digits(uploaded_by=frozenset({PIPELINE})),
            [stack(PIPELINE_RUN)],
            Status.KNOWN,
            "has a pipeline that uploaded it",
            id="uploaded by a pipeline that is known",
        ),
        pytest.param(
            digits(uploaded_by=frozenset({PIPELINE})),
            [stack(past=(PIPELINE_RUN,))],
            Status.KEPT,
            "on_delete was cancel in stack",
            id="uploaded by a pipeline that was kept",
        ),
        pytest.param(
            digits(uploaded_by=frozenset({PIPELINE})),
            [stack(past=(pipeline(),))],
            Status.KEPT,
            'on_delete="delete" was not set',
            id="uploaded by a pipeline that was destroyed without it",
        ),
        pytest.param(
            digits(uploaded_by=frozenset({PIPELINE})),
            [stack(past=(pipeline(on_delete="delete"),))],
            Status.UNPROVEN,
            "",
            id="uploaded by a pipeline that should have deleted it",
        ),
        pytest.param(
            digits(),
            [stack(past=(resource("Model", model_id="digits", on_delete="keep", **HERE),))],
            Status.KEPT,
            'on_delete="delete" was not set',
            id="kept by its resource",
        ),
        pytest.param(
            gpus(),
            [stack(past=({**IN_STATE, "retainOnDelete": True},))],
            Status.KEPT,
            "retain_on_delete was set in stack digits/prod",
            id="retained",
        ),
        pytest.param(
            gpus(),
            [stack(past=({**resource("CustomJob", JOB, on=GPUS), "retainOnDelete": True},))],
            Status.UNPROVEN,
            "",
            id="a job on it was retained",
        ),
        pytest.param(gpus(state="STOPPING"), [], Status.UNPROVEN, "^it is already being deleted", id="going"),
        pytest.param(
            gpus(obstacle="jobs on it"), [], Status.UNPROVEN, "no proof; jobs on it$", id="an obstacle"
        ),
    ],
)
def test_the_decision_on_a_persistent_resource_or_model(
    record: PersistentRecord, stacks: list[KnownStack], status: Status, because: str
) -> None:
    decision = decide_persistent(record, stacks, ENDPOINT)
    assert decision.status is status, decision.reason
    assert re.search(because, decision.reason), decision.reason


def test_a_resource_that_was_replaced_in_another_location_is_known_in_both() -> None:
    moved = {**IN_STATE, "inputs": {**IN_STATE["outputs"], "location": "us-east1"}}
    there = PersistentRecord(name=GPUS.replace("us-central1", "us-east1"), display_name="", labels=MARKS)
    for record in (gpus(), there):
        assert decide_persistent(record, [stack(moved)], ENDPOINT).status is Status.KNOWN


@given(stacks)
def test_persistent_resources_are_never_proven_orphans(found: list[KnownStack]) -> None:
    assert decide_persistent(gpus(), found, ENDPOINT).status is Status.UNPROVEN


def test_the_contents_of_a_state() -> None:
    contents = contents_of(state(NEXT_JOB, KEPT_JOB, STAGED))
    assert contents.runs == {IDENTITY}
    assert contents.kept == {IDENTITY, JOB.rpartition("/")[2]}
    assert contents.objects == {URI}
    assert contents.staging_folders == {
        StagingFolder(endpoint="google", project="p", bucket="staging", prefix="data")
    }
    assert contents.text == ""
