"""At most one live job for a declaration, whoever was killed and whenever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RUN_LABEL, RunKey, labels, parse
from pulumi_vertex_training.runs.submission import Submission, find_or_submit, is_later
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
    requests: list[Mapping[str, Any]] = field(default_factory=list)

    def create(self, _: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
        self.created += 1
        self.requests.append(wire)
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
        )

    def become(self, state: JobState) -> None:
        """Let the only job have this state."""
        ((seen, job),) = self.jobs
        self.jobs = [(seen, replace(job, state=state))]

    def submit(self, submission: Submission, *, recorded: int = 0, **options: Any) -> tuple[JobRecord, bool]:
        """Submit a run of a declaration of which the state has the run `recorded`; 0 if it has none."""
        last = RunKey(identity=submission.key.identity, generation=recorded)

        def left_behind() -> list[JobRecord]:
            found = self.find(ENDPOINT, {DECLARATION_LABEL: last.identity})
            return [job for job in found if is_later(job, last)]

        options.setdefault("before_submit", lambda _: None)
        return find_or_submit(
            self.kind(),
            ENDPOINT,
            lambda run: {"displayName": "train {run}", "directory": f"gs://b/{run}"},
            submission,
            left_behind=left_behind,
            clock=lambda: self.now,
            sleep=self.sleep,
            **options,
        )


def submission(key: str = "abc-1", **changes: Any) -> Submission:
    return replace(Submission(key=parse(key), spec_hash="v1-1"), **changes)


INTERRUPTED = {"settle": 4.0, "was_interrupted": True}


def test_a_run_is_submitted_with_its_labels_number_and_directory() -> None:
    service = Service()
    submitted: list[RunKey] = []
    record, adopted = service.submit(
        submission("abc-2", labels={"team": "a"}, reason="spec"), recorded=1, before_submit=submitted.append
    )
    assert (service.created, adopted, service.now) == (1, False, 0.0)
    assert record.labels == {"team": "a", **labels("abc-2", "v1-1", reason="spec")}
    assert submitted == [parse("abc-2")]
    ((name, directory),) = [(one["displayName"], one["directory"]) for one in service.requests]
    assert (name, directory) == ("train 2", "gs://b/abc-2")


def test_a_job_of_an_interrupted_deployment_is_adopted() -> None:
    service = Service()
    first, _ = service.submit(submission())
    again, adopted = service.submit(submission())
    assert (again.name, adopted, service.created) == (first.name, True, 1)
    assert service.deleted == []


@pytest.mark.parametrize("spec_hash", ["v1-1", "v1-2"], ids=["to adopt it", "to stop it"])
def test_a_list_that_lags_is_waited_for_after_an_interruption(spec_hash: str) -> None:
    service = Service(lag=3.0)
    first, _ = service.submit(submission())
    _, adopted = service.submit(submission(spec_hash=spec_hash, **INTERRUPTED))
    same = spec_hash == "v1-1"
    assert (adopted, service.created) == (same, 1 if same else 2)
    assert service.deleted == ([] if same else [first.name])


def test_without_an_interruption_no_list_is_waited_for() -> None:
    service = Service(lag=1000.0)
    service.submit(submission())
    service.submit(submission("abc-2", settle=4.0), recorded=1)
    assert service.now == 0.0


@pytest.mark.parametrize(
    ("changes", "recorded", "removed", "run"),
    [
        ({"spec_hash": "v1-2"}, 0, True, "abc-2"),
        ({"key": "other-1"}, 0, False, "other-1"),
        ({"key": "ab-1"}, 0, False, "ab-1"),
        ({"key": "abc-2"}, 1, False, "abc-2"),
    ],
    ids=["of another spec", "of another declaration", "of one whose identity begins so", "the state has it"],
)
def test_a_live_job_that_no_state_records_is_stopped_before_the_new_one(
    changes: dict[str, Any], recorded: int, removed: bool, run: str
) -> None:
    service = Service()
    first, _ = service.submit(submission())
    reported: list[str] = []
    record, adopted = service.submit(submission(**changes), recorded=recorded, tell=reported.append)
    assert (adopted, service.created) == (False, 2)
    assert service.deleted == ([first.name] if removed else [])
    assert any("left behind by an interrupted deployment" in line for line in reported) is removed
    assert record.labels[RUN_LABEL] == run  # a run that no job has


def test_an_ended_job_of_another_spec_stays_where_it_is() -> None:
    """Keep the record: it may have been kept on purpose."""
    service = Service()
    service.submit(submission())
    service.become(JobState.JOB_STATE_FAILED)
    record, adopted = service.submit(submission(spec_hash="v1-2"))
    assert (adopted, service.deleted) == (False, [])
    assert record.labels[RUN_LABEL] == "abc-2"


def test_a_job_that_runs_once_is_adopted_whatever_its_spec() -> None:
    service = Service()
    service.submit(submission())
    _, adopted = service.submit(submission(spec_hash="v1-2", any_spec=True))
    assert adopted


def test_a_second_live_job_is_deleted_when_one_is_adopted() -> None:
    service = Service()
    first, _ = service.submit(submission(spec_hash="v1-0"))
    second, _ = service.submit(submission("abc-2"), recorded=1)
    adopted, _ = service.submit(submission())
    assert adopted.name == second.name
    assert service.deleted == [first.name]


@pytest.mark.parametrize(
    ("state", "adopted"),
    [
        (JobState.JOB_STATE_CANCELLED, False),
        (JobState.JOB_STATE_SUCCEEDED, True),
        (JobState.JOB_STATE_FAILED, True),
    ],
)
def test_a_finished_job_is_adopted_and_a_cancelled_one_is_not(state: JobState, adopted: bool) -> None:
    service = Service()
    service.submit(submission())
    service.become(state)
    assert service.submit(submission())[1] is adopted


def test_a_lost_answer_is_looked_up_before_it_is_an_error() -> None:
    service = Service(lose_the_answer=True)
    record, adopted = service.submit(submission())
    assert adopted
    assert record.labels[RUN_LABEL] == "abc-1"


def test_a_lost_answer_is_looked_up_until_the_list_cannot_lag_any_more() -> None:
    service = Service(lose_the_answer=True, lag=3.0)
    _, adopted = service.submit(submission(settle=4.0))
    assert adopted
    assert service.created == 1
    service = Service(lose_the_answer=True, lag=60.0)
    with pytest.raises(Unavailable, match="connection reset"):
        service.submit(submission(settle=4.0))


def test_nothing_is_submitted_for_a_deployment_that_is_gone() -> None:
    service = Service()

    def gone(_: RunKey) -> None:
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        service.submit(submission(), before_submit=gone)
    assert service.created == 0
