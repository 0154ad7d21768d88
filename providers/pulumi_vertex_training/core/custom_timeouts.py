"""Waits in the provider process: with a timeout, with progress lines, ended by Ctrl-C.

The process serves all resources of a stack with four threads, so it waits only where nothing else can. The
engine sends `custom_timeouts`, but Pulumi's host of dynamic providers drops them: so a resource passes them
beside its inputs, and no state keeps them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulumi_vertex_training.core.engine import CANCELLED, say
from vertex_emulator.kernel import machine_clock

KEY = "timeouts"
"""The input that has the fields of `CustomTimeouts` (`program.custom_timeouts`)."""

SAID_EVERY = 15.0
"""Seconds between two lines about a wait."""


class InterruptedWaitError(Exception):
    """The deployment was interrupted."""


@dataclass(frozen=True, kw_only=True)
class CustomTimeouts:
    """The seconds of `custom_timeouts`, None where they are not given."""

    create: float | None = None
    update: float | None = None


def read(value: object) -> CustomTimeouts:
    """Return the timeouts of an input that `declared` made."""
    given = value if isinstance(value, Mapping) else {}
    return CustomTimeouts(create=given.get("create"), update=given.get("update"))


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
