"""Take a run away: cancel it, wait a bounded time until it has ended, delete its record."""

from __future__ import annotations

import time
from collections.abc import Callable

from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import FailedPrecondition, NotFound
from vertex_training.lifecycle.kinds import Kind

WAIT_SECONDS = 300.0


class StillRunningError(Exception):
    """The run had not ended within the time given; the next delete goes on where this one stopped."""


def remove(
    kind: Kind,
    endpoint: Endpoint,
    name: str,
    *,
    tell: Callable[[str], None],
    wait: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return when the record is gone, also when it already was.

    Raises `StillRunningError` when the run is not terminal after `wait` seconds.
    """
    try:
        record = kind.get(endpoint, name)
        if not record.state.is_terminal:
            tell(f"cancelling {kind.noun} {_short(name)}, which is {_state(record)}")
            _cancel(kind, endpoint, name)
            _until_ended(kind, endpoint, name, wait=wait, clock=clock, sleep=sleep)
        kind.delete(endpoint, name)
    except NotFound:
        return


def _cancel(kind: Kind, endpoint: Endpoint, name: str) -> None:
    try:
        kind.cancel(endpoint, name)
    except FailedPrecondition:
        # It ended between the two calls: the wait that follows sees it at once.
        return


def _until_ended(
    kind: Kind,
    endpoint: Endpoint,
    name: str,
    *,
    wait: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    deadline = clock() + wait
    pause = 0.1
    while True:
        record = kind.get(endpoint, name)
        if record.state.is_terminal:
            return
        if clock() >= deadline:
            raise StillRunningError(
                f"{kind.noun} {_short(name)} is {_state(record)}, {wait:g} s after it was told to stop. "
                "Run the same command again: it goes on waiting and deletes the job when it has ended."
            )
        sleep(pause)
        pause = min(pause * 1.5, 5.0)


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _state(record: object) -> str:
    return str(record.state.name).removeprefix("JOB_STATE_")  # type: ignore[attr-defined]
