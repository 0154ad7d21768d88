"""Handle Ctrl-C while a program waits: end the wait without a traceback.

The engine sends SIGINT to the program and closes its connection to the language host, which then kills the
program. Either may come first. If there is time, the program does the work after Ctrl-C, otherwise the
process of `runs.cancel_watchdog` does. `hold` and `release` tell this process what to cancel if the program
ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
from pulumi.runtime import settings
from pulumi.runtime.proto import engine_pb2

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.engine import is_alive
from pulumi_vertex_training.timeouts import Timeouts

if TYPE_CHECKING:
    from pulumi_vertex_training.runs.cancel_watchdog import Order

Answer = TypeVar("Answer")

ENGINE_KILL_SECONDS = 5.0
"""Time between Ctrl-C and the end of a program that the engine kills: a fact of the engine, at the most."""

ANNOUNCE_SECONDS = 1.0
"""Time limit for a line to the engine in that time. Never scaled."""


class Interrupted(Exception):  # noqa: N818
    """The program received SIGINT."""


def listen() -> None:
    """Handle SIGINT from now on, if the program runs in an event loop.

    Without this, Ctrl-C while a job is being created would end the program with a traceback.
    """
    with contextlib.suppress(RuntimeError):
        _interruption(asyncio.get_running_loop())


async def interrupted_within(seconds: float) -> bool:
    """Sleep. Return True at once if the process is or was interrupted since the first call."""
    try:
        await asyncio.wait_for(_interruption(asyncio.get_running_loop()).wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


async def pause(seconds: float, *, engine: str | None, timeouts: Timeouts) -> None:
    """Sleep between two polls. Raises Interrupted after Ctrl-C, or if the engine was killed."""
    if await interrupted_within(seconds) or not await asyncio.to_thread(is_alive, engine, timeouts):
        raise Interrupted


async def unless_interrupted(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Return the result of the work. Raises Interrupted at once on SIGINT; work in a thread continues."""
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
    """Return an event that SIGINT sets.

    It is never set if the program does not own its signals, as with the Automation API.
    """
    event = asyncio.Event()

    def interrupted() -> None:
        event.set()
        _print_announcements()

    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, interrupted)
    return event


_announced: dict[object, str] = {}


def announce(owner: object, message: str) -> None:
    """Print a message when the program is interrupted, if there is time, unless `withdraw` comes first."""
    _announced[owner] = message


def withdraw(owner: object) -> None:
    """Do not print the message of this owner any more."""
    _announced.pop(owner, None)


def _print_announcements() -> None:
    """Print at once, without the event loop: the engine may end the program within milliseconds."""
    messages = list(_announced.values())
    _announced.clear()
    for message in messages:
        with contextlib.suppress(grpc.RpcError):
            request = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=message)
            engine = settings.get_engine()
            if engine is not None:
                engine.Log(request, timeout=ANNOUNCE_SECONDS)


def hold(name: str, endpoint: Endpoint) -> None:
    """Have the watchdog cancel the job if this process ends before `release`."""
    from pulumi_vertex_training.runs.cancel_watchdog import Order  # imported only if needed

    collection = name.rpartition("/")[0].rpartition("/")[2]
    _send(Order(name=name, hold=True, endpoint=endpoint, collection=collection))


def hold_resource(key: str, endpoint: Endpoint, collection: str, elsewhere: Sequence[str] = ()) -> None:
    """Hold a job of this kind that is about to be created for the resource with this key."""
    from pulumi_vertex_training.runs.cancel_watchdog import KEY_PREFIX, Order, now

    _send(
        Order(
            name=KEY_PREFIX + key,
            hold=True,
            endpoint=endpoint,
            since=now(),
            collection=collection,
            elsewhere=elsewhere,
        )
    )


def release(name: str) -> None:
    """Stop holding a job, given by its name or by KEY_PREFIX and the key of its resource."""
    from pulumi_vertex_training.runs.cancel_watchdog import Order

    _send(Order(name=name, hold=False))


def end_watchdog() -> None:
    """End the watchdog in a process that outlives its deployment. It cancels the held jobs."""
    if _watchdog.cache_info().currsize:
        _watchdog(os.getpid()).communicate()
        _watchdog.cache_clear()


def _send(order: Order) -> None:
    # Without a watchdog the job keeps running after Ctrl-C, which need not fail the deployment.
    with contextlib.suppress(OSError):
        pipe = _watchdog(os.getpid()).stdin
        if pipe is not None:
            pipe.write(order.line())
            pipe.flush()


@functools.lru_cache(maxsize=1)
def _watchdog(_pid: int) -> subprocess.Popen[bytes]:
    """Start the watchdog, detached from the engine's process groups and streams."""
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
    """Open the terminal of the deployment. Return -1 if there is no terminal."""
    try:
        return os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return -1
