"""Waiting for what comes about by itself. The bound is for a machine that is busy with other things: a test
that passes never waits so long, and none asserts that something took less than some seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds."""


def eventually(
    condition: Callable[[], object], *, seconds: float = PATIENCE, what: Callable[[], str] = lambda: ""
) -> None:
    """Wait until the condition holds; an AssertionError with `what` says that it did not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what()}"
        time.sleep(0.02)
