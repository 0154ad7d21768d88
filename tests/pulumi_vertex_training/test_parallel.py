"""Calls at the same time."""

from __future__ import annotations

import threading

import pytest

from pulumi_vertex_training.parallel import call_each
from support.waiting import TIMEOUT


def test_calls_are_made_at_the_same_time_and_answered_in_order() -> None:
    both = threading.Barrier(2)
    found = call_each(lambda name: (both.wait(TIMEOUT), name)[1], ["a", "b"])
    assert found == ["a", "b"]


def test_no_more_calls_than_allowed_at_a_time() -> None:
    threads = call_each(lambda _: threading.current_thread().name, range(20), at_once=2)
    assert len(set(threads)) <= 2


def test_an_error_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        call_each(lambda number: 1 // number, [1, 0, 2])
