"""Ctrl-C while a program waits: the wait ends, without a call stack."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal


async def interrupted_within(seconds: float) -> bool:
    """Sleep; True as soon as the process has been interrupted, at any time since the first call."""
    try:
        await asyncio.wait_for(_interruption(asyncio.get_running_loop()).wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


@functools.lru_cache(maxsize=1)
def _interruption(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """Set by SIGINT from now on; never where the program does not own its signals (Automation API)."""
    event = asyncio.Event()
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, event.set)
    return event
