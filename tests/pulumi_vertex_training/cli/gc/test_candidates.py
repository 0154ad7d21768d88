"""What is known, what is proven to be an orphan, and what is neither."""

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
    Verdict,
    judge_job,
    judge_lasting,
    judge_object,
)
from pulumi_vertex_training.cli.gc.stack_memory import (
    NOTHING,
    Memory,
    StackName,
    StagingPlace,
    memory_of,
    united,
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
    """What `pulumi stack export` prints."""
    operations = [{"resource": one, "type": "creating"} for one in pending]
    return {"version": 3, "deployment": {"resources": list(resources), "pending_operations": operations}}


def checkpoint(*resources: Any) -> dict[str, Any]:
    return {"version": 3, "checkpoint": {"stack": "s", "latest": {"resources": list(resources)}}}


def stack(*now: Any, past: tuple[Any, ...] = (), name: str = "prod", **more: Any) -> KnownStack:
    return KnownStack(
        name=StackName(backend="file:///a", project="digits", stack=name),
        now=memory_of(state(*now), with_text=True),
        past=memory_of(checkpoint(*past)),
        **more,
    )


def removed(*past: Any) -> KnownStack:
    return KnownStack(
        name=StackName(backend="file:///a", project="digits", stack="gone"),
        now=None,
        past=memory_of(checkpoint(*past)),
    )


def record(run: str = f"{IDENTITY}-1", name: str = JOB) -> JobRecord:
    return JobRecord(
        name=name, display_name="train", state=JobState.JOB_STATE_RUNNING, labels={RUN_LABEL: run}
    )


@every_row(
    ("stacks", "verdict", "because"),
    [
        pytest.param([stack(CUSTOM_JOB)], Verdict.KNOWN, "prod .* knows it", id="the job is in a state"),
        pytest.param([stack(RUN)], Verdict.KNOWN, "knows it", id="only its run is: it is being submitted"),
        pytest.param(
            [stack(resource("CustomJob", JOB, run="feed-1"))], Verdict.KNOWN, "knows it", id="adopted"
        ),
        pytest.param([stack(), stack(RUN, name="dev")], Verdict.KNOWN, "dev", id="another stack knows it"),
        pytest.param(
            [stack({"type": "other", "inputs": {"adopt": JOB.rpartition("/")[2]}})],
            Verdict.KNOWN,
            "knows it",
            id="mentioned by anything",
        ),
        pytest.param(
            [stack(past=(RUN,)), stack(RUN, name="dev")], Verdict.KNOWN, "dev", id="moved to another stack"
        ),
        pytest.param(
            [stack(past=(RUN,))], Verdict.ORPHAN, "prod in file:///a had it, and has it no longer", id="run"
        ),
        pytest.param([stack(past=(CUSTOM_JOB,))], Verdict.ORPHAN, "had it", id="job"),
        pytest.param([stack(past=(KEPT_JOB,))], Verdict.KEPT, "on_delete was cancel", id="kept"),
        pytest.param(
            [
                stack(past=(CUSTOM_JOB,)),
                stack(
                    past=(resource("CustomJob", JOB, __run={"key": "feed-1"}, on_delete="cancel"),),
                    name="dev",
                ),
            ],
            Verdict.KEPT,
            "dev",
            id="kept by who had taken it over",
        ),
        pytest.param([removed(KEPT_JOB)], Verdict.KEPT, "on_delete was cancel", id="kept by a stack removed"),
        pytest.param(
            [removed(CUSTOM_JOB), stack()],
            Verdict.UNPROVEN,
            "gone .* was removed with it, and may have been moved",
            id="a stack that was removed",
        ),
        pytest.param(
            [removed(CUSTOM_JOB), stack(past=(RUN,))],
            Verdict.ORPHAN,
            "prod",
            id="moved from a stack that was removed",
        ),
        pytest.param([stack()], Verdict.UNPROVEN, f"to have had run {IDENTITY}-1$", id="never here"),
        pytest.param([], Verdict.UNPROVEN, "no stack here", id="no stack"),
        pytest.param(
            [stack(has_history=False)],
            Verdict.UNPROVEN,
            "the history of file:///a was not read",
            id="no history",
        ),
        pytest.param(
            [stack(past=({"type": "other", "inputs": {"__run": {"key": f"{IDENTITY}-1"}}},))],
            Verdict.UNPROVEN,
            "no stack here",
            id="only mentioned in the past",
        ),
        pytest.param(
            [stack(past=(resource("CustomJob", JOB, run="feed-1"),))],
            Verdict.UNPROVEN,
            "no stack here",
            id="adopted once by its id",
        ),
    ],
)
def test_the_judgement_of_a_job(stacks: list[KnownStack], verdict: Verdict, because: str) -> None:
    judgement = judge_job(record(), stacks)
    assert judgement.verdict is verdict
    assert re.search(because, judgement.reason), judgement.reason


def test_every_run_of_a_declaration_that_is_known_is_known() -> None:
    assert judge_job(record(f"{IDENTITY}-12"), [stack(RUN)]).verdict is Verdict.KNOWN


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
    if judge_job(record(), found).verdict is Verdict.ORPHAN:
        assert any(one.now is not None and IDENTITY in one.past.runs for one in found)
        assert not any(one.now is not None and IDENTITY in one.now.text for one in found)


@given(stacks)
def test_more_states_never_make_an_orphan_of_what_is_known(found: list[KnownStack]) -> None:
    assert judge_job(record(), [*found, stack(RUN)]).verdict is Verdict.KNOWN


OTHER = record(run="feedfeedfeedfeed-1", name="projects/42/locations/us-central1/customJobs/5")


@given(stacks)
def test_a_job_of_another_backend_is_never_an_orphan(found: list[KnownStack]) -> None:
    assert judge_job(OTHER, found).verdict in (Verdict.UNPROVEN, Verdict.KNOWN)
    assert judge_job(OTHER, [stack(RUN, past=(RUN, CUSTOM_JOB))]).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize(
    ("stacks", "metadata", "live", "verdict"),
    [
        pytest.param([stack(past=(STAGED,))], {STAGED_KEY: "1"}, "", Verdict.ORPHAN, id="an orphan"),
        pytest.param([stack(past=(STAGED,))], {}, "", None, id="not ours"),
        pytest.param([stack(STAGED)], {STAGED_KEY: "1"}, "", Verdict.KNOWN, id="in a state"),
        pytest.param(
            [stack({"type": "x", "inputs": {"args": [f"--data=/gcs/staging/data/{HASH}"]}})],
            {STAGED_KEY: "1"},
            "",
            Verdict.KNOWN,
            id="its folder is in a state",
        ),
        pytest.param(
            [stack(past=(STAGED,))],
            {STAGED_KEY: "1"},
            f"--data\n/gcs/staging/data/{HASH}/data.txt",
            Verdict.KNOWN,
            id="a live job reads it",
        ),
        pytest.param(
            [stack(past=(STAGED,))],
            {STAGED_KEY: "1", SHARED_KEY: "1"},
            "",
            Verdict.UNPROVEN,
            id="staged twice",
        ),
        pytest.param(
            [removed(STAGED)], {STAGED_KEY: "1"}, "", Verdict.UNPROVEN, id="a stack that was removed"
        ),
        pytest.param([stack()], {STAGED_KEY: "1"}, "", Verdict.UNPROVEN, id="never here"),
    ],
)
def test_the_judgement_of_an_object(
    stacks: list[KnownStack], metadata: dict[str, str], live: str, verdict: Verdict | None
) -> None:
    judgement = judge_object(URI, metadata, stacks, read_by_live_jobs=live)
    assert (judgement and judgement.verdict) is verdict


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
PIPELINE_RUN = resource(
    "TrainingPipeline",
    f"projects/42/locations/us-central1/trainingPipelines/{PIPELINE}",
    __run={"key": f"{IDENTITY}-1"},
    on_delete="cancel",
)


def begun(**inputs: Any) -> dict[str, Any]:
    """A creation under way: there is no id yet."""
    return {"type": type_token("PersistentResource"), "inputs": {"persistent_resource_id": "gpus", **inputs}}


def begins(*resources: Any, is_deployed_now: bool | None) -> KnownStack:
    """A stack in whose state the creation is under way."""
    now = memory_of(state(*resources, pending=[begun(**HERE)]))
    return replace(stack(is_deployed_now=is_deployed_now), now=now)


def gpus(**more: Any) -> PersistentRecord:
    return PersistentRecord(name=GPUS, display_name="", labels=MARKS, **more)


def digits(**more: Any) -> PersistentRecord:
    return PersistentRecord(
        name="projects/42/locations/us-central1/models/digits", display_name="", labels=MARKS, **more
    )


@every_row(
    ("record", "stacks", "verdict", "because"),
    [
        pytest.param(
            gpus(),
            [stack()],
            Verdict.UNPROVEN,
            "^no stack here knows it; its labels say digits/prod/gpus, but names prove nothing; "
            "`vertex-training gc --yes gpus` deletes it$",
            id="unknown",
        ),
        pytest.param(gpus(), [stack(IN_STATE)], Verdict.KNOWN, "prod .* knows it", id="known"),
        pytest.param(
            gpus(), [begins(is_deployed_now=True)], Verdict.KNOWN, "`pulumi cancel`", id="being created"
        ),
        pytest.param(
            gpus(),
            [begins(is_deployed_now=False)],
            Verdict.UNPROVEN,
            "^a killed deployment of stack digits/prod in file:///a began to make it; `pulumi up` there "
            "takes it over as long as it is declared; `vertex-training gc --yes gpus` deletes it$",
            id="its creation was killed",
        ),
        pytest.param(
            gpus(),
            [begins(is_deployed_now=None)],
            Verdict.UNPROVEN,
            "began to make it, unless a deployment of it goes on; ",
            id="perhaps being created",
        ),
        pytest.param(
            gpus(),
            [begins(IN_STATE, is_deployed_now=False)],
            Verdict.KNOWN,
            "knows it",
            id="a creation was killed, and it was taken over",
        ),
        pytest.param(gpus(), [stack(past=(IN_STATE,))], Verdict.UNPROVEN, "no stack here", id="once known"),
        pytest.param(
            gpus(),
            [stack(resource("CustomJob", JOB, job_spec={"persistent_resource_id": "gpus"}, **HERE))],
            Verdict.KNOWN,
            "knows it",
            id="a job that is known runs on it",
        ),
        pytest.param(
            gpus(),
            [stack({"type": "other", "inputs": {"note": f"see {GPUS} for more", "location": "EU"}})],
            Verdict.KNOWN,
            "knows it",
            id="mentioned by anything",
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "endpoint": "emulator"}))], Verdict.UNPROVEN, "", id="emulator"
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "project": "q"}))], Verdict.UNPROVEN, "", id="other project"
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "project": "42"}))], Verdict.KNOWN, "", id="a project's number"
        ),
        pytest.param(
            gpus(), [stack(begun(**{**HERE, "location": "us-east1"}))], Verdict.UNPROVEN, "", id="other place"
        ),
        pytest.param(
            gpus(),
            [stack({"type": "other", "inputs": {"persistentResourceId": "gpus"}})],
            Verdict.KNOWN,
            "",
            id="without a place",
        ),
        pytest.param(
            digits(),
            [stack(IN_STATE, begun(persistent_resource_id="digits"))],
            Verdict.UNPROVEN,
            "",
            id="a persistent resource of the model's name",
        ),
        pytest.param(
            digits(), [stack(resource("Model", adopt="digits@3"))], Verdict.KNOWN, "", id="being adopted"
        ),
        pytest.param(
            digits(), [stack(resource("Model", parent_model="digits"))], Verdict.KNOWN, "", id="has a version"
        ),
        pytest.param(
            digits(),
            [stack(resource("TrainingPipeline", model="projects/42/locations/us-central1/models/digits@1"))],
            Verdict.KNOWN,
            "knows it",
            id="the output of a pipeline",
        ),
        pytest.param(
            digits(uploaded_by=frozenset({PIPELINE})),
            [stack(PIPELINE_RUN)],
            Verdict.KNOWN,
            "knows a pipeline that uploaded it",
            id="uploaded by a pipeline that is known",
        ),
        pytest.param(
            digits(uploaded_by=frozenset({PIPELINE})),
            [stack(past=(PIPELINE_RUN,))],
            Verdict.KEPT,
            "on_delete was cancel in stack",
            id="uploaded by a pipeline that was kept",
        ),
        pytest.param(
            gpus(),
            [stack(past=({**IN_STATE, "retainOnDelete": True},))],
            Verdict.KEPT,
            "retain_on_delete was set in stack digits/prod",
            id="retained",
        ),
        pytest.param(
            gpus(),
            [stack(past=({**resource("CustomJob", JOB, on=GPUS), "retainOnDelete": True},))],
            Verdict.UNPROVEN,
            "",
            id="a job on it was retained",
        ),
        pytest.param(gpus(state="STOPPING"), [], Verdict.UNPROVEN, "^it is being deleted", id="going"),
        pytest.param(
            gpus(obstacle="jobs on it"), [], Verdict.UNPROVEN, "prove nothing; jobs on it$", id="an obstacle"
        ),
    ],
)
def test_the_judgement_of_what_lasts(
    record: PersistentRecord, stacks: list[KnownStack], verdict: Verdict, because: str
) -> None:
    judgement = judge_lasting(record, stacks, ENDPOINT)
    assert judgement.verdict is verdict, judgement.reason
    assert re.search(because, judgement.reason), judgement.reason


