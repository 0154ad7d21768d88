"""Waits in the provider process: with a timeout, with progress lines, ended by Ctrl-C.

The timeout is the call's (`Call.timeout`), or one of `Timeouts`. Only what nothing else can wait for
is waited for here: each wait occupies one of the operations that the engine allows at a time.

A host waits until a resource is ready: the program for dynamic resources, the call itself in the package.
`Readiness` describes how such a resource is watched, and what a deployment says about it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.engine import CANCELLED, print_line
from vertex_emulator import machine_clock

SAID_EVERY = 15.0
"""Seconds between two lines about a wait."""
DEFAULT_TIMEOUT = 3600.0
"""Seconds. Machines with accelerators can take half an hour."""


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
            print_line(progress(now - begun))
        if cancelled.wait(min(pause, seconds - (now - begun))):
            raise InterruptedWaitError
    return True


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """How a kind of resource becomes ready.

    `get` reads the record of a full name; its state has a `word`. `is_ready` is true of one that runs, and
    `failure` returns why one never will, "" if it may. `line` is the text of its row.
    """

    noun: str
    get: Callable[[Endpoint, str], Any]
    is_ready: Callable[[Any], bool]
    failure: Callable[[Any], str]
    line: Callable[[Any], str]


def gone(title: str) -> str:
    """Return why the deployment of a resource that was deleted fails."""
    return f"{title} no longer exists. Run `pulumi refresh`"


def interrupted(title: str) -> str:
    """Return what a wait that Ctrl-C ended says."""
    return f"{title}: interrupted, but the service continues. Run `pulumi up` to wait for it again"


def timed_out(title: str, state: str, seconds: float) -> str:
    """Return the warning of a wait that took too long."""
    return f"{title} is still {state} after {seconds:g} s. The deployment no longer waits for it"
