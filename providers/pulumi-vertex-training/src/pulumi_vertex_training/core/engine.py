"""The engine that a process works for: whether it still runs, whether it was interrupted, what is printed."""

from __future__ import annotations

import os
import socket
import sys
import threading

from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.findings.words import visible_lines

CANCELLED = threading.Event()
"""Set when the engine has reported Ctrl-C to this process."""


_ENGINE_CHECK_SECONDS = 2.0
_ENGINE_CHECK_FAILURES = 3

_watching = threading.Lock()


class EngineGoneError(RuntimeError):
    """The deployment that made this call was killed; nothing more is submitted for it."""


def is_alive(address: str | None, timeouts: Timeouts) -> bool:
    """Return whether the engine at `host:port` still accepts connections; True without an engine."""
    if address is None:
        return True
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeouts.engine):
            return True
    except OSError:
        return False


def require(address: str | None, timeouts: Timeouts) -> None:
    """Raise EngineGoneError if the engine is gone: it was killed, and this process was not."""
    if not is_alive(address, timeouts):
        raise EngineGoneError("the deployment was killed before the job was submitted; nothing was submitted")


def leave_with(address: str | None, timeouts: Timeouts) -> None:
    """End this process soon after its engine: after a SIGKILL of `pulumi` nothing else would.

    Only the first call has an effect, and only with an engine.
    """
    if address is not None and _watching.acquire(blocking=False):
        threading.Thread(
            target=_leave_with, args=[address, timeouts], name="engine-watch", daemon=True
        ).start()


def _leave_with(address: str, timeouts: Timeouts) -> None:
    pause, failures = threading.Event(), 0
    while failures < _ENGINE_CHECK_FAILURES:
        pause.wait(_ENGINE_CHECK_SECONDS)
        failures = 0 if is_alive(address, timeouts) else failures + 1
    os._exit(1)


def print_line(message: str) -> None:
    """Print a line below the stack's diagnostics, without secrets; in previews too.

    The engine passes the process's output on.
    """
    sys.stdout.write(visible_lines(runnable(SECRETS.masked(message))) + "\n")
    sys.stdout.flush()
