"""A climb against a service whose answers a test chooses: words, lost answers, races and stale lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord, from_wire
from pulumi_vertex_training.runs.climb import Climb, Climbed, Pause, Step
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import RUNG_LABEL, RunKey
from pulumi_vertex_training.runs.submission import Submission

HERE = Endpoint(kind="google", project="p", location="us-central1")
STOCKOUT = "Resources are insufficient in region: us-central1. Try a different region."
Answers = Iterator[Mapping[str, Any]]


class Service:
    """A service with the states that each rung's job takes, one after the other with each reading."""

    noun, collection = "custom job", "customJobs"

    def __init__(self, *rungs: list[dict[str, Any]]) -> None:
        self.rungs = list(rungs)
        self.jobs: dict[str, list[dict[str, Any]]] = {}
        self.calls: list[str] = []
        self.losing: dict[str, int] = {}
        self.cancelled: Callable[[str], dict[str, Any]] = lambda _: {"state": "JOB_STATE_CANCELLED"}

    def create(self, _: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
        self._call("create")
        name = f"projects/1/locations/us-central1/customJobs/{len(self.jobs) + 1}"
        given = {**wire, "name": name, "createTime": f"2026-01-01T00:00:0{len(self.jobs)}Z"}
        self.jobs[name] = [{**given, **state} for state in self.rungs[len(self.jobs)]]
        self._lose("create")
        return self._now(name)

    def get(self, _: Endpoint, name: str) -> JobRecord:
        self._call(f"get {name[-1]}")
        self._lose("get")
        if len(self.jobs[name]) > 1:
            self.jobs[name].pop(0)
        return self._now(name)

    def cancel(self, _: Endpoint, name: str) -> None:
        self._call(f"cancel {name[-1]}")
        self.jobs[name] = [{**self.jobs[name][0], **self.cancelled(name)}]
        self._lose("cancel")

    def list_by_label(self, _: Endpoint, labels: Mapping[str, str]) -> list[JobRecord]:
        found = [self._now(name) for name in self.jobs]
        return [one for one in found if labels.items() <= one.labels.items()]

    def _now(self, name: str) -> JobRecord:
        return from_wire(self.jobs[name][0])

    def _call(self, what: str) -> None:
        self.calls.append(what)

    def _lose(self, what: str) -> None:
        self.losing[what] = self.losing.get(what, 0) - 1
        if self.losing[what] == 0:
            raise Unavailable(
                "the answer was lost", code=503, reason="UNAVAILABLE", resource="", endpoint=HERE
            )


PENDING: dict[str, Any] = {"state": "JOB_STATE_PENDING"}
RUNNING = {"state": "JOB_STATE_RUNNING", "startTime": "2026-01-01T01:00:00Z"}


def failed(words: str, **more: Any) -> dict[str, Any]:
    return {"state": "JOB_STATE_FAILED", "error": {"code": 8, "message": words}, **more}


def climb(
    service: Service,
    *seconds: float | None,
    left: tuple[JobRecord, ...] = (),
    pause: float = 1000.0,
    tried: tuple[str, ...] = (),
) -> Climbed:
    """Climb rungs with these waits. The clock goes on by the pauses alone."""
    now = [0.0]

    def sleep(pause: float) -> bool:
        now[0] += pause
        return False

    steps = [
        Step(
            key=f"key{n}",
            position=n,
            name=f"rung {n}",
            endpoint=HERE,
            seconds=each,
            of=None,
            wire=lambda *_: {"displayName": "train"},
        )
        for n, each in enumerate(seconds, 1)
    ]
    climbing = Climb(
        gateway=cast(RunGateway, service),
        steps=steps,
        submission=Submission(key=RunKey(identity="fresh", generation=1), spec_hash="v1-spec"),
        pause=Pause(seconds=pause, sleep=sleep, clock=lambda: now[0]),
        before_submit=lambda *_: None,
        before_delete=None,
        tell=lambda _: None,
    )
    return climbing.run(left, tried=tried)


def attempt(
    service: Service, number: int, rung: int, *states: dict[str, Any], spec: str = "v1-spec"
) -> JobRecord:
    """Return a job that a killed deployment left, whose identity is not the one of this deployment."""
    name = f"projects/1/locations/us-central1/customJobs/{number}"
    labels = {
        "vertex-training-run": f"former-{number}",
        "vertex-training-declaration": "former",
        "vertex-training-spec": spec,
        RUNG_LABEL: f"{rung}-key{rung}",
    }
    service.jobs[name] = [
        {"name": name, "createTime": f"2026-01-01T00:00:0{number}Z", "labels": labels, **state}
        for state in states
    ]
    service.rungs.insert(0, [])
    return from_wire(service.jobs[name][0])


def test_each_rung_once_and_the_answers_of_all() -> None:
    service = Service([PENDING, failed(STOCKOUT)], [PENDING])
    found = climb(service, None, 60.0)
    assert found.is_over
    assert found.tried == ("key1", "key2")
    assert found.answers == (f"rung 1: {STOCKOUT}", "rung 2: it waited for 1 min")
    assert found.record.state.word == "CANCELLED"


def test_a_rung_is_left_by_reading_cancelling_and_reading() -> None:
    service = Service([PENDING], [RUNNING])
    assert climb(service, 0.0, None).record.labels[RUNG_LABEL] == "2-key2"
    assert service.calls == ["create", "get 1", "cancel 1", "get 1", "create"]


def test_words_that_are_not_known_end_the_climb() -> None:
    service = Service([PENDING, failed("Out of flux capacitors")], [RUNNING])
    found = climb(service, None, None)
    assert found.record.error is not None
    assert not found.is_over
    assert service.calls.count("create") == 1


def test_a_job_that_had_started_stays_however_it_ended() -> None:
    service = Service([PENDING, failed(STOCKOUT, startTime="2026-01-01T01:00:00Z")], [RUNNING])
    assert climb(service, None, None).record.state.word == "FAILED"
    assert service.calls.count("create") == 1


def test_a_job_that_somebody_cancels_stays() -> None:
    service = Service([PENDING, {"state": "JOB_STATE_CANCELLED"}], [RUNNING])
    assert climb(service, None, None).record.state.word == "CANCELLED"
    assert service.calls.count("create") == 1


def test_a_job_that_starts_just_before_it_is_left_stays() -> None:
    service = Service([PENDING, RUNNING], [RUNNING])
    assert climb(service, 0.0, None).record.state.word == "RUNNING"
    assert "cancel 1" not in service.calls


def test_a_job_that_succeeds_while_it_is_left_stays() -> None:
    service = Service([PENDING, PENDING], [RUNNING])
    service.cancelled = lambda _: {**RUNNING, "state": "JOB_STATE_SUCCEEDED"}
    assert climb(service, 0.0, None).record.state.word == "SUCCEEDED"
    assert service.calls.count("create") == 1


@pytest.mark.parametrize("call", ["create", "cancel", "get"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_lost_answer_makes_no_second_job(call: str, nth: int) -> None:
    service = Service([PENDING, PENDING], [PENDING, RUNNING])
    service.losing[call] = nth
    try:
        found = climb(service, 1.0, None)
    except Unavailable:
        found = climb(service, 1.0, None, left=tuple(service.list_by_label(HERE, {})))
    assert found.record.state.word == "RUNNING"
    assert len(service.jobs) == 2


def test_a_continued_pass_keeps_its_identity_and_tries_no_rung_again() -> None:
    service = Service([RUNNING])
    left = (
        attempt(service, 1, 1, failed(STOCKOUT)),
        attempt(service, 2, 2, {"state": "JOB_STATE_CANCELLED"}),
    )
    found = climb(service, None, None, None, left=left)
    assert found.record.labels["vertex-training-run"] == "former-3"
    assert found.record.labels[RUNG_LABEL] == "3-key3"


def test_a_rung_that_is_not_declared_any_more_is_given_up_unless_it_has_started() -> None:
    service = Service([RUNNING])
    left = (attempt(service, 1, 7, PENDING, PENDING),)
    assert climb(service, None, left=left).record.labels[RUNG_LABEL] == "1-key1"
    started = Service()
    left = (attempt(started, 1, 7, RUNNING),)
    assert climb(started, None, left=left).record.labels[RUNG_LABEL] == "7-key7"


def test_an_attempt_that_a_list_showed_late_is_given_up() -> None:
    service = Service()
    left = (attempt(service, 1, 1, PENDING, PENDING), attempt(service, 2, 2, RUNNING))
    found = climb(service, None, None, left=left)
    assert found.record.labels[RUNG_LABEL] == "2-key2"
    assert "cancel 1" in service.calls


def test_a_run_that_was_cancelled_after_it_had_machines_ended_its_pass() -> None:
    service = Service([RUNNING])
    cancelled = {"state": "JOB_STATE_CANCELLED", "startTime": "2026-01-01T01:00:00Z"}
    left = (attempt(service, 1, 1, cancelled),)
    assert climb(service, None, left=left).record.labels[RUNG_LABEL] == "1-key1"


def test_a_deployment_that_does_not_wait_submits_one_rung() -> None:
    service = Service([PENDING], [RUNNING])
    found = climb(service, 60.0, None, pause=0.0)
    assert (found.record.state.word, found.is_over) == ("PENDING", False)


def test_a_pass_of_an_earlier_deployment_goes_on() -> None:
    service = Service([RUNNING])
    found = climb(service, None, None, tried=("key1",))
    assert found.record.labels[RUNG_LABEL] == "2-key2"
    assert found.tried == ("key1", "key2")
