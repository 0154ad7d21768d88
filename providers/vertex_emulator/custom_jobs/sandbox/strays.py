"""Killing what a program has left behind, where no process namespace does it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

_STRAY_SECONDS = 5.0


def kill_strays(shims: Collection[int]) -> None:
    """Kill all children of this process but the shims: what a killed shim left behind (Linux).

    Needs `adopt_orphans`. Waits for each a little only, and for all together: the first process of a process
    namespace ends after its members.
    """
    import psutil

    until = time.monotonic() + _STRAY_SECONDS
    while strays := [one for one in psutil.Process().children() if one.pid not in shims]:
        for stray in strays:
            for process in (stray, *_descendants(stray)):
                _kill(process)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(stray.pid, os.WNOHANG)
        if time.monotonic() >= until:
            return
        time.sleep(0.005)


def kill_descendants() -> None:
    """Without a process namespace: kill until no descendant is left. Orphans become our children (Linux)."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux" and not _has_children():
        return
    import psutil

    shim = psutil.Process()
    while True:
        for descendant in shim.children(recursive=True):
            _kill(descendant)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _kill(process: psutil.Process) -> None:
    """Kill a process and its group, the group at once: who forks and ends all the time cannot slip away."""
    import psutil

    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        group = os.getpgid(process.pid)
        process.kill()
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    import psutil

    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return found
