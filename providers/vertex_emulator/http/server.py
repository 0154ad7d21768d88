"""The HTTP server on 127.0.0.1, with one thread for each connection and a limit on connections."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, cast

from vertex_emulator.http import auth
from vertex_emulator.http.connection import Connection, Faults, Limits
from vertex_emulator.http.messages import HttpError, Router
from vertex_emulator.http.request_log import RequestLog

log = logging.getLogger(__name__)


class EmulatorServer(ThreadingHTTPServer):
    """The server. It calls `on_request` for every authenticated request.

    `storage_router` has the routes for the storage secret and signed URLs, `metadata_router` those for the
    metadata secret. `faults` are the faults that tests inject.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        *,
        authenticator: auth.Authenticator,
        router: Router,
        requests: RequestLog,
        data_dir: Path,
        on_request: Callable[[], None] = lambda: None,
        faults: Faults | None = None,
        storage_router: Router | None = None,
        metadata_router: Router | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.authenticator = authenticator
        self.router = router
        self._storage_router = storage_router or router
        self._metadata_router = metadata_router or router
        self.limits = Limits() if limits is None else limits
        self.requests = requests
        self.data_dir = data_dir
        self.on_request = on_request
        self.faults = faults
        self.stopping = False
        self._serving = False
        self._state = threading.Condition()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._active = 0
        super().__init__(("127.0.0.1", port), Connection)

    def server_bind(self) -> None:
        # HTTPServer.server_bind looks up the host's name, which can take seconds if DNS is slow.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def router_of(self, authenticated: auth.AuthenticatedRequest) -> Router:
        """Return the router for an authenticated request, which depends on the secret that it carried."""
        if authenticated.storage_only:
            return self._storage_router
        return self._metadata_router if authenticated.metadata_only else self.router

    def serve(self) -> None:
        """Serve until `stop`."""
        self._serving = True
        self.serve_forever(poll_interval=0.1)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self._serve_connection, args=(request, client_address), name="connection", daemon=True
        )
        with self._state:
            full = len(self._connections) >= self.limits.connections
            if not full:
                self._connections[request] = thread
        if full:
            self._refuse_connection(request)
            return
        try:
            thread.start()
        except RuntimeError:  # a program has used up the user's limit of processes and threads
            log.error("No thread can be started. A connection was closed without a response.")
            with self._state:
                self._connections.pop(request)
            self.shutdown_request(request)

    def _serve_connection(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            pass  # The client closed the connection.
        except Exception:
            log.exception("A connection ended with an error")
        finally:
            self.shutdown_request(request)
            with self._state:
                self._connections.pop(request, None)
                self._state.notify_all()

    def _refuse_connection(self, request: socket.socket) -> None:
        most = self.limits.connections
        error = HttpError(503, "", f"More than {most} connections are open. Close some and retry.")
        body = cast(bytes, error.response().body)
        head = (
            f"HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            request.settimeout(1)
            request.sendall(head.encode() + body)
        except OSError:
            log.info("A client closed its connection before it was rejected: too many connections are open")
        self.shutdown_request(request)

    def request_began(self) -> None:
        with self._state:
            self._active += 1

    def request_ended(self) -> None:
        with self._state:
            self._active -= 1
            self._state.notify_all()

    def stop(self, *, grace: float = 5.0) -> None:
        """Accept no more connections, let running requests finish for `grace` seconds, and close the rest."""
        self.stopping = True
        if self._serving:
            self.shutdown()
        self.server_close()
        with self._state:
            self._state.wait_for(lambda: self._active == 0, timeout=grace)
            connections = dict(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in connections.values():
            if thread is not threading.current_thread():
                thread.join(timeout=1.0)
