"""The threads of a call, chosen by the token in its metadata before a thread is taken.

A thread waits for the request of its call, and everybody on this machine can open a connection. So calls
without a token are refused by threads that wait for nothing; replicas, which have the token of the metadata
server, and the owner of the emulator have threads and streams of their own; and a call ends if its request
does not come.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import grpc

from vertex_emulator.kernel import machine_clock
from vertex_emulator.server.http.auth import Access
from vertex_emulator.server.rpc.methods import RpcError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Share:
    """The threads of one kind of client, and how many calls it can have open at a time.

    Calls beyond the threads wait for one. `noun` is the client in messages.
    """

    threads: int
    most: int
    noun: str


OWNER = Share(threads=32, most=256, noun="Programs with the emulator's token")
SERVICES = Share(threads=32, most=256, noun="Programs with the token of the metadata server")
UNPROVEN = Share(threads=4, most=256, noun="Programs without a token")
"""A call of a replica waits as long as its request, so 32 are as many as the replicas of a large job. 256 is
the number of connections of the HTTP server."""

MOST_STREAMS = 10
"""Streams at a time, for each kind of client. Each needs a thread as long as it lasts."""

_LOOKS = 4
"""The looks for overdue requests within their time."""


class Pool(ThreadPoolExecutor):
    """The threads of a share, which counts its calls. gRPC submits all calls from one thread."""

    def __init__(self, share: Share, name: str) -> None:
        super().__init__(share.threads, thread_name_prefix=f"grpc {name}")
        self.share = share
        self._lock = threading.Lock()
        self._calls = 0

    @property
    def is_full(self) -> bool:
        return self._calls >= self.share.most

    def submit(self, function: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        """Count a call until its function has returned."""
        with self._lock:
            self._calls += 1
        future = super().submit(function, *args, **kwargs)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _: object) -> None:
        with self._lock:
            self._calls -= 1


class Pools:
    """The threads of all clients."""

    def __init__(self) -> None:
        self.unproven = Pool(UNPROVEN, "refusal")
        self.owner = Pool(OWNER, "owner")
        self._services = Pool(SERVICES, "service")

    def of(self, access: Access) -> Pool:
        """Return the threads for a call that has shown a token."""
        return self.owner if access is Access.OWNER else self._services


class Streams:
    """The streams of one server. Safe for threads."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._free = {access: threading.BoundedSemaphore(MOST_STREAMS) for access in Access}

    @contextmanager
    def counted(self, access: Access) -> Iterator[None]:
        """Count one more stream within the context. Raises `RpcError` if there are too many."""
        if not self._free[access].acquire(blocking=False):
            raise RpcError("RESOURCE_EXHAUSTED", f"At most {MOST_STREAMS} streams can be open at a time.")
        try:
            yield
        finally:
            self._free[access].release()


class RequestDeadlines:
    """Cancels calls whose request has not come within some seconds. Safe for threads."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._waiting: dict[grpc.ServicerContext, float] = {}
        self._thread = threading.Thread(target=self._watch, name="grpc deadlines", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def first(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Return the first request of a call. Raises `RpcError` without a request in time."""
        with self._lock:
            self._waiting[context] = machine_clock.monotonic() + self._seconds
        try:
            return next(requests)
        except StopIteration:
            raise RpcError("INVALID_ARGUMENT", "The call has no request.") from None
        except grpc.RpcError as error:
            message = f"The client left, or no request arrived for {self._seconds:g} seconds."
            raise RpcError("CANCELLED", message) from error
        finally:
            with self._lock:
                self._waiting.pop(context, None)

    def _watch(self) -> None:
        while not self._stopping.wait(self._seconds / _LOOKS):
            now = machine_clock.monotonic()
            with self._lock:
                overdue = [context for context, until in self._waiting.items() if until <= now]
            for context in overdue:
                context.cancel()
