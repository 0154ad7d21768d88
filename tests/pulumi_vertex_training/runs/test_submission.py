"""At most one live job for a key, whoever was killed and whenever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.identity import RUN_LABEL, labels
from pulumi_vertex_training.runs.submission import Submission, find_or_submit
from support.services.fake_gateway import FakeGateway

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")
PARENT = "projects/1/locations/us-central1"


@dataclass
class Service:
    """A service whose list lags behind: a job is listed once the clock has passed its time."""

    now: float = 0.0
    lag: float = 0.0
    jobs: list[tuple[float, JobRecord]] = field(default_factory=list)
    lose_the_answer: bool = False
    created: int = 0
    deleted: list[str] = field(default_factory=list)

    def create(self, _: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
        self.created += 1
        job = JobRecord(
            name=f"projects/1/locations/us-central1/customJobs/{self.created}",
            display_name="train",
            state=JobState.JOB_STATE_PENDING,
            create_time=f"2026-01-01T00:00:{self.created:02}Z",
            labels=wire["labels"],
        )
        self.jobs.append((self.now + self.lag, job))
        if self.lose_the_answer:
            raise Unavailable("connection reset")
        return job

    def find(self, _: Endpoint, wanted: Mapping[str, str]) -> list[JobRecord]:
        return [job for seen, job in self.jobs if seen <= self.now and wanted.items() <= job.labels.items()]

    def live(self, _: Endpoint, label: str) -> list[JobRecord]:
        return [job for job in self.find(_, {}) if label in job.labels and not job.state.is_terminal]

    def get(self, _: Endpoint, name: str) -> JobRecord:
        return next(job for _, job in self.jobs if job.name == name)

    def cancel(self, _: Endpoint, name: str) -> None:
        self.jobs = [
            (seen, replace(job, state=JobState.JOB_STATE_CANCELLED) if job.name == name else job)
            for seen, job in self.jobs
        ]

    def delete(self, _: Endpoint, name: str) -> None:
        self.deleted.append(name)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def kind(self) -> FakeGateway:
        return FakeGateway(
            noun="job",
            create=self.create,
            get=self.get,
            list_by_label=self.find,
            cancel=self.cancel,
            delete=self.delete,
            list_live_labelled=self.live,
        )

    def submit(self, submission: Submission, **options: Any) -> tuple[JobRecord, bool]:
        options.setdefault("before_submit", lambda: None)
        return find_or_submit(
            self.kind(), ENDPOINT, {}, submission, clock=lambda: self.now, sleep=self.sleep, **options
        )


def submission(**changes: Any) -> Submission:
    return replace(Submission(key="abc-1", spec_hash="v1-1", issued_here=False), **changes)


def test_a_key_made_by_this_process_is_submitted_without_asking() -> None:
    service = Service()
    record, adopted = service.submit(submission(issued_here=True))
    assert (service.created, adopted) == (1, False)
    assert record.labels == labels("abc-1", "v1-1")


def test_a_job_of_an_interrupted_deployment_is_adopted() -> None:
    service = Service()
    first, _ = service.submit(submission(issued_here=True))
    again, adopted = service.submit(submission())
    assert (again.name, adopted, service.created) == (first.name, True, 1)
    assert service.deleted == []


def test_a_list_that_lags_is_waited_for() -> None:
    service = Service(lag=3.0)
    service.submit(submission(issued_here=True))
    _, adopted = service.submit(submission(settle=4.0))
    assert adopted
    assert service.created == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"spec_hash": "v1-2"},
        {"key": "abc-2"},
        {"released": frozenset({"projects/1/locations/us-central1/customJobs/1"})},
    ],
    ids=["another spec", "another run", "given up by this process"],
)
def test_what_belongs_to_another_run_is_never_adopted(changes: dict[str, Any]) -> None:
    service = Service()
    service.submit(submission(issued_here=True))
    _, adopted = service.submit(submission(**changes))
    assert not adopted
    assert service.created == 2


@pytest.mark.parametrize(
    ("changes", "removed"),
    [
        ({"spec_hash": "v1-2"}, True),
        ({"key": "abc-3", "issued_here": True}, True),
        ({"key": "other-1", "issued_here": True}, False),
        ({"key": "ab-1"}, False),
        ({"key": "abc-3", "recorded": 1}, False),
        ({"key": "abc-0"}, False),
        ({"key": "abc-2", "released": frozenset({f"{PARENT}/customJobs/1"})}, False),
    ],
    ids=[
        "of another spec",
        "of an earlier run",
        "of another declaration",
        "of one whose key begins so",
        "of a run that was recorded",
        "of a newer copy of the state",
        "this deployment knows of it",
    ],
)
def test_a_live_job_that_no_state_records_is_stopped_before_the_new_one(
    changes: dict[str, Any], removed: bool
) -> None:
    service = Service()
    first, _ = service.submit(submission(issued_here=True))
    reported: list[str] = []
    service.submit(submission(**changes), tell=reported.append)
    assert service.deleted == ([first.name] if removed else [])
    assert any("left behind by an interrupted deployment" in line for line in reported) is removed
    assert service.created == 2


@pytest.mark.parametrize("key", ["abc-1", "abc-2"])
def test_an_ended_job_stays_where_it_is(key: str) -> None:
    """Keep the record: it may have been kept on purpose."""
    service = Service()
    first, _ = service.submit(submission(issued_here=True))
    service.cancel(ENDPOINT, first.name)
    service.submit(submission(key=key))
    assert service.deleted == []


def test_a_second_live_job_is_deleted_when_one_is_adopted() -> None:
    service = Service()
    first, _ = service.submit(submission(issued_here=True, spec_hash="v1-0"))
    second, _ = service.submit(submission(issued_here=True))
    adopted, _ = service.submit(submission())
    assert adopted.name == second.name
    assert service.deleted == [first.name]


def test_a_job_that_is_not_listed_yet_is_waited_for_before_another_run_is_submitted() -> None:
    service = Service(lag=3.0)
    first, _ = service.submit(submission(issued_here=True))
    service.submit(submission(key="abc-2", issued_here=True, settle=4.0))
    assert service.deleted == [first.name]


def test_nobody_is_asked_where_the_state_had_the_last_run_s_job() -> None:
    service = Service(lag=1000.0)
    service.submit(submission(issued_here=True))
    service.submit(submission(key="abc-2", issued_here=True, recorded=1, settle=4.0))
    assert service.now == 0.0


@pytest.mark.parametrize(
    ("recorded", "state", "adopted"),
    [
        (0, JobState.JOB_STATE_SUCCEEDED, True),
        (1, JobState.JOB_STATE_SUCCEEDED, False),
        (1, JobState.JOB_STATE_RUNNING, True),
    ],
)
def test_a_run_that_is_to_be_had_again_is_not_one_that_ended(
    recorded: int, state: JobState, adopted: bool
) -> None:
    """Adopt the live job of a killed replacement; the state had the job that it replaces."""
    service = Service()
    service.submit(submission(issued_here=True))
    seen, job = service.jobs[0]
    service.jobs[0] = (seen, replace(job, state=state))
    assert service.submit(submission(recorded=recorded))[1] is adopted


def test_a_cancelled_job_is_not_adopted() -> None:
    service = Service()
    service.submit(submission(issued_here=True))
    seen, job = service.jobs[0]
    service.jobs[0] = (seen, replace(job, state=JobState.JOB_STATE_CANCELLED))
    _, adopted = service.submit(submission())
    assert not adopted


def test_a_finished_job_is_adopted_and_not_run_again() -> None:
    service = Service()
    service.submit(submission(issued_here=True))
    seen, job = service.jobs[0]
    service.jobs[0] = (seen, replace(job, state=JobState.JOB_STATE_SUCCEEDED))
    _, adopted = service.submit(submission())
    assert adopted


def test_a_lost_answer_is_looked_up_before_it_is_an_error() -> None:
    service = Service(lose_the_answer=True)
    record, adopted = service.submit(submission(issued_here=True))
    assert adopted
    assert record.labels[RUN_LABEL] == "abc-1"


def test_a_lost_answer_is_looked_up_until_the_list_cannot_lag_any_more() -> None:
    service = Service(lose_the_answer=True, lag=3.0)
    _, adopted = service.submit(submission(issued_here=True, settle=4.0))
    assert adopted
    assert service.created == 1
    service = Service(lose_the_answer=True, lag=60.0)
    with pytest.raises(Unavailable, match="connection reset"):
        service.submit(submission(issued_here=True, settle=4.0))


def test_nothing_is_submitted_for_a_deployment_that_is_gone() -> None:
    service = Service()

    def gone() -> None:
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        service.submit(submission(issued_here=True), before_submit=gone)
    assert service.created == 0
