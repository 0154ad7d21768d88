"""Past states of lists, which a fault declaration can bring back: the last changes of a store, in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

from vertex_emulator.kernel import machine_clock

_MAX_CHANGES = 500

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class LookBack:
    """A past state of lists: `seconds` ago, or before the last `changes` creations and deletions of jobs."""

    seconds: float | None = None
    changes: int | None = None


_LOOK_BACK: ContextVar[LookBack | None] = ContextVar("look_back", default=None)


@contextmanager
def looking_back(how_far: LookBack) -> Iterator[None]:
    """Run the context's body with lists of jobs in this thread as of that past state."""
    token = _LOOK_BACK.set(how_far)
    try:
        yield
    finally:
        _LOOK_BACK.reset(token)


@dataclass(frozen=True)
class _Change(Generic[Row]):
    at: float
    job_id: str
    before: Row | None
    counts: bool


class ChangeHistory(Generic[Row]):
    """The last changes of one store. `clock` returns seconds."""

    def __init__(
        self, *, kept: int = _MAX_CHANGES, clock: Callable[[], float] = machine_clock.monotonic
    ) -> None:
        self._changes: deque[_Change[Row]] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._clock = clock

    def record(self, job_id: str, *, before: Row | None, counts: bool) -> None:
        """Record a change of a job.

        `before` is None for a new job. `counts` is true if the job was created or deleted.
        """
        with self._lock:
            self._changes.append(_Change(self._clock(), job_id, before, counts))

    def clear(self) -> None:
        """Drop all changes."""
        with self._lock:
            self._changes.clear()

    def rows_before(self) -> Mapping[str, Row | None]:
        """Return the rows before the changes since the past state, by job; None for a job that did not exist.

        The result is empty outside of `looking_back`.
        """
        how_far = _LOOK_BACK.get()
        if how_far is None:
            return {}
        found: dict[str, Row | None] = {}
        with self._lock:
            oldest = None if how_far.seconds is None else self._clock() - how_far.seconds
            left = how_far.changes or 0
            for change in reversed(self._changes):
                if change.at <= oldest if oldest is not None else left == 0:
                    break
                found[change.job_id] = change.before
                left -= change.counts
        return found
