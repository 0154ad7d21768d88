"""The logs that make up the log of a job, and the order of their entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord, from_wire
from pulumi_vertex_training.runs.gateway import LogSource, gateway_of
from pulumi_vertex_training.runs.logs import RunLog
from support.scripted_service import Answer, Asked, Service, refusal

PLACE = "projects/7/locations/us-central1"
TUNING = f"{PLACE}/hyperparameterTuningJobs/9"


class Logging:
    """Entries by job: (second, replica, message); what is asked for is what is there now."""

    def __init__(self) -> None:
        self.entries: dict[str, list[tuple[int, str, str]]] = {}
        self.asked: list[str] = []
        self.tuning: dict[str, Any] | None = None
        self.broken: set[str] = set()

    def __call__(self, asked: Asked) -> Answer:
        if not asked.path.endswith("entries:list"):
            return Answer(document=self.tuning) if self.tuning else refusal(404, "NOT_FOUND", "none")
        match = re.search(r'job_id="(\d+)"', asked.body["filter"])
        assert match
        job = match[1]
        self.asked.append(job)
        if job in self.broken:
            return refusal(403, "PERMISSION_DENIED", "no")
        task = re.search(r'task_name="([\w-]+)"', asked.body["filter"])
        found = [one for one in self.entries.get(job, []) if task is None or one[1] == task[1]]
        if asked.body["orderBy"].endswith("desc"):
            found = found[::-1]
        return Answer(document={"entries": [_entry(job, *one) for one in found][: asked.body["pageSize"]]})


def _entry(job: str, second: int, replica: str, message: str) -> dict[str, Any]:
    return {
        "timestamp": f"2026-01-01T00:00:{second:02}Z",
        "textPayload": message,
        "insertId": f"{job}-{second}-{message}",
        "resource": {"labels": {"task_name": replica}},
    }


def sources(endpoint: Endpoint, record: JobRecord) -> tuple[LogSource, ...]:
    return gateway_of(record.name).log_sources(endpoint, record)


@pytest.fixture
def logging() -> Logging:
    return Logging()


@pytest.fixture
def endpoint(logging: Logging) -> Iterator[Endpoint]:
    service = Service()
    service.script(logging)
    yield Endpoint(kind="emulator", project="p", location="us-central1", url=service.url, token="t")
    service.close()


def trial(number: int, state: str = "ACTIVE", job: int | None = None) -> dict[str, Any]:
    name = f"{PLACE}/customJobs/{job}" if job else None
    return {"id": str(number), "state": state, **({"customJob": name} if name else {})}


def tuning(*trials: dict[str, Any]) -> JobRecord:
    return from_wire({"name": TUNING, "state": "JOB_STATE_RUNNING", "trials": list(trials)})


def pipeline(**metadata: str) -> JobRecord:
    return from_wire(
        {
            "name": f"{PLACE}/trainingPipelines/8",
            "state": "PIPELINE_STATE_SUCCEEDED",
            "trainingTaskMetadata": metadata,
        }
    )


def said(log: RunLog, endpoint: Endpoint) -> list[str]:
    return [f"{entry.task}: {entry.message}" for entry in log.poll(endpoint)]


def test_a_custom_job_is_its_own_source(endpoint: Endpoint) -> None:
    record = from_wire({"name": f"{PLACE}/customJobs/5", "state": "JOB_STATE_RUNNING"})
    assert sources(endpoint, record) == (LogSource(job_id="5"),)


def test_the_sources_of_a_tuning_job_are_the_jobs_of_its_trials(endpoint: Endpoint) -> None:
    record = tuning(trial(1, "INFEASIBLE", 11), trial(2, "SUCCEEDED", 12), trial(3, job=13), trial(4))
    assert sources(endpoint, record) == (
        LogSource(job_id="11", label="trial-1", ended=True, failed=True),
        LogSource(job_id="12", label="trial-2", ended=True),
        LogSource(job_id="13", label="trial-3"),
    )


def test_the_source_of_a_pipeline_is_the_job_that_it_runs(endpoint: Endpoint) -> None:
    record = pipeline(backingCustomJob=f"{PLACE}/customJobs/5")
    assert sources(endpoint, record) == (LogSource(job_id="5", ended=True),)


def test_a_pipeline_that_has_no_job_yet_has_no_source(endpoint: Endpoint) -> None:
    assert sources(endpoint, pipeline()) == ()


def test_the_sources_of_a_pipeline_that_tunes_are_those_of_its_trials(
    endpoint: Endpoint, logging: Logging
) -> None:
    logging.tuning = {"name": TUNING, "trials": [trial(1, job=11)]}
    record = pipeline(backingHyperparameterTuningJob=TUNING)
    assert sources(endpoint, record) == (LogSource(job_id="11", label="trial-1"),)


def test_a_tuning_job_that_is_gone_has_no_trials(endpoint: Endpoint) -> None:
    assert sources(endpoint, pipeline(backingHyperparameterTuningJob=TUNING)) == ()


def test_entries_of_several_jobs_come_in_the_order_of_time(endpoint: Endpoint, logging: Logging) -> None:
    logging.entries = {
        "11": [(1, "workerpool0-0", "a"), (3, "service", "c")],
        "12": [(2, "workerpool0-0", "b")],
    }
    log = RunLog()
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)))
    assert said(log, endpoint) == [
        "trial-1/workerpool0-0: a",
        "trial-2/workerpool0-0: b",
        "trial-1/service: c",
    ]


def test_a_job_that_begins_later_is_read_from_its_beginning(endpoint: Endpoint, logging: Logging) -> None:
    logging.entries = {"11": [(1, "workerpool0-0", "a")], "12": [(2, "workerpool0-0", "b")]}
    log = RunLog()
    log.see(endpoint, tuning(trial(1, job=11)))
    assert said(log, endpoint) == ["trial-1/workerpool0-0: a"]
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)))
    assert said(log, endpoint) == ["trial-2/workerpool0-0: b"]


def test_no_entry_comes_twice(endpoint: Endpoint, logging: Logging) -> None:
    logging.entries = {"11": [(1, "workerpool0-0", "a")], "12": []}
    log = RunLog()
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)))
    said(log, endpoint)
    assert said(log, endpoint) == []


def test_from_now_on_leaves_out_what_was_logged_before(endpoint: Endpoint, logging: Logging) -> None:
    logging.entries = {"11": [(1, "workerpool0-0", "a")], "12": []}
    log = RunLog()
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)), from_now=True)
    logging.entries["12"].append((2, "workerpool0-0", "b"))
    assert said(log, endpoint) == ["trial-2/workerpool0-0: b"]


@pytest.mark.parametrize(
    ("task", "entries"),
    [
        ("workerpool0-0", ["trial-1/workerpool0-0: a", "trial-2/workerpool0-0: b"]),
        ("trial-2/workerpool0-0", ["trial-2/workerpool0-0: b"]),
        ("trial-1/workerpool1-0", ["trial-1/workerpool1-0: c"]),
        ("trial-3/workerpool0-0", []),
    ],
)
def test_one_task(endpoint: Endpoint, logging: Logging, task: str, entries: list[str]) -> None:
    logging.entries = {
        "11": [(1, "workerpool0-0", "a"), (3, "workerpool1-0", "c")],
        "12": [(2, "workerpool0-0", "b")],
    }
    log = RunLog(task=task)
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)))
    assert said(log, endpoint) == entries


def test_an_iteration_that_ends_early_is_gone_on_with(endpoint: Endpoint, logging: Logging) -> None:
    logging.entries = {"11": [(1, "w", "a"), (3, "w", "c")], "12": [(2, "w", "b")]}
    log = RunLog()
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)))
    first = next(log.poll(endpoint)).message
    assert [first, *(entry.message for entry in log.poll(endpoint))] == ["a", "b", "c"]


def test_an_error_loses_nothing_of_what_came_before_it(endpoint: Endpoint, logging: Logging) -> None:
    logging.entries = {"11": [(1, "w", "a")], "12": [(2, "w", "b")]}
    logging.broken = {"12"}
    log = RunLog()
    log.see(endpoint, tuning(trial(1, job=11), trial(2, job=12)))
    with pytest.raises(CloudError):
        said(log, endpoint)
    logging.broken = set()
    assert said(log, endpoint) == ["trial-1/w: a", "trial-2/w: b"]


def test_a_trial_that_has_ended_and_says_nothing_more_is_not_asked_again(
    endpoint: Endpoint, logging: Logging
) -> None:
    log = RunLog()
    log.see(endpoint, tuning(trial(1, "SUCCEEDED", 11), trial(2, job=12)))
    for _ in range(6):
        said(log, endpoint)
    assert (logging.asked.count("11"), logging.asked.count("12")) == (3, 6)


@pytest.mark.parametrize(
    ("record", "names"),
    [
        pytest.param(tuning(trial(1, job=11), trial(2)), {f"{PLACE}/customJobs/11"}, id="trials"),
        pytest.param(pipeline(backingCustomJob="a/customJobs/5"), {"a/customJobs/5"}, id="of a pipeline"),
        pytest.param(from_wire({"name": f"{PLACE}/customJobs/5"}), set(), id="of a custom job"),
    ],
)
def test_what_goes_with_the_whole(record: JobRecord, names: set[str]) -> None:
    assert {inner.name for inner in gateway_of(record.name).inner(record)} == names
