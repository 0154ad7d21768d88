"""Wait for a state of the emulator by its long poll for changes, instead of asking every 20 ms."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from support.emulated.emulator import Answer
from support.waiting import TIMEOUT

T = TypeVar("T")

_POLL_SECONDS = 10


def until_true(
    call: Callable[[str, str], Answer],
    condition: Callable[[], T],
    *,
    seconds: float = TIMEOUT,
    what: Callable[[], object] = lambda: "",
) -> T:
    """Call `condition` now and after each change until it returns a true value. Return that value.

    States of jobs, replicas and other resources change; lines of logs and files that programs write do not
    count: use `eventually` for these. `call` sends a request. Raises AssertionError with `what()` in its
    message after `seconds`.
    """
    deadline = time.monotonic() + seconds
    seen = ""
    while True:
        changes = call("GET", f"/_local/changes{seen}")
        assert changes.status == 200, changes.body
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what()}"
        seen = f"?after={changes.json()['number']}&waitSeconds={_POLL_SECONDS}"
