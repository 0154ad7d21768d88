"""How the list of jobs looked a while ago, for a caller who is to be given a stale one.

Kept in memory, and only so far back: the last changes of jobs, each with the row as it was before.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

_KEPT = 500

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class LookBack:
    """Either `seconds` ago, or before the last `changes` times that a job was created or deleted."""

    seconds: float | None = None
    changes: int | None = None


_LOOK_BACK: ContextVar[LookBack | None] = ContextVar("look_back", default=None)


@contextmanager
def looking_back(how_far: LookBack) -> Iterator[None]:
    """Within it, lists of jobs in this thread are answered as they were then."""
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


class Past(Generic[Row]):
    """The last changes of one store; `clock` counts seconds."""

    def __init__(self, *, kept: int = _KEPT, clock: Callable[[], float] = time.monotonic) -> None:
        self._changes: deque[_Change[Row]] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._clock = clock

    def remember(self, job_id: str, *, before: Row | None, counts: bool) -> None:
        """A job changes. `before` is None for a new one; `counts`: it was created or deleted."""
        with self._lock:
            self._changes.append(_Change(self._clock(), job_id, before, counts))

    def clear(self) -> None:
        """Forget all changes so far."""
        with self._lock:
            self._changes.clear()

    def undone(self) -> Mapping[str, Row | None]:
        """The jobs that have changed since the moment looked back to, as they were then: None for not there.

        Empty when nobody looks back.
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
