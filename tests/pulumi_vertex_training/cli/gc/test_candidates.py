"""Resources that are known to a stack, proven orphans, and resources that are neither."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.gc.candidates import (
    KnownStack,
    Status,
    decide_job,
    decide_object,
    decide_persistent,
)
from pulumi_vertex_training.cli.gc.stack_state import (
    NOTHING,
    StackName,
    StagingFolder,
    StateContents,
    contents_of,
    merged,
)
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.kinds.staged.spec import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.registry import type_token
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.persistent import PersistentRecord
from support import properties  # noqa: F401
from support.tables import every_row

IDENTITY = "7066f7633f964013"
JOB = "projects/42/locations/us-central1/customJobs/8931738166088059502"
HASH = "2d711642b726b044"
URI = f"gs://staging/data/{HASH}/data.txt"


def resource(kind: str, id_: str = "", **outputs: Any) -> dict[str, Any]:
    return {"type": type_token(kind), "urn": f"urn:{kind}", "id": id_, "outputs": outputs}


RUN = resource("Run", IDENTITY, key=f"{IDENTITY}-1")
CUSTOM_JOB = resource("CustomJob", JOB, __run={"key": f"{IDENTITY}-1"}, on_delete="delete")
KEPT_JOB = resource("CustomJob", JOB, __run={"key": f"{IDENTITY}-1"}, on_delete="cancel")
STAGED = resource(
    "StagedFile",
    URI,
    bucket="staging",
    object_name=f"data/{HASH}/data.txt",
    endpoint="google",
    project="p",
    uri=URI,
)


def state(*resources: Any, pending: Any = ()) -> dict[str, Any]:
    """Return the output of `pulumi stack export`."""
    operations = [{"resource": one, "type": "creating"} for one in pending]
    return {"version": 3, "deployment": {"resources": list(resources), "pending_operations": operations}}


def checkpoint(*resources: Any) -> dict[str, Any]:
    return {"version": 3, "checkpoint": {"stack": "s", "latest": {"resources": list(resources)}}}


def stack(*now: Any, past: tuple[Any, ...] = (), name: str = "prod", **more: Any) -> KnownStack:
    return KnownStack(
        name=StackName(backend="file:///a", project="digits", stack=name),
        now=contents_of(state(*now), with_text=True),
        past=contents_of(checkpoint(*past)),
        **more,
    )


def removed(*past: Any) -> KnownStack:
    return KnownStack(
        name=StackName(backend="file:///a", project="digits", stack="gone"),
        now=None,
        past=contents_of(checkpoint(*past)),
    )


def record(run: str = f"{IDENTITY}-1", name: str = JOB) -> JobRecord:
    return JobRecord(
        name=name, display_name="train", state=JobState.JOB_STATE_RUNNING, labels={RUN_LABEL: run}
    )


@every_row(
    ("stacks", "status", "because"),
    [
        pytest.param([stack(CUSTOM_JOB)], Status.KNOWN, "prod .* has it", id="the job is in a state"),
        pytest.param([stack(RUN)], Status.KNOWN, "has it", id="only its run is: it is being submitted"),
        pytest.param([stack(resource("CustomJob", JOB, run="feed-1"))], Status.KNOWN, "has it", id="adopted"),
        pytest.param([stack(), stack(RUN, name="dev")], Status.KNOWN, "dev", id="another stack has it"),
        pytest.param(
            [stack({"type": "other", "inputs": {"adopt": JOB.rpartition("/")[2]}})],
            Status.KNOWN,
            "has it",
            id="mentioned by anything",
        ),
        pytest.param(
            [stack(past=(RUN,)), stack(RUN, name="dev")], Status.KNOWN, "dev", id="moved to another stack"
        ),
        pytest.param(
            [stack(past=(RUN,))], Status.ORPHAN, "prod in file:///a had it and no longer has it", id="run"
        ),
        pytest.param([stack(past=(CUSTOM_JOB,))], Status.ORPHAN, "had it", id="job"),
        pytest.param([stack(past=(KEPT_JOB,))], Status.KEPT, "on_delete was cancel", id="kept"),
        pytest.param(
            [
                stack(past=(CUSTOM_JOB,)),
                stack(
                    past=(resource("CustomJob", JOB, __run={"key": "feed-1"}, on_delete="cancel"),),
                    name="dev",
                ),
            ],
            Status.KEPT,
            "dev",
            id="kept by the adopting declaration",
        ),
        pytest.param([removed(KEPT_JOB)], Status.KEPT, "on_delete was cancel", id="kept by a stack removed"),
        pytest.param(
            [removed(CUSTOM_JOB), stack()],
            Status.UNPROVEN,
            "gone .* had it when the stack was removed, and the stack may have moved",
            id="a stack that was removed",
        ),
        pytest.param(
            [removed(CUSTOM_JOB), stack(past=(RUN,))],
            Status.ORPHAN,
            "prod",
            id="moved from a stack that was removed",
        ),
        pytest.param(
            [stack()], Status.UNPROVEN, f"no stack here has run {IDENTITY}-1 in its history$", id="never here"
        ),
        pytest.param([], Status.UNPROVEN, "no stack here", id="no stack"),
        pytest.param(
            [stack(has_history=False)],
            Status.UNPROVEN,
            "the history of file:///a could not be read",
            id="no history",
        ),
        pytest.param(
            [stack(past=({"type": "other", "inputs": {"__run": {"key": f"{IDENTITY}-1"}}},))],
            Status.UNPROVEN,
            "no stack here",
            id="only mentioned in the past",
        ),
        pytest.param(
            [stack(past=(resource("CustomJob", JOB, run="feed-1"),))],
            Status.UNPROVEN,
            "no stack here",
            id="adopted once by its id",
        ),
    ],
)
def test_the_decision_on_a_job(stacks: list[KnownStack], status: Status, because: str) -> None:
    decision = decide_job(record(), stacks)
    assert decision.status is status
    assert re.search(because, decision.reason), decision.reason


def test_every_run_of_a_declaration_that_is_known_is_known() -> None:
    assert decide_job(record(f"{IDENTITY}-12"), [stack(RUN)]).status is Status.KNOWN


resources = st.lists(st.sampled_from([RUN, CUSTOM_JOB, KEPT_JOB, STAGED, resource("Run", "0" * 16)]))
stacks = st.lists(
    st.builds(
        lambda now, past, gone: removed(*past) if gone else stack(*now, past=tuple(past)),
        resources,
        resources,
        st.booleans(),
    ),
    max_size=3,
)


@given(stacks)
def test_only_what_an_existing_stack_had_is_an_orphan(found: list[KnownStack]) -> None:
    if decide_job(record(), found).status is Status.ORPHAN:
        assert any(one.now is not None and IDENTITY in one.past.runs for one in found)
        assert not any(one.now is not None and IDENTITY in one.now.text for one in found)


@given(stacks)
def test_more_states_never_make_an_orphan_of_what_is_known(found: list[KnownStack]) -> None:
    assert decide_job(record(), [*found, stack(RUN)]).status is Status.KNOWN


OTHER = record(run="feedfeedfeedfeed-1", name="projects/42/locations/us-central1/customJobs/5")


@given(stacks)
def test_a_job_of_another_backend_is_never_an_orphan(found: list[KnownStack]) -> None:
    assert decide_job(OTHER, found).status in (Status.UNPROVEN, Status.KNOWN)
    assert decide_job(OTHER, [stack(RUN, past=(RUN, CUSTOM_JOB))]).status is Status.UNPROVEN


@pytest.mark.parametrize(
    ("stacks", "metadata", "live", "status"),
    [
        pytest.param([stack(past=(STAGED,))], {STAGED_KEY: "1"}, "", Status.ORPHAN, id="an orphan"),
        pytest.param([stack(past=(STAGED,))], {}, "", None, id="not ours"),
        pytest.param([stack(STAGED)], {STAGED_KEY: "1"}, "", Status.KNOWN, id="in a state"),
        pytest.param(
            [stack({"type": "x", "inputs": {"args": [f"--data=/gcs/staging/data/{HASH}"]}})],
            {STAGED_KEY: "1"},
            "",
            Status.KNOWN,
            id="its folder is in a state",
        ),
        pytest.param(
            [stack(past=(STAGED,))],
            {STAGED_KEY: "1"},
            f"--data\n/gcs/staging/data/{HASH}/data.txt",
            Status.KNOWN,
            id="a live job reads it",
        ),
        pytest.param(
            [stack(past=(STAGED,))],
            {STAGED_KEY: "1", SHARED_KEY: "1"},
            "",
            Status.UNPROVEN,
            id="staged twice",
        ),
        pytest.param(
            [removed(STAGED)], {STAGED_KEY: "1"}, "", Status.UNPROVEN, id="a stack that was removed"
        ),
        pytest.param([stack()], {STAGED_KEY: "1"}, "", Status.UNPROVEN, id="never here"),
    ],
)
def test_the_decision_on_an_object(
    stacks: list[KnownStack], metadata: dict[str, str], live: str, status: Status | None
) -> None:
    decision = decide_object(URI, metadata, stacks, read_by_live_jobs=live)
    assert (decision and decision.status) is status


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
    contents = contents_of(state(RUN, KEPT_JOB, STAGED))
    assert contents.runs == {IDENTITY}
    assert contents.kept == {IDENTITY, JOB.rpartition("/")[2]}
    assert contents.objects == {URI}
    assert contents.staging_folders == {
        StagingFolder(endpoint="google", project="p", bucket="staging", prefix="data")
    }
    assert contents.text == ""


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(state(RUN), id="an export"),
        pytest.param(checkpoint(RUN), id="a checkpoint"),
        pytest.param(state(pending=[RUN]), id="a pending operation"),
        pytest.param(
            state({"type": type_token("CustomJob"), "inputs": {"__run": {"key": f"{IDENTITY}-1"}}}),
            id="inputs",
        ),
    ],
)
def test_where_a_run_is_found(read: dict[str, Any]) -> None:
    contents = contents_of(read)
    assert (contents.runs, IDENTITY in contents.mentioned) == ({IDENTITY}, True)


@pytest.mark.parametrize("read", [{"deployment": None}, {"checkpoint": {"latest": None}}])
def test_a_stack_that_was_never_deployed_is_empty(read: dict[str, Any]) -> None:
    assert contents_of(read) == NOTHING


@pytest.mark.parametrize(
    "read",
    [{}, {"checkpoint": []}, {"deployment": []}, {"deployment": {"resources": "none"}}],
    ids=json.dumps,
)
def test_an_unreadable_state_does_not_pass_for_an_empty_one(read: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"it has neither|cannot be read"):
        contents_of(read)


def test_values_that_are_secret_hide_no_run() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}
    assert contents_of(state(resource("Run", IDENTITY, key=secret))).runs == {IDENTITY}
    assert contents_of(state(resource("CustomJob", JOB, run=secret))).job_ids >= {JOB.rpartition("/")[2]}


def test_several_states_say_what_each_says() -> None:
    both = merged([contents_of(state(RUN)), contents_of(state(STAGED))])
    assert both.runs == {IDENTITY}
    assert both.objects == {URI}
    assert merged([]) == StateContents()
