"""More threads for Pulumi's host of dynamic providers, which serves all resources of a stack with four.

Deleting a live job waits until it has ended, so sixteen jobs that end slowly would be deleted in four rounds,
with every other call queued behind them. The engine limits the number of operations at a time (`--parallel`),
so the host need not. `test_threads.py` fails if a later host is made otherwise; it then keeps its four
threads.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

THREADS = 64
"""The most threads of the host. Each call gets a new one, until there are so many."""


class _NoneIdle(threading.Semaphore):
    """The pool's count of its idle threads: none.

    The pool counts a thread as idle that takes the next waiting call at once. A later call would then wait
    although the pool may start a thread for it.
    """

    def acquire(self, *_args: object, **_named: object) -> bool:
        return False

    def release(self, *_args: object, **_named: object) -> None:
        return


def widen() -> bool:
    """Let the pool that runs this thread start up to `THREADS` threads. Return whether there is one.

    The calls that wait already get their threads here: the pool starts one only with a new call.
    """
    pool = _pool()
    if pool is None or not isinstance(getattr(pool, "_max_workers", None), int):
        return False
    if pool._max_workers == THREADS:
        return True
    with pool._shutdown_lock:  # as `submit` does
        pool._max_workers = THREADS
        pool._idle_semaphore = _NoneIdle()
        for _ in range(pool._work_queue.qsize()):
            pool._adjust_thread_count()
    return True


def _pool() -> ThreadPoolExecutor | None:
    """Return the pool that this thread belongs to: while a worker runs, its arguments begin with the pool."""
    arguments = getattr(threading.current_thread(), "_args", ())
    reference = arguments[0] if arguments else None
    pool = reference() if isinstance(reference, weakref.ref) else None
    return pool if isinstance(pool, ThreadPoolExecutor) else None
