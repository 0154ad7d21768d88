"""Waits in the provider process: with a timeout, with progress lines, ended by Ctrl-C.

The timeout is the call's (`Call.timeout`), or one of `Timeouts`. Only what nothing else can wait for
is waited for here: each wait occupies one of the operations that the engine allows at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from pulumi_vertex_training.core.engine import CANCELLED, say
from vertex_emulator import machine_clock

SAID_EVERY = 15.0
"""Seconds between two lines about a wait."""


class InterruptedWaitError(Exception):
    """The deployment was interrupted."""


def wait(
    is_over: Callable[[], bool],
    *,
    seconds: float,
    pause: float,
    progress: Callable[[float], str],
    said_every: float = SAID_EVERY,
    cancelled: threading.Event = CANCELLED,
) -> bool:
    """Wait until `is_over`, checked every `pause` seconds. Return False after `seconds`.

    `progress` gives the line that is printed every `said_every` seconds, by the seconds that have passed.
    Raises `InterruptedWaitError` once `cancelled` is set.
    """
    begun = machine_clock.monotonic()
    reported = begun
    while not is_over():
        now = machine_clock.monotonic()
        if now - begun >= seconds:
            return False
        if now - reported >= said_every:
            reported = now
            say(progress(now - begun))
        if cancelled.wait(min(pause, seconds - (now - begun))):
            raise InterruptedWaitError
    return True
