"""Decisions of gc on jobs and objects, and the contents of states."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Status, decide_job, decide_object
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StateContents, contents_of, merged
from pulumi_vertex_training.cloud.objects import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.identity import RUN_LABEL
from support.client.specs.known_stacks import (
    BEGUN_JOB,
    CUSTOM_JOB,
    HASH,
    IDENTITY,
    JOB,
    KEPT_JOB,
    NEXT_JOB,
    STAGED,
    URI,
    checkpoint,
    removed,
    resource,
    stack,
    stacks,
    state,
)
from support.tables import every_row


def record(run: str = f"{IDENTITY}-1", name: str = JOB) -> JobRecord:
    return JobRecord(
        name=name, display_name="train", state=JobState.JOB_STATE_RUNNING, labels={RUN_LABEL: run}
    )


@every_row(
    ("stacks", "status", "because"),
    [
        pytest.param([stack(CUSTOM_JOB)], Status.KNOWN, "prod .* has it", id="the job is in a state"),
        pytest.param([stack(NEXT_JOB)], Status.KNOWN, "has it", id="another job of its declaration is"),
        pytest.param(
            [stack(pending=[BEGUN_JOB], is_deployed_now=True)],
            Status.KNOWN,
            "^a deployment of stack digits/prod in .* is creating it; if it was killed, run `pulumi cancel`$",
            id="it is being submitted",
        ),
        pytest.param(
            [stack(pending=[BEGUN_JOB], is_deployed_now=False)],
            Status.UNPROVEN,
            "^a killed deployment of stack digits/prod in .* began to create it; if it is still declared, "
            f"`pulumi up` there adopts it; `vertex-training gc --yes {JOB.rpartition('/')[2]}` deletes it$",
            id="a killed deployment submitted it",
        ),
        pytest.param(
            [stack(pending=[BEGUN_JOB])], Status.UNPROVEN, "unless one is still running", id="nobody knows"
        ),
        pytest.param(
            [stack(NEXT_JOB, pending=[BEGUN_JOB], is_deployed_now=False)],
            Status.KNOWN,
            "has it",
            id="its replacement is pending",
        ),
        pytest.param([stack(resource("CustomJob", JOB, run="feed-1"))], Status.KNOWN, "has it", id="adopted"),
        pytest.param([stack(), stack(NEXT_JOB, name="dev")], Status.KNOWN, "dev", id="another stack has it"),
        pytest.param(
            [stack({"type": "other", "inputs": {"adopt": JOB.rpartition("/")[2]}})],
            Status.KNOWN,
            "has it",
            id="mentioned by anything",
        ),
        pytest.param(
            [stack(past=(NEXT_JOB,)), stack(NEXT_JOB, name="dev")],
            Status.KNOWN,
            "dev",
            id="moved to another stack",
        ),
        pytest.param(
            [stack(past=(NEXT_JOB,))],
            Status.ORPHAN,
            "prod in file:///a had it and no longer has it",
            id="another job of its declaration",
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
            [removed(CUSTOM_JOB), stack(past=(NEXT_JOB,))],
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
    assert decide_job(record(f"{IDENTITY}-12"), [stack(NEXT_JOB)]).status is Status.KNOWN


@given(stacks)
def test_only_what_an_existing_stack_had_is_an_orphan(found: list[KnownStack]) -> None:
    had = any(one.now is not None and IDENTITY in one.past.runs for one in found)
    has = any(one.now is not None and IDENTITY in one.now.text for one in found)
    kept = any(one.past.kept for one in found)
    assert (decide_job(record(), found).status is Status.ORPHAN) == (had and not has and not kept)


@given(stacks)
def test_more_states_never_make_an_orphan_of_what_is_known(found: list[KnownStack]) -> None:
    assert decide_job(record(), [*found, stack(NEXT_JOB)]).status is Status.KNOWN


OTHER = record(run="feedfeedfeedfeed-1", name="projects/42/locations/us-central1/customJobs/5")


@given(stacks)
def test_a_job_of_another_backend_is_never_an_orphan(found: list[KnownStack]) -> None:
    assert decide_job(OTHER, found).status in (Status.UNPROVEN, Status.KNOWN)
    assert decide_job(OTHER, [stack(NEXT_JOB, past=(NEXT_JOB, CUSTOM_JOB))]).status is Status.UNPROVEN


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


SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(state(NEXT_JOB), id="an export"),
        pytest.param(checkpoint(NEXT_JOB), id="a checkpoint"),
        pytest.param(state(pending=[BEGUN_JOB]), id="a pending operation"),
        pytest.param(
            state({**BEGUN_JOB, "outputs": {"__run": SECRET}}),
            id="a job whose outputs are secret",
        ),
    ],
)
def test_where_a_run_is_found(read: dict[str, Any]) -> None:
    contents = contents_of(read)
    assert (contents.runs, IDENTITY in contents.mentioned | contents.begun_runs) == ({IDENTITY}, True)


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


def test_values_that_are_secret_hide_no_job() -> None:
    assert contents_of(state(resource("CustomJob", JOB, __run=SECRET))).job_ids >= {JOB.rpartition("/")[2]}


def test_several_states_say_what_each_says() -> None:
    both = merged([contents_of(state(NEXT_JOB)), contents_of(state(STAGED))])
    assert both.runs == {IDENTITY}
    assert both.objects == {URI}
    assert merged([]) == StateContents()
