"""The jobs that no state has: which of those that the service finds a killed deployment left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.interrupted.jobs import begun_without_key, left_behind, replaced_run
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.state.entries import StackState
from pulumi_vertex_training.core.state.running_stack import StateAnswer, StateUnavailableError
from pulumi_vertex_training.runs.identity import RUN_LABEL, RunKey, labels
from support.services.fake_gateway import FakeGateway
from vertex_training.fields.labels import KEY_LABEL

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")
URN = "urn:pulumi:dev::program::pulumi-python:dynamic/customJob:CustomJob::train"
KEY = "5eed-0001"
LIVE, ENDED = JobState.JOB_STATE_RUNNING, JobState.JOB_STATE_SUCCEEDED


@pytest.fixture(autouse=True)
def operation() -> Iterator[None]:
    OPERATION.begin()
    yield
    OPERATION.begin()


def job(run: str, state: JobState = LIVE, *, key: str = KEY) -> JobRecord:
    carried = {KEY_LABEL: key, **labels(run, "v1-0")}
    return JobRecord(name=f"jobs/{run}", display_name="train", state=state, labels=carried)


def answer(state: StackState | str) -> None:
    """Let this be what `pulumi stack export` shows, or why it fails."""
    OPERATION.part(StateAnswer).found = state


NO_STATE = "`pulumi stack export` failed"


def gateway(jobs: Sequence[JobRecord]) -> FakeGateway:
    """Return a service that has these jobs."""

    def find(_: Endpoint, wanted: Mapping[str, str]) -> list[JobRecord]:
        return [one for one in jobs if wanted.items() <= one.labels.items()]

    return FakeGateway(list_by_label=find)


def left(jobs: Sequence[JobRecord], recorded: RunKey | None = None, *, key: str = KEY) -> list[str]:
    """Return the runs whose jobs were left behind, of those that the service has."""
    found = left_behind(gateway(jobs), ENDPOINT, URN, recorded, key)
    return [one.labels[RUN_LABEL] for one in found]


FIRST = RunKey(identity="ab", generation=1)


def test_of_a_recorded_run_all_later_ones_were_left_and_no_state_is_asked() -> None:
    answer(NO_STATE)
    jobs = [job("ab-1"), job("ab-2"), job("ab-3"), job("ab-4", ENDED), job("abc-5", ENDED)]
    OPERATION.note_made("jobs/ab-3")
    assert left(jobs, FIRST) == ["ab-2", "ab-4"]
    OPERATION.note_released("jobs/ab-2")
    assert left(jobs, FIRST) == ["ab-4"]


@pytest.mark.parametrize(
    ("known", "runs"),
    [
        pytest.param(StackState(), ["ab-2", "cd-1"], id="the state knows nothing of it"),
        pytest.param(StackState(identities=frozenset({"cd"})), ["ab-2"], id="another resource has it"),
    ],
)
def test_with_a_recorded_run_a_live_one_of_another_identity_was_left_too(
    known: StackState, runs: list[str]
) -> None:
    """Draw a new identity, as a repeated replacement on demand does."""
    answer(known)
    assert left([job("ab-1"), job("ab-2"), job("cd-1"), job("ef-1", ENDED)], FIRST) == runs


def test_a_replacement_on_demand_is_known_by_the_run_that_the_state_has() -> None:
    answer(StackState(recorded={URN: "ab-4"}))
    assert replaced_run(gateway([job("ab-4", ENDED)]), ENDPOINT, URN, KEY) == RunKey(
        identity="ab", generation=4
    )
    assert replaced_run(gateway([job("ab-4", key="5eed-0002")]), ENDPOINT, URN, KEY) is None


def test_a_creation_without_a_key_is_known_by_its_pending_identity() -> None:
    answer(StackState(begun={URN: frozenset({"ab"})}, ids=frozenset({"jobs/ab-2"})))
    found = begun_without_key(gateway([job("ab-1", ENDED), job("ab-2"), job("cd-1")]), ENDPOINT, URN)
    assert [one.name for one in found] == ["jobs/ab-1"]


def test_no_state_is_asked_while_no_job_has_the_key_of_the_resource() -> None:
    answer(NO_STATE)
    assert left([]) == []
    assert left([job("ab-1", key="5eed-0002")]) == []
    assert left([job("ab-1")], key="") == []
    OPERATION.note_made("5eed")
    assert left([job("ab-1")]) == [], "this deployment made the stack's key"


def test_if_the_state_cannot_be_asked_nothing_is_guessed() -> None:
    answer(NO_STATE)
    with pytest.raises(StateUnavailableError, match="`pulumi stack export` failed"):
        left([job("ab-1")])


@pytest.mark.parametrize("state", [LIVE, ENDED])
@pytest.mark.parametrize(
    ("known", "live_is_left", "ended_is_left"),
    [
        pytest.param(StackState(), True, False, id="the state knows nothing of it"),
        pytest.param(StackState(begun={URN: frozenset({"ab"})}), True, True, id="its creation is pending"),
        pytest.param(
            StackState(begun={f"{URN}-2": frozenset({"ab"})}), True, False, id="that of another resource is"
        ),
        pytest.param(StackState(ids=frozenset({"jobs/ab-1"})), False, False, id="the state has the job"),
        pytest.param(
            StackState(identities=frozenset({"ab"}), begun={URN: frozenset({"ab"})}),
            False,
            False,
            id="the state has a run of its identity",
        ),
    ],
)
def test_a_first_run_was_left_by_what_the_state_shows(
    state: JobState, known: StackState, live_is_left: bool, ended_is_left: bool
) -> None:
    answer(known)
    is_left = live_is_left if state is LIVE else ended_is_left
    assert left([job("ab-1", state)]) == (["ab-1"] if is_left else [])