def test_what_was_replaced_into_another_place_is_known_in_both() -> None:
    moved = {**IN_STATE, "inputs": {**IN_STATE["outputs"], "location": "us-east1"}}
    there = PersistentRecord(name=GPUS.replace("us-central1", "us-east1"), display_name="", labels=MARKS)
    for record in (gpus(), there):
        assert judge_lasting(record, [stack(moved)], ENDPOINT).verdict is Verdict.KNOWN


@given(stacks)
def test_what_lasts_is_never_proven(found: list[KnownStack]) -> None:
    assert judge_lasting(gpus(), found, ENDPOINT).verdict is Verdict.UNPROVEN


def test_what_a_state_says() -> None:
    memory = memory_of(state(RUN, KEPT_JOB, STAGED))
    assert memory.runs == {IDENTITY}
    assert memory.kept == {IDENTITY, JOB.rpartition("/")[2]}
    assert memory.objects == {URI}
    assert memory.places == {StagingPlace(endpoint="google", project="p", bucket="staging", prefix="data")}
    assert memory.text == ""


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
    memory = memory_of(read)
    assert (memory.runs, IDENTITY in memory.mentioned) == ({IDENTITY}, True)


@pytest.mark.parametrize("read", [{"deployment": None}, {"checkpoint": {"latest": None}}])
def test_a_stack_that_was_never_deployed_says_nothing(read: dict[str, Any]) -> None:
    assert memory_of(read) == NOTHING


@pytest.mark.parametrize(
    "read",
    [{}, {"checkpoint": []}, {"deployment": []}, {"deployment": {"resources": "none"}}],
    ids=json.dumps,
)
def test_what_is_no_state_does_not_pass_for_an_empty_one(read: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"in it|cannot be read"):
        memory_of(read)


def test_values_that_are_secret_hide_no_run() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}
    assert memory_of(state(resource("Run", IDENTITY, key=secret))).runs == {IDENTITY}
    assert memory_of(state(resource("CustomJob", JOB, run=secret))).job_ids >= {JOB.rpartition("/")[2]}


def test_several_states_say_what_each_says() -> None:
    both = united([memory_of(state(RUN)), memory_of(state(STAGED))])
    assert both.runs == {IDENTITY}
    assert both.objects == {URI}
    assert united([]) == Memory()
