"""How the CPU time of work grows with the size of its input."""

from __future__ import annotations

import time
from collections.abc import Callable

FACTOR = 4


def is_linear(work: Callable[[int], object], *, size: int) -> bool:
    """Return whether input that is four times as large takes about four times the CPU time, not sixteen."""
    return _seconds(work, size * FACTOR) < 2.5 * FACTOR * _seconds(work, size)


def _seconds(work: Callable[[int], object], size: int) -> float:
    found = []
    for _ in range(3):
        began = time.process_time()
        work(size)
        found.append(time.process_time() - began)
    return min(found)
