"""Each orphan is read again right before it is cancelled or deleted."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from pulumi_vertex_training.cli.gc.sweep import (
    Outcome,
    SharedRead,
    delete_job,
    delete_object,
    delete_persistent,
)
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition, NotFound, PermissionDenied
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.persistent import PersistentRecord, persistent_kinds
from pulumi_vertex_training.timeouts import Timeouts
from support.scripted_service import Answer, Service, refusal
from support.services.fake_gateway import FakeGateway
from support.waiting import TIMEOUT

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1", timeouts=Timeouts(job_end=60.0))
NAME = "projects/1/locations/us-central1/customJobs/1"


@dataclass
class Jobs:
    """One job that ends some polls after it was cancelled; a `stubborn` one never ends."""

    state: JobState | None
    stubborn: bool = False
    called: list[str] = field(default_factory=list)
    now: float = 0.0
    fault: Exception | None = None

    def get(self, _: Endpoint, name: str) -> JobRecord:
        if self.fault:
            raise self.fault
        if self.state is None:
            raise NotFound("no such job")
        return JobRecord(name=name, display_name="train", state=self.state)

    def cancel(self, _: Endpoint, __: str) -> None:
        self.called.append("cancel")
        self.state = JobState.JOB_STATE_CANCELLING

    def delete(self, _: Endpoint, __: str) -> None:
        self.called.append("delete")
        self.state = None

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if not self.stubborn:
            self.state = JobState.JOB_STATE_CANCELLED

    def collect(self, *refusals: str) -> Outcome:
        """Delete the job; each call of `refusal` returns the next of `refusals`, then ""."""
        said: Iterator[str] = iter(refusals)
        return delete_job(
            FakeGateway(get=self.get, cancel=self.cancel, delete=self.delete),
            ENDPOINT,
            NAME,
            refusal=lambda _: next(said, ""),
            report=lambda _: None,
            clock=lambda: self.now,
            sleep=self.sleep,
        )


@pytest.mark.parametrize(
    ("jobs", "refusals", "called", "outcome"),
    [
        pytest.param(
            Jobs(JobState.JOB_STATE_RUNNING),
            (),
            ["cancel", "delete"],
            Outcome(words="deleted", deleted=True),
            id="a live one is cancelled first",
        ),
        pytest.param(
            Jobs(JobState.JOB_STATE_FAILED),
            (),
            ["delete"],
            Outcome(words="deleted", deleted=True),
            id="ended",
        ),
        pytest.param(Jobs(None), (), [], Outcome(words="already deleted"), id="gone"),
        pytest.param(
            Jobs(JobState.JOB_STATE_RUNNING),
            ("stack a has it",),
            [],
            Outcome(words="skipped: stack a has it"),
            id="known meanwhile",
        ),
        pytest.param(
            Jobs(JobState.JOB_STATE_RUNNING),
            ("", "stack a has it"),
            ["cancel"],
            Outcome(words="cancelled, but its record was kept: stack a has it"),
            id="known while it was waited for",
        ),
    ],
)
def test_a_job(jobs: Jobs, refusals: tuple[str, ...], called: list[str], outcome: Outcome) -> None:
    assert (jobs.collect(*refusals), jobs.called) == (outcome, called)


def test_a_job_that_does_not_end_is_not_deleted() -> None:
    jobs = Jobs(JobState.JOB_STATE_RUNNING, stubborn=True)
    outcome = jobs.collect()
    assert (jobs.called, outcome.failed, outcome.deleted) == (["cancel"], True, False)
    assert "60 s after it was asked to stop" in outcome.words


def test_a_failure_is_reported_and_not_raised() -> None:
    outcome = Jobs(JobState.JOB_STATE_RUNNING, fault=PermissionDenied("you may not")).collect()
    assert outcome == Outcome(words="you may not", failed=True)


GPUS = PersistentRecord(
    name="projects/1/locations/us-central1/persistentResources/gpus",
    display_name="",
    state="RUNNING",
    create_time="2026-01-01T00:00:00Z",
)


@dataclass
class Resources:
    """One persistent resource, whose deletion takes `seconds`; `successor` has its name afterwards."""

    record: PersistentRecord | None = GPUS
    seconds: float = 0.0
    successor: PersistentRecord | None = None
    fault: Exception | None = None
    called: list[str] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    now: float = 0.0

    def get(self, _: Endpoint, __: str) -> PersistentRecord:
        if self.record and self.record.state == "STOPPING" and self.now >= self.seconds:
            self.record = self.successor
        if self.record is None:
            raise NotFound("no such resource")
        return self.record

    def delete(self, _: Endpoint, __: str) -> None:
        self.called.append("delete")
        if self.fault:
            raise self.fault
        self.record = replace(GPUS, state="STOPPING")

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def collect(self, *refusals: str) -> Outcome:
        said: Iterator[str] = iter(refusals)
        return delete_persistent(
            replace(persistent_kinds()["persistentResources"], get=self.get, delete=self.delete),
            ENDPOINT,
            GPUS.name,
            refusal=lambda _: next(said, ""),
            report=self.reported.append,
            clock=lambda: self.now,
            sleep=self.sleep,
        )


DELETED = Outcome(words="deleted", deleted=True)


@pytest.mark.parametrize(
    ("resources", "refusals", "called", "outcome"),
    [
        pytest.param(Resources(), (), ["delete"], DELETED, id="at once"),
        pytest.param(Resources(seconds=40.0), (), ["delete"], DELETED, id="in a while"),
        pytest.param(
            Resources(replace(GPUS, state="STOPPING"), seconds=9.0), (), [], DELETED, id="going already"
        ),
        pytest.param(
            Resources(successor=replace(GPUS, create_time="2026-01-02T00:00:00Z")),
            (),
            ["delete"],
            DELETED,
            id="somebody makes a new one",
        ),
        pytest.param(Resources(None), (), [], Outcome(words="already deleted"), id="gone"),
        pytest.param(
            Resources(),
            ("stack a has it",),
            [],
            Outcome(words="skipped: stack a has it"),
            id="known meanwhile",
        ),
        pytest.param(
            Resources(replace(GPUS, obstacle="jobs on it use 2 of its machines")),
            (),
            [],
            Outcome(words="not deleted: jobs on it use 2 of its machines", failed=True),
            id="in use",
        ),
        pytest.param(
            Resources(fault=FailedPrecondition("it is deployed")),
            (),
            ["delete"],
            Outcome(words="it is deployed", failed=True),
            id="refused by the service",
        ),
        pytest.param(
            Resources(fault=NotFound("gone")),
            (),
            ["delete"],
            Outcome(words="already deleted"),
            id="gone by then",
        ),
    ],
)
def test_a_persistent_resource(
    resources: Resources, refusals: tuple[str, ...], called: list[str], outcome: Outcome
) -> None:
    assert (resources.collect(*refusals), resources.called) == (outcome, called)


def test_a_long_deletion_says_so_and_is_bounded() -> None:
    resources = Resources(seconds=1000.0)
    outcome = resources.collect()
    assert (outcome.failed, outcome.deleted) == (True, False)
    assert "persistent resource gpus is still STOPPING 60 s after its deletion began. Run" in outcome.words
    assert len(resources.reported) == 3
    assert resources.reported[0].startswith("deleting for 1")


@pytest.fixture
def storage() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


def collect_object(storage: Service, *, refused: str = "") -> Outcome:
    endpoint = Endpoint(kind="emulator", project="p", location="l", url=storage.url, token="t")
    return delete_object(endpoint, "b", "o", refusal=lambda _: refused)


OBJECT = Answer(document={"bucket": "b", "name": "o", "generation": "7", "metageneration": "2"})


def test_an_object_is_deleted_in_the_generation_that_was_read(storage: Service) -> None:
    storage.script(OBJECT, Answer(status=204))
    assert collect_object(storage) == Outcome(words="deleted", deleted=True)
    assert [one.method for one in storage.asked] == ["GET", "DELETE"]
    assert storage.asked[1].query == {"generation": ["7"], "ifMetagenerationMatch": ["2"]}


@pytest.mark.parametrize(
    ("answers", "refused", "outcome"),
    [
        pytest.param(
            [OBJECT], "a live job reads it", Outcome(words="skipped: a live job reads it"), id="in use"
        ),
        pytest.param(
            [refusal(404, "NOT_FOUND", "no such object")], "", Outcome(words="already deleted"), id="gone"
        ),
        pytest.param(
            [OBJECT, refusal(412, "conditionNotMet", "changed")],
            "",
            Outcome(words="skipped: it was just staged again"),
            id="staged again in between",
        ),
    ],
)
def test_an_object_that_is_skipped(
    storage: Service, answers: list[Answer], refused: str, outcome: Outcome
) -> None:
    storage.script(*answers)
    assert collect_object(storage, refused=refused) == outcome


def test_an_object_that_may_not_be_deleted(storage: Service) -> None:
    storage.script(OBJECT, refusal(403, "PERMISSION_DENIED", "you may not"))
    assert collect_object(storage).failed


def test_a_read_begins_after_the_call() -> None:
    now = [0.0]
    readings: list[float] = []

    def read() -> int:
        readings.append(now[0])
        now[0] += 5
        return len(readings)

    fresh = SharedRead(read, clock=lambda: now[0])
    assert [fresh.get(), fresh.get()] == [1, 2]
    assert readings == [0.0, 5.0]


def test_calls_during_a_read_share_the_next_one() -> None:
    clock = itertools.count()
    looked = threading.Semaphore(0)
    go_on = threading.Event()
    readings: list[int] = []

    def now() -> float:
        moment = next(clock)
        looked.release()
        return moment

    def read() -> int:
        readings.append(len(readings))
        assert go_on.wait(TIMEOUT)
        return readings[-1]

    fresh = SharedRead(read, clock=now)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(fresh.get())) for _ in range(4)]
    threads[0].start()
    for _ in range(2):  # it has asked, and begun
        assert looked.acquire(timeout=TIMEOUT)
    for thread in threads[1:]:
        thread.start()
    for _ in range(3):
        assert looked.acquire(timeout=TIMEOUT)
    go_on.set()
    for thread in threads:
        thread.join(TIMEOUT)
    assert sorted(answers) == [0, 1, 1, 1]
