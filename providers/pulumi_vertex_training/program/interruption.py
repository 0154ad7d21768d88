"""Ctrl-C while a program waits: the wait ends, without a call stack.

The engine sends SIGINT to the program, and closes its connection to the language host, which then kills the
program; either may come first. So what has to be done after Ctrl-C is done here when there is time for it,
and by `pulumi_vertex_training.runs.cancel_watchdog` when there is none.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

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
