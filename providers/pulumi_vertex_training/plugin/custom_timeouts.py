"""Waits in the provider process: with a timeout, with progress lines, ended by Ctrl-C.

The process serves all resources of a stack with four threads, so it waits only where nothing else can. The
engine sends `custom_timeouts`, but Pulumi's host of dynamic providers drops them: so a resource passes them
beside its inputs, and no state keeps them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_vertex_training.plugin.host.cancellation import CANCELLED
from pulumi_vertex_training.plugin.host.process import say
from vertex_emulator.kernel import machine_clock

KEY = "timeouts"
"""The input that has the fields of `CustomTimeouts`."""

SAID_EVERY = 15.0
"""Seconds between two lines about a wait."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class InterruptedWaitError(Exception):
    """The deployment was interrupted."""


@dataclass(frozen=True, kw_only=True)
class CustomTimeouts:
    """The seconds of `custom_timeouts`, None where they are not given."""

    create: float | None = None
    update: float | None = None


def declared(opts: pulumi.ResourceOptions | None) -> dict[str, Any] | None:
    """Return the timeouts among a resource's options, for its inputs; None if none are given.

    Raises `pulumi.RunError` for a value that is not a duration.
    """
    timeouts = opts.custom_timeouts if opts else None
    given = {name: _seconds(getattr(timeouts, name, None)) for name in ("create", "update")}
    return {name: value for name, value in given.items() if value is not None} or None


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


def _seconds(given: object) -> float | None:
    """Return the seconds of a timeout as Pulumi writes it: "10m", "1h30m"."""
    if given is None:
        return None
    text = str(given)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise pulumi.RunError(f"custom_timeouts: {text!r} is not a duration. Write one such as 10m or 1h30m.")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
