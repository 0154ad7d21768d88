"""Background tasks: they run at a time of the clock or when woken, and do not delay each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.scheduler import Next, Scheduler, Task

TIMEOUT = 30.0
"""Seconds after which something that was to happen has not."""

MOMENT = 0.05
"""Seconds that a run or a pause takes."""


class Calls:
    """A task that counts its calls, and returns the result of `answer`."""

    def __init__(self, answer: Callable[[], Next] = Next) -> None:
        self._answer = answer
        self._changed = threading.Condition()
        self.times: list[float] = []

    def __call__(self) -> Next:
        with self._changed:
            self.times.append(time.monotonic())
            self._changed.notify_all()
        return self._answer()

    @property
    def count(self) -> int:
        return len(self.times)

    def wait(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.count >= count, TIMEOUT), f"{self.count} calls"


@contextmanager
def running(scheduler: Scheduler) -> Iterator[None]:
    scheduler.start()
    try:
        yield
    finally:
        scheduler.close()


@contextmanager
def one(clock: Clock, calls: Calls, *, pause: float = 0.0) -> Iterator[tuple[Scheduler, Task]]:
    """Run a scheduler with one task, whose first call is over."""
    scheduler = Scheduler(clock)
    task = scheduler.add("a task", calls, pause=pause)
    with running(scheduler):
        calls.wait(1)
        yield scheduler, task


@pytest.fixture
def clock() -> Clock:
    return Clock()


def set_clock(clock: Clock, *, rate: float | None = None, by: float = 0.0) -> None:
    clock.setting = clock.setting.changed(
        wall=time.time_ns() // 1000, steady=time.monotonic(), rate=rate, by=by
    )


def after(clock: Clock, seconds: float) -> Next:
    return Next(at=clock.microseconds() + round(seconds * 1e6))


def test_what_is_due_already_is_done_at_the_start(clock: Clock) -> None:
    with one(clock, calls := Calls()):
        assert calls.count == 1


def test_nothing_is_done_before_the_start(clock: Clock) -> None:
    Scheduler(clock).add("a task", calls := Calls()).wake()
    assert "a task" not in {thread.name for thread in threading.enumerate()}
    assert calls.count == 0


def test_a_task_that_waits_for_nothing_is_not_called_again(clock: Clock) -> None:
    with one(clock, calls := Calls()) as (_, task):
        assert task.await_rest(seconds=TIMEOUT) is None, "it runs when it is woken"
        assert calls.count == 1


def test_a_task_is_called_again_when_it_is_woken(clock: Clock) -> None:
    with one(clock, calls := Calls()) as (_, task):
        task.wake()
        calls.wait(2)


def test_a_task_that_is_woken_while_it_works_is_called_again(clock: Clock) -> None:
    tasks: list[Task] = []

    def wake_once() -> Next:
        if calls.count == 1:
            tasks[0].wake()
        return Next()

    calls = Calls(wake_once)
    scheduler = Scheduler(clock)
    tasks.append(scheduler.add("a task", calls))
    with running(scheduler):
        calls.wait(2)
        assert tasks[0].await_rest(seconds=TIMEOUT) is None
        assert calls.count == 2


def test_real_seconds_pass_while_the_clock_stands_still(clock: Clock) -> None:
    set_clock(clock, rate=0.0)
    with one(clock, calls := Calls(lambda: Next(seconds=0.001))):
        calls.wait(3)


def test_a_time_does_not_come_while_the_clock_stands_still(clock: Clock) -> None:
    set_clock(clock, rate=0.0)
    with one(clock, calls := Calls(lambda: after(clock, 0.001))) as (_, task):
        assert task.await_rest(seconds=TIMEOUT) is None
        assert calls.count == 1


def test_a_time_comes_sooner_on_a_fast_clock(clock: Clock) -> None:
    set_clock(clock, rate=10_000.0)
    with one(clock, calls := Calls(lambda: after(clock, 3600.0))):
        calls.wait(2)


def test_a_clock_that_was_set_is_looked_at(clock: Clock) -> None:
    with one(clock, calls := Calls(lambda: after(clock, 3600.0))) as (scheduler, _):
        set_clock(clock, by=3600.0)
        scheduler.clock_changed()
        calls.wait(2)


def test_what_comes_first_counts(clock: Clock) -> None:
    with one(clock, calls := Calls(lambda: Next(at=after(clock, 3600.0).at, seconds=0.001))):
        calls.wait(2)


def test_a_pause_lies_between_two_calls_however_often_it_is_woken(clock: Clock) -> None:
    began = time.monotonic()
    with one(clock, calls := Calls(), pause=0.1) as (_, task):
        until = time.monotonic() + 0.35
        while time.monotonic() < until:
            task.wake()
        calls.wait(3)
    # A call may begin late, and then the next one follows sooner: count from the start.
    assert all(at - began >= 0.1 * number for number, at in enumerate(calls.times))


def test_what_woke_a_task_in_its_pause_is_not_forgotten(clock: Clock) -> None:
    with one(clock, calls := Calls(), pause=MOMENT) as (_, task):
        task.wake()
        calls.wait(2)


@pytest.mark.parametrize(
    "others",
    [
        pytest.param("fail", id="that fails"),
        pytest.param("take long", id="that takes long"),
    ],
)
def test_a_task_is_independent_of_another_one(clock: Clock, others: str) -> None:
    ended = threading.Event()

    def other() -> Next:
        if others == "fail":
            raise RuntimeError("not now")
        ended.wait()
        return Next()

    scheduler = Scheduler(clock)
    scheduler.add("another task", called := Calls(other))
    task = scheduler.add("a task", calls := Calls())
    with running(scheduler), ExitStack() as undo:
        undo.callback(ended.set)
        called.wait(1)
        calls.wait(1)
        task.wake()
        calls.wait(2)


def test_a_task_that_failed_is_tried_again(clock: Clock) -> None:
    def fail_once() -> Next:
        if calls.count == 1:
            raise RuntimeError("not now")
        return Next()

    with one(clock, calls := Calls(fail_once)):
        calls.wait(2)


def test_a_task_that_failed_is_named_in_the_log(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    def fail_once() -> Next:
        if calls.count == 1:
            raise RuntimeError("not now")
        return Next()

    with one(clock, calls := Calls(fail_once)) as (_, task):
        task.wake()
        calls.wait(2)
    assert [record.message for record in caplog.records] == [
        "a task: the background task failed and is repeated"
    ]


def test_what_was_begun_is_waited_for_at_the_end(clock: Clock) -> None:
    ended: list[bool] = []

    def take_a_moment() -> Next:
        time.sleep(MOMENT)
        ended.append(True)
        return Next()

    with one(clock, Calls(take_a_moment)):
        pass
    assert ended == [True]


def test_nothing_is_done_after_the_end(clock: Clock) -> None:
    with one(clock, calls := Calls(lambda: Next(seconds=0.001))) as (_, task):
        calls.wait(3)
    count = calls.count
    task.wake()
    assert "a task" not in {thread.name for thread in threading.enumerate()}
    assert calls.count == count


def test_a_scheduler_that_never_started_ends(clock: Clock) -> None:
    scheduler = Scheduler(clock)
    scheduler.add("a task", calls := Calls())
    scheduler.close()
    assert calls.count == 0


def test_settled_means_that_no_task_has_work(clock: Clock) -> None:
    """Let the first task wake the second one, though it was asked first."""
    tasks: list[Task] = []

    def wake_the_other() -> Next:
        tasks[0].wake()
        return Next()

    scheduler = Scheduler(clock)
    tasks.append(scheduler.add("the other task", other := Calls()))
    tasks.append(scheduler.add("a task", calls := Calls(wake_the_other)))
    scheduler.add("a task with a pause", Calls(), pause=600.0)
    with running(scheduler):
        scheduler.settle(seconds=TIMEOUT)
        began = calls.count
        scheduler.settle(seconds=TIMEOUT)
        assert calls.count == began + 1
        assert other.times[-1] >= calls.times[-1]


def test_a_task_that_does_not_end_does_not_settle(clock: Clock) -> None:
    ended = threading.Event()

    def wait() -> Next:
        ended.wait()
        return Next()

    scheduler = Scheduler(clock)
    scheduler.add("a task", Calls(wait))
    with running(scheduler), ExitStack() as undo:
        undo.callback(ended.set)
        with pytest.raises(TimeoutError, match=r"a task: a run is in progress or due"):
            scheduler.settle(seconds=0.01)
