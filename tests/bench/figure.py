"""One line of the budget table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A measured value and its budget; rates have `higher_is_better`. The budget may be None."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    higher_is_better: bool = False
    note: str = ""

    @property
    def within(self) -> bool | None:
        if self.budget is None:
            return None
        return self.value >= self.budget if self.higher_is_better else self.value <= self.budget


def median_seconds(action: Callable[[], object], *, runs: int = 5) -> float:
    """Return the median seconds of several runs, after one that is not counted."""
    action()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
