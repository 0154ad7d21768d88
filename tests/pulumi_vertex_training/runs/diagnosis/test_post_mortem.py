"""The log of a failed job is asked for where it is needed, with bounds, and hides nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, from_wire
from pulumi_vertex_training.runs.diagnosis.diagnosis import LOOKS, examine, has_failed
from pulumi_vertex_training.timeouts import Timeouts
from support.scripted_service import Answer, Service, refusal

EXITED = (
    "The replica workerpool1-0 exited with a non-zero status of 1. Termination reason: Error. To find out "
    "more about why your job exited please check the logs: https://console.cloud.google.com/logs/viewer?project=7"
)
SILENT = Answer(document={})


@pytest.fixture
def google(service: Service) -> Endpoint:
    """Google Cloud whose every service is `service`."""
    return Endpoint(
        kind="google",
        project="my-project",
        location="europe-west4",
        url=service.url,
        token="t",
        addresses=(("logging.googleapis.com", service.url),),
    )


def failed(message: str = EXITED, *, state: str = "FAILED", **more: str) -> JobRecord:
    return from_wire(
        {
            "name": "projects/7/locations/europe-west4/customJobs/5",
            "state": f"JOB_STATE_{state}",
            "error": {"code": 3, "message": message},
            **more,
        }
    )


def log(*messages: str, task: str = "workerpool1-0") -> Answer:
    """Return the newest first, in the order of the query."""
    entries = [
        {
            "timestamp": f"2026-01-01T00:00:{number:02}.000000001Z",
            "insertId": str(number),
            "severity": "ERROR",
            "textPayload": message,
            "resource": {"type": "ml_job", "labels": {"job_id": "5", "task_name": task}},
        }
        for number, message in enumerate(messages)
    ]
    return Answer(document={"entries": entries[::-1], "nextPageToken": "more"})


def no_pause(_: float) -> None:
    return


def test_the_last_lines_of_the_failing_replica_come_from_cloud_logging(
    service: Service, google: Endpoint
) -> None:
    service.script(log("Traceback (most recent call last):", "ModuleNotFoundError: No module named 'roses'"))
    diagnosis = examine(google, failed(), pause=no_pause)
    assert diagnosis.kind == "missing_module"
    assert diagnosis.lines[-1] == "ModuleNotFoundError: No module named 'roses'"
    (asked,) = service.asked
    assert asked.path == "/v2/entries:list"
    assert 'resource.labels.task_name="workerpool1-0"' in asked.body["filter"]
    assert asked.body["orderBy"] == "timestamp desc"


def test_a_log_that_is_late_is_asked_for_again(service: Service, google: Endpoint) -> None:
    service.script(SILENT, log("MemoryError"))
    assert examine(google, failed(), pause=no_pause).kind == "out_of_memory"


def test_but_not_for_ever(service: Service, google: Endpoint) -> None:
    service.script(SILENT)
    diagnosis = examine(google, failed(), pause=no_pause)
    assert (diagnosis.lines, diagnosis.exit_code) == ((), 1)
    assert len(service.asked) == LOOKS


def test_a_log_that_may_not_be_read_hides_nothing(service: Service, google: Endpoint) -> None:
    service.script(refusal(403, "PERMISSION_DENIED", "logging.logEntries.list is not yours"))
    diagnosis = examine(google, failed(), pause=no_pause)
    assert (diagnosis.replica, diagnosis.exit_code) == ("workerpool1-0", 1)
    assert "logging.logEntries.list is not yours" in diagnosis.unread
    assert "roles/logging.viewer" in diagnosis.unread


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(refusal(503, "UNAVAILABLE", "later"), id="busy"),
        pytest.param(Answer(document={}, delay=3600.0), id="silent"),
    ],
)
def test_a_service_that_does_not_answer_is_waited_for_only_so_long(
    service: Service, google: Endpoint, answer: Any
) -> None:
    service.script(answer)
    diagnosis = examine(replace(google, timeouts=Timeouts(diagnosis=0.5)), failed(), pause=no_pause)
    assert diagnosis.unread == "no answer in 0.5 s"
    assert diagnosis.replica == "workerpool1-0"


@pytest.mark.parametrize(
    ("message", "state"),
    [
        pytest.param("The following quota metrics exceed quota limits: a/b", "FAILED", id="quota"),
        pytest.param(f"{EXITED}\nThe last lines of its log:\n    MemoryError\n", "FAILED", id="emulator"),
        pytest.param("The job was cancelled.", "CANCELLED", id="cancelled"),
    ],
)
def test_what_explains_itself_costs_no_call(
    service: Service, google: Endpoint, message: str, state: str
) -> None:
    examine(google, failed(message, state=state), pause=no_pause)
    assert service.asked == []


def test_a_failure_that_names_no_replica_has_the_lines_of_all(service: Service, google: Endpoint) -> None:
    service.script(log("it broke", task="workerpool2-3"))
    diagnosis = examine(google, failed("Something else."), pause=no_pause)
    assert diagnosis.lines == ("workerpool2-3: it broke",)
    assert "task_name" not in service.asked[0].body["filter"]


@pytest.mark.parametrize(
    ("state", "is_failure"), [("FAILED", True), ("EXPIRED", True), ("CANCELLED", False), ("SUCCEEDED", False)]
)
def test_what_a_failure_is(state: str, is_failure: bool) -> None:
    assert has_failed(failed(state=state)) == is_failure


def test_lost_machines_are_not_taken_for_machines_that_were_never_found(google: Endpoint) -> None:
    words = "Resources are insufficient in region: europe-west4. Try a different region."
    never = examine(google, failed(words), pause=no_pause)
    assert (never.kind, never.cause) == (
        "no_resources",
        "Google had no free machines of this kind in europe-west4",
    )
    lost = examine(google, failed(words, startTime="2026-01-01T00:00:00Z"), pause=no_pause)
    assert (lost.kind, lost.cause) == (
        "lost_machines",
        "its machines were taken away, and Google had no others of this kind in europe-west4",
    )
    assert "continues from its last one" in lost.remedy


def test_the_words_of_compute_engine_are_known(google: Endpoint) -> None:
    words = "The zone 'us-central1-a' does not have enough resources available to fulfill the request."
    found = examine(google, failed(words), pause=no_pause)
    assert (found.kind, found.cause) == ("no_resources", "Google had no free machines of this kind")
