"""The gRPC server on 127.0.0.1, which calls the same functions as the HTTP server.

Clients send the emulator's token as `authorization: Bearer TOKEN`. The transport is plain HTTP/2; programs
that insist on TLS come through the emulator's proxy.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from vertex_emulator.grpc_server.calls import BETA, BetaOperations, Call, Method, Surroundings, unimplemented
from vertex_emulator.grpc_server.streams import StreamCall, Streams
from vertex_emulator.http.messages import MAX_DOCUMENT
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import GrpcBinding, Streaming

log = logging.getLogger(__name__)

_THREADS = 32
_MAX_CALLS = 256
_GRACE_SECONDS = 5.0


class GrpcServer:
    """A server of the bound methods. The rest of the `services` answers UNIMPLEMENTED by name."""

    def __init__(
        self,
        services: Sequence[str],
        bindings: Mapping[str, GrpcBinding],
        surroundings: Surroundings,
        *,
        port: int = 0,
    ) -> None:
        """Open the port, or any port if it is taken. Raises `RuntimeError` if none can be opened."""
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
        self._server.stop(_GRACE_SECONDS).wait()


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
