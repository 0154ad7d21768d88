"""More threads for Pulumi's host of dynamic providers, which serves all resources of a stack with four.

Deleting a live job waits until it has ended, so sixteen jobs that end slowly would be deleted in four rounds,
with every other call queued behind them. The engine limits the number of operations at a time (`--parallel`),
so the host need not. `test_host_threads.py` fails if a later host is made otherwise; it then keeps its four
threads.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

THREADS = 64
"""The most threads of the host. Each is started when a call needs it."""


def widen() -> bool:
    """Let the pool that runs this thread start up to `THREADS` threads. Return whether there is one.

    The pool does not start threads for the calls that wait already, so each gets an empty one behind it.
    """
    pool = _pool()
    if pool is None or not isinstance(getattr(pool, "_max_workers", None), int):
        return False
    pool._max_workers = THREADS
    for _ in range(pool._work_queue.qsize()):
        pool.submit(_nothing)
    return True


def _pool() -> ThreadPoolExecutor | None:
    """Return the pool that this thread belongs to: while a worker runs, its arguments begin with the pool."""
    arguments = getattr(threading.current_thread(), "_args", ())
    reference = arguments[0] if arguments else None
    pool = reference() if isinstance(reference, weakref.ref) else None
    return pool if isinstance(pool, ThreadPoolExecutor) else None


def _nothing() -> None:
    return
