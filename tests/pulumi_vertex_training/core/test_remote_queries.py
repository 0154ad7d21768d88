"""A plan asks a service without being held up by it."""

from __future__ import annotations

import threading

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound, PermissionDenied
from pulumi_vertex_training.core.remote_queries import RemoteQueries
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs.policies.run_status import LookupResult
from pulumi_vertex_training.timeouts import Timeouts
from support.waiting import TIMEOUT

TARGET = Target("google", "p", "us-central1")


def no_answer(_: Endpoint) -> str:
    raise PermissionDenied("you may not")


def not_there(_: Endpoint) -> str:
    raise NotFound("none")


def broken(_: Endpoint) -> str:
    raise ValueError("a mistake of ours")


def test_an_answer() -> None:
    assert RemoteQueries().ask_endpoint(TARGET, lambda endpoint: endpoint.project) == "p"


def test_what_is_not_there_has_no_answer() -> None:
    assert RemoteQueries().ask_endpoint(TARGET, not_there) is None


def test_that_it_is_not_there_is_an_answer_of_its_own() -> None:
    def question() -> str:
        raise NotFound("none")

    assert RemoteQueries().ask(TARGET, question) is LookupResult.ABSENT


def test_an_error_is_said_with_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert RemoteQueries().ask_endpoint(TARGET, no_answer, unknown="whether bucket b is empty") is None
    assert capsys.readouterr().out == "warning: whether bucket b is empty is not known: you may not\n"


def test_a_target_that_gave_no_answer_is_not_asked_again() -> None:
    asked = RemoteQueries()
    asked.ask_endpoint(TARGET, no_answer)
    assert asked.ask_endpoint(TARGET, lambda _: "an answer") is None


def test_another_target_is_asked() -> None:
    asked = RemoteQueries()
    asked.ask_endpoint(TARGET, no_answer)
    assert asked.ask_endpoint(Target("google", "p", "europe-west4"), lambda _: "an answer") == "an answer"


def test_a_mistake_of_ours_is_raised() -> None:
    with pytest.raises(ValueError, match="a mistake of ours"):
        RemoteQueries().ask_endpoint(TARGET, broken)


def test_a_target_that_is_not_known_yet_is_not_asked() -> None:
    assert RemoteQueries().ask_endpoint(None, broken) is None


def test_an_answer_that_does_not_come_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    later = threading.Event()
    asked = RemoteQueries(timeouts=lambda: Timeouts(remote_query=0.05))
    assert asked.ask_endpoint(TARGET, lambda _: later.wait(TIMEOUT), unknown="it") is None
    later.set()
    assert capsys.readouterr().out == "warning: it is not known: no answer within 0.05 s\n"
