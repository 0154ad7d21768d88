"""Watch a run until it ends: jittered back-off, transient errors survived, changes reported once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pulumi_vertex_training.cloud.errors import CloudError, DataLoss, Internal, ResourceExhausted, Unavailable
from vertex_emulator import machine_clock


class State(Protocol):
    """The state of a resource that ends."""

    @property
    def is_terminal(self) -> bool: ...


class HasState(Protocol):
    """The record of a resource that ends: a job, or a persistent resource that starts."""

    @property
    def state(self) -> State: ...


Record = TypeVar("Record", bound=HasState)


def is_transient(error: CloudError) -> bool:
    """Return whether a later call may succeed: no answer, a rate limit, or a failure of the server."""
    return isinstance(error, (Unavailable, ResourceExhausted, Internal)) and not isinstance(error, DataLoss)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds between two polls: from `first`, growing by `factor` while nothing changes, up to `most`."""

    first: float
    most: float
    factor: float = 1.4

    def delays(self, jitter: Callable[[], float] | None = None) -> Iterator[float]:
        # An own generator: a thread must not draw from one that a program has seeded.
        draw = jitter or random.Random().random  # noqa: S311
        delay = self.first
        while True:
            yield delay * (0.8 + 0.4 * draw())
            delay = min(delay * self.factor, self.most)


LOCAL_PACE = Pace(first=0.1, most=0.5)
CLOUD_PACE = Pace(first=2.0, most=24.0)
"""With its jitter, no delay is longer than the 30 seconds between two lines about a job."""


@dataclass(frozen=True, kw_only=True)
class Watched(Generic[Record]):
    """The result of a watch: the last record, and whether the deadline passed before the goal was reached."""

    record: Record
    first_was_terminal: bool
    timed_out: bool


async def watch(
    ask: Callable[[], Awaitable[Record]],
    *,
    reached: Callable[[Record], bool],
    pace: Pace,
    timeout: float,
    on_record: Callable[[Record], Awaitable[None]],
    on_error: Callable[[CloudError], None],
    least_answer: float,
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Watched[Record]:
    """Poll until `reached` is true for a record, it is terminal, or `timeout` seconds have passed.

    `on_record` is called with every record. A transient error is passed to `on_error`, and the call repeated
    after a delay. If the deadline passes without an answer, the last record is the result; the error is
    raised only if there has never been one. Every other error is raised at once. A call that began before the
    deadline gets at least `least_answer` seconds.
    """
    deadline = clock() + timeout
    delays = pace.delays()
    last: Record | None = None
    first_was_terminal: bool | None = None
    while True:
        try:
            # A call that hangs must not delay the end of the wait, once there is a record.
            left = None if last is None else max(deadline - clock(), least_answer)
            record = await asyncio.wait_for(ask(), left)
        except (CloudError, asyncio.TimeoutError) as error:
            if isinstance(error, CloudError) and not is_transient(error):
                raise
            if clock() >= deadline or not isinstance(error, CloudError):
                if last is None:
                    raise
                return Watched(record=last, first_was_terminal=bool(first_was_terminal), timed_out=True)
            on_error(error)
        else:
            if first_was_terminal is None:
                first_was_terminal = record.state.is_terminal
            await on_record(record)
            ended = record.state.is_terminal or reached(record)
            if ended or clock() >= deadline:
                return Watched(record=record, first_was_terminal=first_was_terminal, timed_out=not ended)
            if last is None or record.state != last.state:
                delays = pace.delays()
            last = record
        await sleep(min(next(delays), max(deadline - clock(), 0.05)))
