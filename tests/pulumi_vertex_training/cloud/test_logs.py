"""Reading and following a log: every entry once, late ones too, and an end."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cloud import errors, logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.timeouts import Timeouts
from support.scripted_service import Answer, Asked, Service, refusal

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def wire(seconds: float, number: int, *, task: str = "workerpool0-0", **more: Any) -> dict[str, Any]:
    at = START + timedelta(seconds=seconds)
    return {
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "insertId": f"id-{number}",
        "severity": "INFO",
        "textPayload": f"line {number}",
        "resource": {"type": "ml_job", "labels": {"job_id": "5", "task_name": task}},
        **more,
    }


class Journal:
    """A log that grows: entry `n` is visible from poll `since` on. Answers as the service does."""

    def __init__(self, *entries: tuple[int, dict[str, Any]]) -> None:
        self.entries = entries
        self.polls = 0

    def __call__(self, asked: Asked) -> Answer:
        after = re.search(r'timestamp>="([^"]+)"', asked.body["filter"])
        found = [
            entry
            for since, entry in self.entries
            if since <= self.polls and (after is None or entry["timestamp"] >= after[1])
        ]
        self.polls += 1
        return Answer(document={"entries": sorted(found, key=lambda entry: str(entry["timestamp"]))})


def never() -> bool:
    return False


def after_polls(journal: Journal, polls: int) -> Callable[[], bool]:
    return lambda: journal.polls >= polls


def test_the_request_names_job_task_and_project(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document={}))
    assert list(logs.entries(endpoint, "5", task="workerpool1-0", after=START)) == []
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", "/v2/entries:list")
    assert asked.body["resourceNames"] == ["projects/local"]
    assert asked.body["orderBy"] == "timestamp asc"
    assert asked.body["filter"] == (
        'resource.type="ml_job" AND resource.labels.job_id="5" AND '
        'resource.labels.task_name="workerpool1-0" AND timestamp>="2026-01-01T00:00:00.000000Z"'
    )


def test_pages_are_joined(service: Service, endpoint: Endpoint) -> None:
    service.script(
        Answer(document={"entries": [wire(0, 1)], "nextPageToken": "t"}),
        Answer(document={"entries": [wire(1, 2)]}),
    )
    assert [entry.message for entry in logs.entries(endpoint, "5")] == ["line 1", "line 2"]
    assert service.asked[1].body["pageToken"] == "t"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"textPayload": "plain\n"}, "plain"),
        ({"jsonPayload": {"message": "inside", "levelname": "INFO"}}, "inside"),
        ({"jsonPayload": {"loss": 0.5}}, "{'loss': 0.5}"),
        ({"textPayload": ""}, ""),
        ({}, "{}"),
    ],
)
def test_payloads(service: Service, endpoint: Endpoint, payload: dict[str, Any], message: str) -> None:
    entry = {key: value for key, value in wire(0, 1, task="service").items() if key != "textPayload"}
    service.script(Answer(document={"entries": [{**entry, **payload}]}))
    (found,) = logs.entries(endpoint, "5")
    assert (found.message, found.task, found.severity, found.insert_id) == (message, "", "INFO", "id-1")


def test_a_failing_read_is_one_of_our_errors(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(403, "PERMISSION_DENIED", "logging.logEntries.list denied"))
    with pytest.raises(errors.PermissionDenied, match="read the log of job 5"):
        list(logs.entries(endpoint, "5"))


def test_following_brings_each_entry_once_and_ends_after_two_empty_polls(
    service: Service, endpoint: Endpoint
) -> None:
    journal = Journal((0, wire(0, 1)), (0, wire(0.5, 2)), (1, wire(1, 3)), (3, wire(9, 4)))
    service.script(journal)
    found = logs.follow(endpoint, "5", ended=after_polls(journal, 3), poll=0)
    assert [entry.message for entry in found] == ["line 1", "line 2", "line 3", "line 4"]
    assert journal.polls == 6  # the fourth brought line 4, the two after it nothing


def test_following_goes_on_after_a_service_that_did_not_answer(service: Service, endpoint: Endpoint) -> None:
    journal = Journal((0, wire(0, 1)), (1, wire(1, 2)))
    service.script(journal)
    answers = iter([errors.Unavailable("gone"), errors.Unavailable("gone"), None])
    moved = []

    def ended() -> bool:
        if (error := next(answers, None)) is not None:
            raise error
        return journal.polls >= 2

    def again() -> Endpoint:
        moved.append(True)
        return endpoint

    found = logs.follow(endpoint, "5", ended=ended, poll=0, reconnect=again)
    assert [entry.message for entry in found] == ["line 1", "line 2"]
    assert len(moved) == 2


def test_following_does_not_wait_for_ever_for_a_service_that_does_not_answer(endpoint: Endpoint) -> None:
    moments = iter(range(0, 1000, 10))
    slept: list[float] = []

    def ended() -> bool:
        raise errors.Unavailable("gone")

    patient = replace(endpoint, timeouts=Timeouts(outage=60.0))
    with pytest.raises(errors.Unavailable):
        list(logs.follow(patient, "5", ended=ended, sleep=slept.append, clock=lambda: next(moments)))
    assert 2 <= len(slept) <= 6


def test_following_ends_at_once_where_asking_again_does_not_help(endpoint: Endpoint) -> None:
    def ended() -> bool:
        raise errors.PermissionDenied("no")

    with pytest.raises(errors.PermissionDenied):
        list(logs.follow(endpoint, "5", ended=ended, sleep=lambda _: pytest.fail("it waits")))


def test_the_job_is_not_asked_again_once_it_has_ended(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document={}))
    asked = []

    def ended() -> bool:
        asked.append(True)
        return len(asked) == 3

    assert list(logs.follow(endpoint, "5", ended=ended, poll=0)) == []
    assert len(asked) == 3
    assert len(service.asked) == 4


def test_an_entry_that_arrives_late_is_not_lost(service: Service, endpoint: Endpoint) -> None:
    journal = Journal((0, wire(0, 1)), (0, wire(5, 2)), (1, wire(3.5, 3)), (2, wire(5, 4)))
    service.script(journal)
    found = logs.follow(endpoint, "5", ended=after_polls(journal, 3), poll=0)
    assert [entry.message for entry in found] == ["line 1", "line 2", "line 3", "line 4"]


def test_equal_insert_ids_at_other_times_are_other_entries(service: Service, endpoint: Endpoint) -> None:
    journal = Journal((0, wire(0, 1)), (0, wire(1, 1)))
    service.script(journal)
    assert len(list(logs.follow(endpoint, "5", ended=lambda: True, poll=0))) == 2


def test_what_was_read_long_ago_is_not_asked_for_again(service: Service, endpoint: Endpoint) -> None:
    journal = Journal(*((poll, wire(poll * 10.0, poll)) for poll in range(50)))
    service.script(journal)
    found = [entry.message for entry in logs.follow(endpoint, "5", ended=after_polls(journal, 50), poll=0)]
    assert found == [f"line {number}" for number in range(50)]
    assert 'timestamp>="2026-01-01T00:08:08.000000Z"' in service.asked[-1].body["filter"]


def test_the_pace_is_the_endpoints(service: Service, endpoint: Endpoint, google: Endpoint) -> None:
    slept: list[float] = []
    service.script(Answer(document={}))
    list(logs.follow(endpoint, "5", ended=lambda: True, sleep=slept.append))
    assert slept == [0.5]
    assert google.logging_url == "https://logging.googleapis.com"


@given(st.integers(min_value=0, max_value=10**9 - 1), st.integers(min_value=0, max_value=9))
def test_timestamps_of_any_length_sort_as_times(nanoseconds: int, digits: int) -> None:
    def entry(text: str) -> logs.LogEntry:
        return logs.LogEntry(timestamp=text, severity="", task="", message="", insert_id="a")

    fraction = f"{nanoseconds:09}"[:digits]
    text = f"2026-01-01T00:00:05{'.' if digits else ''}{fraction}Z"
    one = entry(text)
    assert one.time == START + timedelta(seconds=5, microseconds=int(f"{fraction:0<9}"[:6]))
    assert entry("2026-01-01T00:00:04.999999999Z").order < one.order < entry("2026-01-01T00:00:06Z").order
    if digits and int(fraction or 0):
        assert entry("2026-01-01T00:00:05Z").order < one.order
