"""Calls with streams: they answer until the client leaves or the emulator stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import grpc
from google.protobuf.message import Message

from vertex_emulator.grpc_server.calls import Method, abort
from vertex_emulator.http.messages import HttpError, Response
from vertex_emulator.rpc.methods import RpcError, Streaming

MOST_STREAMS = 10
"""Streams at a time. Each needs a thread of the server."""

_LOOK_SECONDS = 0.5


class Streams:
    """The streams of one server. Safe for threads."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._free = threading.BoundedSemaphore(MOST_STREAMS)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count one more stream within the context. Raises `RpcError` if there are too many."""
        if not self._free.acquire(blocking=False):
            raise RpcError("RESOURCE_EXHAUSTED", f"At most {MOST_STREAMS} streams can be open at a time.")
        try:
            yield
        finally:
            self._free.release()


@dataclass(frozen=True, kw_only=True)
class StreamCall:
    """The handler of a method with streams, whose first request is the question."""

    method: Method
    binding: Streaming
    streams: Streams

    def __call__(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """Yield the serialized responses."""
        method, started = self.method, self.method.start(context)
        error: RpcError | None = None
        fault: int | None = None
        received = sent = 0
        try:
            intervention = method.admit(started)
            if intervention is not None:
                fault = intervention.number
                intervention.carry_out(lambda: Response(200, b""))
            with self.streams.counted():
                data = next(requests, b"")
                received = len(data)
                responses = self.binding.call(method.parsed(data))
                # A client that waits for this misses nothing that happens afterwards.
                context.send_initial_metadata(())
                for answer in self._until_the_end(responses, context):
                    sent += len(answer)
                    method.surroundings.on_request()
                    yield answer
        except Exception as found:
            error = method.error_of(found)
        finally:  # also of a client that leaves while a response is sent
            method.record(started, error=error, received=received, sent=sent, fault=fault)
        if error is not None:
            abort(context, error)

    def _until_the_end(
        self, responses: Iterator[Message | None], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Yield responses until the client has left. Raises `HttpError` when the emulator stops."""
        ended = threading.Event()
        if not context.add_callback(ended.set):
            return
        for response in responses:
            if self.streams.stopping.is_set():
                raise HttpError(503, "", "The emulator is stopping. Repeat the call in a moment.")
            if ended.is_set():
                return
            if response is None:
                ended.wait(_LOOK_SECONDS)
            else:
                yield response.SerializeToString()
