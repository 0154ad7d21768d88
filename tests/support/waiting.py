"""Wait for other threads and processes.

The limit is for a machine that is busy with other work: a test that passes never waits so long, and no test
asserts that something took less than some time. pytest-timeout ends a test that hangs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMEOUT = 120.0
"""The default limit, in seconds."""

TIMEOUT_SCALE = 5.0
"""The scale of the timeouts of emulators in the process of a test."""


def eventually(
    condition: Callable[[], T],
    *,
    seconds: float = TIMEOUT,
    every: float = 0.02,
    what: Callable[[], object] = lambda: "",
) -> T:
    """Call `condition` until it returns a true value. Return that value.

    The calls are `every` seconds apart, later a tenth of the wait so far, up to five times `every`.
    Raises AssertionError with `what()` in its message after `seconds`.
    """
    began = time.monotonic()
    while not (found := condition()):
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds:g} s: {what()}"
        time.sleep(min(max(every, waited / 10), 5 * every))
    return found
