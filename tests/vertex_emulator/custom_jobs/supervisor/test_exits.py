"""The order in which the ends of replicas are handled, when shims report them in another order."""

from __future__ import annotations

from typing import cast

from support.waiting import TIMEOUT, eventually
from vertex_emulator.custom_jobs.sandbox.children import Child
from vertex_emulator.custom_jobs.supervisor.loop import Exits, Running
from vertex_emulator.job_folder.logs import LogWriter


def replica(name: str, *, ended_at: int | None = None) -> Running:
    child = Child(shim=0, status=-1, stdout=-1, stderr=-1, lifeline=-1)
    one = Running(name=name, child=child, log=cast(LogWriter, None), ends={}, is_replica=True)
    if ended_at is not None:
        end(one, at=ended_at)
    return one


def end(one: Running, *, at: int) -> None:
    one.child.exit_code, one.child.ended_at, one.ended = 1, at, True


def test_an_end_waits_for_earlier_ones_while_another_replica_runs() -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    late, early = replica("late", ended_at=2), replica("early")
    assert exits.take([late, early]) is None
    end(early, at=1)
    assert exits.take([late, early]) is early
    assert exits.take([late, early]) is late
    assert exits.take([late, early]) is None


def test_an_end_is_handled_at_once_if_no_other_replica_runs() -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    only = replica("only", ended_at=1)
    assert exits.take([only]) is only


def test_an_end_is_handled_when_no_earlier_one_was_reported_in_time() -> None:
    exits = Exits(settle_seconds=0.01)
    ended, running = replica("ended", ended_at=1), replica("running")
    assert exits.take([ended, running]) is None
    eventually(lambda: exits.take([ended, running]) is ended)


def test_an_end_waits_for_the_rest_of_its_log() -> None:
    exits = Exits(settle_seconds=TIMEOUT)
    only = replica("only", ended_at=1)
    only.ended = False
    assert exits.take([only]) is None
    assert exits.settled_at is not None, "the job's timeout waits for it"
    only.ended = True
    assert exits.take([only]) is only
