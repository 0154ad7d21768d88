"""Waits in the provider process: bounded by a timeout, reported, ended by Ctrl-C."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from pulumi_vertex_training.core import waiting
from pulumi_vertex_training.core.waiting import InterruptedWaitError, wait
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
    assert waiting.SAID_EVERY == 15


def test_it_ends_with_the_deployment() -> None:
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    with pytest.raises(InterruptedWaitError):
        wait(never, seconds=3600, pause=3600, progress=line, cancelled=cancelled)
