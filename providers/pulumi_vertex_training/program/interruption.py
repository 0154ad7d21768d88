"""Ctrl-C while a program waits: the wait ends, without a call stack.

The engine sends SIGINT to the program, and closes its connection to the language host, which then kills the
program; either may come first. What has to be done after Ctrl-C is done by the program when there is time for
it, and by the process of `runs.cancel_watchdog` when there is none: `hold` and `release` tell that process
what to cancel if the program ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs.cancel_watchdog import RUN_PREFIX, Order, now

Answer = TypeVar("Answer")


class Interrupted(Exception):  # noqa: N818
    """The program got SIGINT."""


def listen() -> None:
    """Take note of SIGINT from now on, where a program runs in an event loop.

    Without it, Ctrl-C while a job is being created would end the program with a call stack.
    """
    with contextlib.suppress(RuntimeError):
        _interruption(asyncio.get_running_loop())


async def interrupted_within(seconds: float) -> bool:
    """Sleep; True as soon as the process has been interrupted, at any time since the first call."""
    try:
        await asyncio.wait_for(_interruption(asyncio.get_running_loop()).wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


async def unless_interrupted(work: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of the work. Raises `Interrupted` as soon as the process is: work in a thread goes on."""
    interruption = asyncio.ensure_future(_interruption(asyncio.get_running_loop()).wait())
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, interruption}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Interrupted
    finally:
        interruption.cancel()
        task.cancel()


@functools.lru_cache(maxsize=1)
def _interruption(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """Set by SIGINT from now on; never where the program does not own its signals (Automation API)."""
    event = asyncio.Event()
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, event.set)
    return event


def hold(name: str, endpoint: Endpoint) -> None:
    """Have the job cancelled if this process ends before `release`."""
    collection = name.rpartition("/")[0].rpartition("/")[2]
    _tell(Order(name=name, hold=True, endpoint=endpoint, collection=collection))


def hold_run(key: str, endpoint: Endpoint, collection: str) -> None:
    """As `hold`, for the job of this kind that is about to be created under the key of a run."""
    _tell(Order(name=RUN_PREFIX + key, hold=True, endpoint=endpoint, since=now(), collection=collection))


def release(name: str) -> None:
    """Stop holding a job, given by its name or by "run:" and the key of its run."""
    _tell(Order(name=name, hold=False))


def end_guard() -> None:
    """End the guard process, in a process that continues after a deployment; held jobs are cancelled."""
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
