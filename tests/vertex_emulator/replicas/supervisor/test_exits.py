"""The order in which the ends of replicas are handled, when shims report them in another order."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import cast

import pytest

from support.waiting import TIMEOUT, eventually
from vertex_emulator.job_folder.logs import LogWriter
from vertex_emulator.replicas.sandbox.children import Child
from vertex_emulator.replicas.supervisor.loop import Exits, Running


def replica(name: str, *, pid: int | None = None, ended_at: int | None = None) -> Running:
    child = Child(shim=0, status=-1, stdout=-1, stderr=-1, lifeline=-1, pid=pid)
    one = Running(name=name, child=child, log=cast(LogWriter, None), ends={}, is_replica=True)
    if ended_at is not None:
        end(one, at=ended_at)
    return one


def end(one: Running, *, at: int) -> None:
    one.child.exit_code, one.child.ended_at, one.ended = 1, at, True


@pytest.fixture
def zombie() -> Iterator[int]:
    """Yield the id of a process that has ended, and that nobody has waited for."""
    process = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def test_an_end_waits_for_the_report_of_one_that_has_ended_too(zombie: int) -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    late, early = replica("late", ended_at=2), replica("early", pid=zombie)
    assert exits.take([late, early]) is None
    end(early, at=1)
    assert exits.take([late, early]) is early
    assert exits.take([late, early]) is late
    assert exits.take([late, early]) is None


def test_an_end_waits_for_one_whose_process_is_unknown() -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    assert exits.take([replica("ended", ended_at=1), replica("new")]) is None


def test_an_end_is_handled_at_once_if_all_others_run() -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    ended = replica("ended", ended_at=1)
    assert exits.take([ended, replica("running", pid=os.getpid())]) is ended


def test_an_end_is_handled_if_another_one_is_not_reported_in_time(zombie: int) -> None:
    exits = Exits(settle_seconds=0.01)
    ended, other = replica("ended", ended_at=1), replica("other", pid=zombie)
    assert exits.take([ended, other]) is None
    eventually(lambda: exits.take([ended, other]) is ended)


def test_an_end_waits_for_the_rest_of_its_log() -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    only = replica("only", ended_at=1)
    only.ended = False
    assert exits.take([only]) is None
    assert exits.settled_at is not None, "the job's timeout waits for it"
    only.ended = True
    assert exits.take([only]) is only
