"""A flag that SIGTERM sets, which a preempted machine may get before it is gone."""

from __future__ import annotations

import logging
import os
import signal
from typing import Any

__all__ = ["SigtermFlag", "sigterm_flag"]

_log = logging.getLogger("vertex_cluster")


class SigtermFlag:
    """False until this process gets SIGTERM: ``if stop:``."""

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        """Return whether SIGTERM has come."""
        return self._set

    def __bool__(self) -> bool:
        return self._set

    def set(self) -> None:
        """Do what SIGTERM does, such as in a test."""
        self._set = True


def sigterm_flag() -> SigtermFlag:
    """Return a flag that SIGTERM sets. The signal then no longer ends this process; a second one does.

    Call it in the main thread; elsewhere the flag stays False, with a warning. A handler that the program
    has set before is called as well.

    Do not rely on it (docs/guides/frameworks/checkpoints.md#sigterm): often the signal never comes, and only
    to the preempted machine.
    """
    flag = SigtermFlag()
    process = os.getpid()
    before = signal.getsignal(signal.SIGTERM)

    def handle(number: int, frame: Any) -> None:
        if flag or os.getpid() != process:  # a fork, such as a loader of data, has to end when it is told to
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)
        flag.set()  # no lock, no output: the main thread may be anywhere
        if callable(before):
            before(number, frame)

    try:
        signal.signal(signal.SIGTERM, handle)
    except ValueError:
        _log.warning("SIGTERM sets no flag: call sigterm_flag in the main thread.")
    return flag
