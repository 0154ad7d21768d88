"""The program's side of `runs.cancel_watchdog`: what is to be cancelled if this process ends."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs.cancel_watchdog import RUN_PREFIX, Order, now


def hold(name: str, endpoint: Endpoint) -> None:
    """Have the job cancelled when this process ends before `release`."""
    collection = name.rpartition("/")[0].rpartition("/")[2]
    _tell(Order(name=name, hold=True, endpoint=endpoint, collection=collection))


def hold_run(key: str, endpoint: Endpoint, collection: str) -> None:
    """As `hold`, for the job of this kind that is about to be created under the key of a run."""
    _tell(Order(name=RUN_PREFIX + key, hold=True, endpoint=endpoint, since=now(), collection=collection))


def release(name: str) -> None:
    """The job, or "run:" and the key of a run, is not to be cancelled any more."""
    _tell(Order(name=name, hold=False))


def end() -> None:
    """End the guard, in a process that goes on after a deployment; what is held is cancelled."""
    if _guard.cache_info().currsize:
        _guard(os.getpid()).communicate()
        _guard.cache_clear()


def _tell(order: Order) -> None:
    # Without its guard a job goes on after Ctrl-C: no reason to fail the deployment.
    with contextlib.suppress(OSError):
        pipe = _guard(os.getpid()).stdin
        if pipe is not None:
            pipe.write(order.line())
            pipe.flush()


@functools.lru_cache(maxsize=1)
def _guard(_pid: int) -> subprocess.Popen[bytes]:
    """The process, started with the first order; away from the engine's process groups and streams."""
    terminal = _terminal()
    try:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "pulumi_vertex_training.runs.cancel_watchdog", str(terminal)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=() if terminal < 0 else (terminal,),
        )
    finally:
        if terminal >= 0:
            os.close(terminal)


def _terminal() -> int:
    """The terminal that the deployment was started from; -1 without one."""
    try:
        return os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return -1
