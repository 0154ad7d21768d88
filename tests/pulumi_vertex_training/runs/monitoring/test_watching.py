"""A watch ends at its goal, at the end of the run or at its deadline, and survives transient errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from pulumi_vertex_training.cloud.errors import (
    CloudError,
    DataLoss,
    DeadlineExceeded,
    Internal,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    UnexpectedAnswer,
)
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.monitoring.watching import Pace, Watched, is_transient, watch
from pulumi_vertex_training.timeouts import ORDINARY

RUNNING, DONE = JobState.JOB_STATE_RUNNING, JobState.JOB_STATE_SUCCEEDED


@dataclass
class Clock:
    """Answers of a service, one for each poll, the last one for ever; time passes only in sleeps."""

    answers: list[JobState | CloudError]
    now: float = 0.0
    seen: list[JobState] = field(default_factory=list)
    troubles: list[CloudError] = field(default_factory=list)

    async def ask(self) -> JobRecord:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, CloudError):
            raise answer
        return JobRecord(name="j", display_name="j", state=answer)

    async def report(self, record: JobRecord) -> None:
        self.seen.append(record.state)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def watch(
        self,
        *,
        timeout: float = 60.0,
        reached: Callable[[Any], bool] = lambda _: False,
        least_answer: float = ORDINARY.least_answer,
    ) -> Watched:
        return asyncio.run(
            watch(
                self.ask,
                reached=reached,
                pace=Pace(first=1.0, most=8.0),
                timeout=timeout,
                on_record=self.report,
                on_error=self.troubles.append,
                clock=lambda: self.now,
                sleep=self.sleep,
                least_answer=least_answer,
            )
        )


def test_ends_with_the_run() -> None:
    clock = Clock([RUNNING, RUNNING, DONE])
    watched = clock.watch()
    assert (watched.record.state, watched.timed_out, watched.first_was_terminal) == (DONE, False, False)
    assert clock.seen == [RUNNING, RUNNING, DONE]


def test_a_run_that_had_ended_before_costs_one_look() -> None:
    clock = Clock([DONE])
    assert clock.watch().first_was_terminal
    assert clock.now == 0.0


def test_ends_at_the_goal() -> None:
    clock = Clock([JobState.JOB_STATE_PENDING, RUNNING])
    watched = clock.watch(reached=lambda record: record.state is RUNNING)
    assert watched.record.state is RUNNING
    assert not watched.timed_out


def test_ends_at_the_deadline_and_not_long_after() -> None:
    clock = Clock([RUNNING])
    assert clock.watch(timeout=30.0).timed_out
    assert 30.0 <= clock.now < 31.0


def test_transient_errors_are_survived_until_the_deadline() -> None:
    clock = Clock([Unavailable("later"), RUNNING, Unavailable("later"), DONE])
    assert clock.watch().record.state is DONE
    assert len(clock.troubles) == 2
    with pytest.raises(Unavailable):
        Clock([Unavailable("later")]).watch(timeout=5.0)


def test_other_errors_end_it() -> None:
    clock = Clock([PermissionDenied("no")])
    with pytest.raises(PermissionDenied):
        clock.watch()


def test_looks_get_rarer_up_to_the_pace() -> None:
    delays = Pace(first=1.0, most=8.0, factor=2.0).delays(jitter=lambda: 0.5)
    assert [next(delays) for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (Unavailable("503"), True),
        (DeadlineExceeded("504"), True),
        (ResourceExhausted("429"), True),
        (Internal("500"), True),
        (DataLoss("broken"), False),
        (PermissionDenied("403"), False),
        (NotFound("404"), False),
        (UnexpectedAnswer("a login page"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_which_errors_pass(error: CloudError, passes: bool) -> None:
    assert is_transient(error) == passes


def test_a_service_that_fails_past_the_deadline_is_no_failure_of_the_run() -> None:
    watched = Clock([RUNNING, Unavailable("later")]).watch(timeout=5.0)
    assert (watched.record.state, watched.timed_out) == (RUNNING, True)


def test_a_look_that_hangs_does_not_hold_up_the_deadline() -> None:
    class Hanging(Clock):
        async def ask(self) -> JobRecord:
            if self.seen:
                await asyncio.sleep(3600)
            return await super().ask()

    watched = Hanging([RUNNING]).watch(timeout=0.1, least_answer=0.05)
    assert (watched.record.state, watched.timed_out) == (RUNNING, True)


def test_no_limit_is_a_limit_too() -> None:
    assert Clock([RUNNING, DONE]).watch(timeout=float("inf")).record.state is DONE
