"""The gRPC server on 127.0.0.1, which calls the same functions as the HTTP server, and its streams.

Clients send the emulator's token as `authorization: Bearer TOKEN`. The transport is plain HTTP/2; programs
that insist on TLS come through the emulator's proxy.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
from google.protobuf.message import Message

from vertex_emulator.kernel.file_limit import connections_for
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.server.grpc_server.admission import Pool, Pools, RequestDeadlines, Streams
from vertex_emulator.server.grpc_server.calls import (
    BETA,
    BetaOperations,
    Call,
    Method,
    Refusal,
    Started,
    Surroundings,
    abort,
    unimplemented,
)
from vertex_emulator.server.grpc_server.connections import Connections
from vertex_emulator.server.http.messages import MAX_DOCUMENT, HttpError, Response
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.methods import GrpcBinding, RpcError, Streaming

_LOOK_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class StreamCall:
    """The handler of a method with streams, whose first request is the question."""

    method: Method
    started: Started
    binding: Streaming
    streams: Streams
    deadlines: RequestDeadlines
    connections: Connections
    experimental_thread_pool: Pool

    def __call__(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """Yield the serialized responses."""
        method, started = self.method, self.started
        self.connections.shown(context.peer(), started.access)
        error: RpcError | None = None
        fault: int | None = None
        received = sent = 0
        try:
            intervention = method.admit(started)
            if intervention is not None:
                fault = intervention.number
                intervention.carry_out(lambda: Response(200, b""))
            with self.streams.counted(started.access):
                data = self.deadlines.first(requests, context)
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

_CONNECTIONS = 1024
"""Most connections, if the limit of open files allows them. A program has one or a few."""

_IDLE_SECONDS = 600
"""A connection without calls is closed after so long, as one through the proxy. Clients connect again."""


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
        self._deadlines = RequestDeadlines(timeouts.body)
        self._connections = Connections(connections_for(most=_CONNECTIONS, one_of=2))
        pools = Pools()
        self._server = grpc.server(
            pools.owner,
            handlers=[
                _Methods(
                    services,
                    bindings,
                    surroundings,
                    pools,
                    streams=self._streams,
                    deadlines=self._deadlines,
                    connections=self._connections,
                )
            ],
            options=[
                # Without it another program could share the port, and receive calls with the token.
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", MAX_DOCUMENT),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_allowed_incoming_connections", self._connections.most),
                ("grpc.server_handshake_timeout_ms", round(timeouts.first_byte * 1000)),
                ("grpc.max_connection_idle_ms", _IDLE_SECONDS * 1000),
            ],
        )
        try:
            self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError:
            if port == 0:
                raise
            log.info("The last gRPC port, %d, is in use: using another port", port)
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        self._connections.start(self.port)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Accept no more calls, end streams, and let other running calls finish for a few seconds."""
        self._streams.stopping.set()
        self._server.stop(self._timeouts.calls_end).wait()
        self._deadlines.stop()
        self._connections.stop()


class _Methods(grpc.GenericRpcHandler):
    """Chooses the handler and the thread of a call, in gRPC's own thread: nothing here waits."""

    def __init__(
        self,
        services: Sequence[str],
        bindings: Mapping[str, GrpcBinding],
        surroundings: Surroundings,
        pools: Pools,
        *,
        streams: Streams,
        deadlines: RequestDeadlines,
        connections: Connections,
    ) -> None:
        self._bindings = bindings
        self._surroundings = surroundings
        self._pools = pools
        self._streams = streams
        self._deadlines = deadlines
        self._connections = connections
        self._beta_operations = BetaOperations()
        self._requests = {
            method.name: method.request for service in services for method in descriptors.methods(service)
        }

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of a call, or None if even refusals have to wait: gRPC then refuses it."""
        given = handler_call_details.method.strip("/").replace("/", ".")
        is_beta = given.startswith(BETA)
        name = given.replace(BETA, f"{descriptors.VERTEX_AI}.", 1) if is_beta else given
        binding = self._bindings.get(name)
        if binding is None:
            return self._refusing(unimplemented(given, self._surroundings.host_of))
        method = Method(
            name=name,
            request=descriptors.message_class(self._requests[name]),
            surroundings=self._surroundings,
        )
        started = method.start(handler_call_details.invocation_metadata)
        if isinstance(started, Refusal):
            return self._refusing(started)
        pool = self._pools.of(started.access)
        if pool.is_full:
            message = (
                f"{pool.share.noun} have {pool.share.most} calls open, which is the most. End some and retry."
            )
            error = RpcError("RESOURCE_EXHAUSTED", message)
            return self._refusing(Refusal(method=method, started=started, error=error))
        if isinstance(binding, Streaming):
            streamed = StreamCall(
                method=method,
                started=started,
                binding=binding,
                streams=self._streams,
                deadlines=self._deadlines,
                connections=self._connections,
                experimental_thread_pool=pool,
            )
            return grpc.stream_stream_rpc_method_handler(streamed)
        call = Call(
            method=method,
            started=started,
            binding=binding,
            is_beta=is_beta,
            beta_operations=self._beta_operations,
            deadlines=self._deadlines,
            connections=self._connections,
            experimental_thread_pool=pool,
        )
        return grpc.stream_unary_rpc_method_handler(call)

    def _refusing(self, refuse: Callable[..., NoReturn]) -> grpc.RpcMethodHandler[Any, Any] | None:
        pool = self._pools.unproven
        if pool.is_full:
            return None
        return grpc.stream_stream_rpc_method_handler(_Refusing(refuse, experimental_thread_pool=pool))


@dataclass(frozen=True)
class _Refusing:
    """A handler of any kind of call, which waits for no request."""

    refuse: Callable[..., NoReturn]
    experimental_thread_pool: Pool

    def __call__(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> NoReturn:
        self.refuse(requests, context)
