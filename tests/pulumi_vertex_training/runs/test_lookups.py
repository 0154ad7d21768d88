"""Lookups give the answers that come in time, and ask nothing twice."""

from __future__ import annotations

import functools
import threading

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import PermissionDenied
from pulumi_vertex_training.runs.lookups import Lookups, in_parallel
from support.waiting import TIMEOUT

ENDPOINT = Endpoint(kind="google", project="p", location="europe-west4")


def location(endpoint: Endpoint) -> str:
    return endpoint.location


def test_nothing_is_asked_twice() -> None:
    asked: list[str] = []

    def look(name: str, _: Endpoint) -> str | None:
        asked.append(name)
        return name or None

    lookups = Lookups()
    questions = {name: functools.partial(look, name) for name in ("one", "")}
    for _ in range(2):
        answers = lookups.ask("here", lambda: ENDPOINT, questions, seconds=TIMEOUT)
        assert answers == {"one": "one", "": None}
    assert sorted(asked) == ["", "one"]


def test_a_service_that_refuses_or_is_not_there_gives_no_answer() -> None:
    def refuse(_: Endpoint) -> str:
        raise PermissionDenied("you may not")

    assert Lookups().ask("here", lambda: ENDPOINT, {"one": refuse}, seconds=TIMEOUT) == {}
    assert Lookups().ask("here", lambda: None, {"one": location}, seconds=TIMEOUT) == {}


def test_any_other_error_is_raised() -> None:
    def fail(_: Endpoint) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Lookups().ask("here", lambda: ENDPOINT, {"one": fail}, seconds=TIMEOUT)


def test_a_service_that_is_silent_until_the_deadline_is_not_asked_again() -> None:
    called, answer = [], threading.Event()

    def connect() -> None:
        called.append(1)
        answer.wait(TIMEOUT)

    lookups = Lookups()
    try:
        assert lookups.ask("here", connect, {"one": location}, seconds=0.01) == {}
        questions = {"one": location, "two": location}
        assert lookups.ask("here", connect, questions, seconds=TIMEOUT) == {}
        assert len(called) < 2
    finally:
        answer.set()


def test_a_deadline_of_0_asks_nothing() -> None:
    assert Lookups().ask("here", lambda: pytest.fail("asked"), {"one": location}, seconds=0) == {}


def test_calls_in_parallel_have_their_results_in_order() -> None:
    both = threading.Barrier(2, timeout=TIMEOUT)
    assert in_parallel([lambda: (both.wait(), "a")[1], lambda: (both.wait(), "b")[1]]) == ["a", "b"]
    assert in_parallel([]) == []


def test_an_error_in_parallel_waits_for_no_later_call() -> None:
    free = threading.Event()
    ended: list[str] = []

    def fail() -> None:
        raise ValueError("broken")

    def wait() -> None:
        free.wait(TIMEOUT)
        ended.append("later")

    with pytest.raises(ValueError, match="broken"):
        in_parallel([fail, wait])
    assert not ended
    free.set()
