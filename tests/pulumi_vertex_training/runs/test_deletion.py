"""A run is taken away step by step, and not touched where that is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound, Unavailable
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.deletion import ProtectedError, StillRunningError, delete_run
from pulumi_vertex_training.timeouts import Timeouts
from support.services.fake_gateway import FakeGateway

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")
NAME = "projects/1/locations/us-central1/customJobs/1"


@dataclass
class Service:
    """One job; `stubborn` never ends."""

    state: JobState | None
    stubborn: bool = False
    called: list[str] = field(default_factory=list)
    now: float = 0.0
    lose: str = ""
    """The call whose answer is lost; it is carried out unless `refuses`."""
    refuses: bool = False

    def get(self, _: Endpoint, name: str) -> JobRecord:
        if self.state is None:
            raise NotFound("no such job")
        return JobRecord(name=name, display_name="train", state=self.state)

    def lost(self, call: str) -> None:
        if self.lose == call:
            raise Unavailable("no answer")

    def cancel(self, _: Endpoint, __: str) -> None:
        self.called.append("cancel")
        if self.refuses:
            self.lost("cancel")
        self.state = JobState.JOB_STATE_CANCELLING if self.stubborn else JobState.JOB_STATE_CANCELLED
        self.lost("cancel")

    def delete(self, _: Endpoint, __: str) -> None:
        self.called.append("delete")
        if self.refuses:
            self.lost("delete")
        self.state = None
        self.lost("delete")

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def remove(
        self, *, said: list[str] | None = None, endpoint: Endpoint = ENDPOINT, **options: Any
    ) -> list[str]:
        kind = FakeGateway(noun="job", get=self.get, cancel=self.cancel, delete=self.delete)
        said = [] if said is None else said
        delete_run(
            kind,
            endpoint,
            NAME,
            label="train",
            tell=said.append,
            clock=lambda: self.now,
            sleep=self.sleep,
            **options,
        )
        return said


@pytest.mark.parametrize(
    ("state", "keep", "called"),
    [
        pytest.param("RUNNING", False, ["cancel", "delete"], id="running"),
        pytest.param("RUNNING", True, ["cancel"], id="running, kept"),
        pytest.param("SUCCEEDED", False, ["delete"], id="ended"),
        pytest.param("SUCCEEDED", True, [], id="ended, kept"),
        pytest.param(None, False, [], id="gone"),
    ],
)
def test_the_steps(state: str | None, keep: bool, called: list[str]) -> None:
    service = Service(None if state is None else JobState[f"JOB_STATE_{state}"])
    service.remove(keep_record=keep)
    assert service.called == called


@pytest.mark.parametrize("call", ["cancel", "delete"])
def test_a_lost_answer_is_an_error_only_if_nothing_was_done(call: str) -> None:
    service = Service(JobState.JOB_STATE_RUNNING, lose=call)
    service.remove()
    assert service.called == ["cancel", "delete"]
    assert service.state is None
    with pytest.raises(Unavailable, match="no answer"):
        Service(JobState.JOB_STATE_RUNNING, lose=call, refuses=True).remove()


@pytest.mark.parametrize(
    ("state", "keep", "noted"), [("RUNNING", True, 1), ("SUCCEEDED", False, 1), (None, False, 0)]
)
def test_a_deletion_is_noted_before_anything_is_done(state: str | None, keep: bool, noted: int) -> None:
    service = Service(None if state is None else JobState[f"JOB_STATE_{state}"])
    called: list[list[str]] = []
    service.remove(keep_record=keep, before_stop=lambda: called.append(list(service.called)))
    assert called == [[]] * noted


def test_a_protected_run_is_not_touched() -> None:
    service = Service(JobState.JOB_STATE_RUNNING)
    with pytest.raises(ProtectedError, match="train cannot be destroyed: it is running"):
        service.remove(protect_running=True)
    assert service.called == []


def test_protection_ends_with_the_run() -> None:
    service = Service(JobState.JOB_STATE_FAILED)
    service.remove(protect_running=True)
    assert service.called == ["delete"]


def impatient(seconds: float) -> Endpoint:
    return replace(ENDPOINT, timeouts=Timeouts(job_end=seconds))


@pytest.mark.parametrize("timeout", [None, 90.0])
def test_a_run_that_does_not_end_is_left_for_the_next_time(timeout: float | None) -> None:
    service = Service(JobState.JOB_STATE_RUNNING, stubborn=True)
    with pytest.raises(
        StillRunningError, match=f"CANCELLING, {timeout or 20:g} s after it was asked to stop"
    ):
        service.remove(endpoint=impatient(20.0), timeout=timeout)
    assert service.called == ["cancel"]


def test_a_long_wait_says_that_it_goes_on() -> None:
    service = Service(JobState.JOB_STATE_RUNNING, stubborn=True)
    said: list[str] = []
    with pytest.raises(StillRunningError):
        service.remove(endpoint=impatient(40.0), said=said)
    going_on = [line for line in said if "is still CANCELLING" in line]
    assert [int(line.split(", ")[1].split()[0]) for line in going_on] == [16, 31]
