"""Waits in the provider process: bounded by `custom_timeouts`, reported, ended by Ctrl-C."""

from __future__ import annotations

import threading
from itertools import pairwise

import pulumi
import pytest

from pulumi_vertex_training.core import custom_timeouts
from pulumi_vertex_training.core.custom_timeouts import (
    CustomTimeouts,
    InterruptedWaitError,
    read,
    wait,
)
from pulumi_vertex_training.program.custom_timeouts import declared
from support.waiting import TIMEOUT


def never() -> bool:
    return False


def line(passed: float) -> str:
    return f"waiting for {passed:.2f} s"


def test_it_ends_when_it_is_over() -> None:
    looks = iter([False, False, True])
    assert wait(lambda: next(looks), seconds=30, pause=0, progress=line)


def test_it_ends_at_its_bound() -> None:
    assert not wait(never, seconds=0.1, pause=60, progress=line)


def test_progress_is_said_at_times(capsys: pytest.CaptureFixture[str]) -> None:
    times: list[float] = []

    def progress(passed: float) -> str:
        times.append(passed)
        return line(passed)

    assert wait(lambda: len(times) == 3, seconds=TIMEOUT, pause=0.01, progress=progress, said_every=0.1)
    assert capsys.readouterr().out.splitlines() == [line(passed) for passed in times]
    assert all(later - earlier >= 0.1 for earlier, later in pairwise([0.0, *times]))


def test_it_is_said_four_times_a_minute() -> None:
    assert custom_timeouts.SAID_EVERY == 15


def test_it_ends_with_the_deployment() -> None:
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    with pytest.raises(InterruptedWaitError):
        wait(never, seconds=3600, pause=3600, progress=line, cancelled=cancelled)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("10m", 600), ("1h30m", 5400), ("90s", 90), ("1.5s", 1.5), ("200ms", 0.2)],
)
def test_timeouts_are_those_of_pulumi(given: str, seconds: float) -> None:
    opts = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create=given))
    assert read(declared(opts)) == CustomTimeouts(create=seconds)


def test_an_update_has_a_timeout_of_its_own() -> None:
    opts = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="1s", update="2s"))
    assert (read(declared(opts)).create, read(declared(opts)).update) == (1, 2)


@pytest.mark.parametrize("given", ["soon", "10", "10 m", "-1s", "1d"])
def test_what_is_no_timeout_is_refused(given: str) -> None:
    opts = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create=given))
    with pytest.raises(pulumi.RunError, match=r"is not a duration\. Write one such as 10m"):
        declared(opts)


def test_without_options_nothing_is_said() -> None:
    assert declared(None) is None
    assert declared(pulumi.ResourceOptions()) is None


def test_of_a_program_that_says_nothing_nothing_is_known() -> None:
    assert read(None) == CustomTimeouts()
