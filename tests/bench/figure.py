"""One line of the budget table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What was measured, beside its budget; `higher_is_better` for rates. No budget: for comparison."""

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
    """The median of several runs, after one that does not count."""
    action()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
