"""The gRPC server on 127.0.0.1, which calls the same functions as the HTTP server, and its streams.

Clients send the emulator's token as `authorization: Bearer TOKEN`. The transport is plain HTTP/2; programs
that insist on TLS come through the emulator's proxy.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

from vertex_emulator.grpc_server.calls import (
    BETA,
    BetaOperations,
    Call,
    Method,
    Surroundings,
    abort,
    unimplemented,
)
from vertex_emulator.http.messages import MAX_DOCUMENT, HttpError, Response
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import GrpcBinding, RpcError, Streaming

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


log = logging.getLogger(__name__)

_THREADS = 32
_MAX_CALLS = 256


class GrpcServer:
    """A server of the bound methods. The rest of the `services` answers UNIMPLEMENTED by name."""

    def __init__(
        self,
        services: Sequence[str],
        bindings: Mapping[str, GrpcBinding],
        surroundings: Surroundings,
        *,
        port: int = 0,
        timeouts: DaemonTimeouts = DAEMON,
    ) -> None:
        """Open the port, or any port if it is taken. Raises `RuntimeError` if none can be opened."""
        self._timeouts = timeouts
        self._streams = Streams()
        self._server = grpc.server(
            ThreadPoolExecutor(_THREADS, thread_name_prefix="grpc"),
            handlers=[_Methods(services, bindings, surroundings, self._streams)],
            options=[
                # Without it another program could share the port, and receive calls with the token.
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", MAX_DOCUMENT),
                ("grpc.max_send_message_length", -1),
            ],
            maximum_concurrent_rpcs=_MAX_CALLS,
        )
        try:
            self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError:
            if port == 0:
                raise
            log.info("The last gRPC port, %d, is in use: using another port", port)
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Accept no more calls, end streams, and let other running calls finish for a few seconds."""
        self._streams.stopping.set()
        self._server.stop(self._timeouts.calls_end).wait()


class _Methods(grpc.GenericRpcHandler):
    def __init__(
        self,
        services: Sequence[str],
        bindings: Mapping[str, GrpcBinding],
        surroundings: Surroundings,
        streams: Streams,
    ) -> None:
        self._bindings = bindings
        self._surroundings = surroundings
        self._streams = streams
        self._beta_operations = BetaOperations()
        self._requests = {
            method.name: method.request for service in services for method in descriptors.methods(service)
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        given = handler_call_details.method.strip("/").replace("/", ".")
        is_beta = given.startswith(BETA)
        name = given.replace(BETA, f"{descriptors.VERTEX_AI}.", 1) if is_beta else given
        binding = self._bindings.get(name)
        if binding is None:
            return grpc.stream_stream_rpc_method_handler(unimplemented(given))
        method = Method(
            name=name,
            request=descriptors.message_class(self._requests[name]),
            surroundings=self._surroundings,
        )
        if isinstance(binding, Streaming):
            streamed = StreamCall(method=method, binding=binding, streams=self._streams)
            return grpc.stream_stream_rpc_method_handler(streamed)
        call = Call(method=method, binding=binding, is_beta=is_beta, beta_operations=self._beta_operations)
        return grpc.unary_unary_rpc_method_handler(call)
