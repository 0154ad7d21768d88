"""The HTTP server on 127.0.0.1, with one thread for each connection and a limit on connections."""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from socketserver import TCPServer
from typing import Any, cast

from vertex_emulator.kernel import machine_clock
from vertex_emulator.server.http import auth
from vertex_emulator.server.http.connection import Connection, Faults, Gate
from vertex_emulator.server.http.deadlines import Limits
from vertex_emulator.server.http.messages import HttpError, Router
from vertex_emulator.server.http.open_connections import (
    OpenConnection,
    OpenConnections,
    most_connections,
    shut_down,
)
from vertex_emulator.server.http.request_log import RequestLog

log = logging.getLogger(__name__)

_BACKLOG = 128
_PAUSE_SECONDS = 0.25
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def listen(port: int) -> socket.socket:
    """Return a socket that listens at the port of 127.0.0.1; 0 means any. Raises OSError, OverflowError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class EmulatorServer(TCPServer):
    """The server at the port of `listener`. It calls `on_request` for every authenticated request.

    `storage_router` has the routes for the storage secret and signed URLs, `metadata_router` those for the
    metadata secret. `faults` are the faults that tests inject, and `gate` checks each call.
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        authenticator: auth.Authenticator,
        router: Router,
        requests: RequestLog,
        data_dir: Path,
        on_request: Callable[[], None] = lambda: None,
        faults: Faults | None = None,
        gate: Gate | None = None,
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
        self.gate = gate
        self.stopping = False
        self.pauses = 0
        self._serving = False
        self._state = threading.Condition()
        self._active = 0
        self.connections = OpenConnections(self.limits.connections or most_connections())
        super().__init__(listener.getsockname(), Connection, bind_and_activate=False)
        self.socket.close()  # the base class has made one of its own
        self.socket = listener
        self.server_port = int(listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def router_of(self, authenticated: auth.AuthenticatedRequest) -> Router:
        """Return the router for an authenticated request, which depends on the secret that it carried."""
        if authenticated.storage_only:
            return self._storage_router
        return self._metadata_router if authenticated.metadata_only else self.router

    def serve(self) -> None:
        """Serve until `stop`; do nothing after it."""
        with self._state:
            if self.stopping:
                return
            self._serving = True
        self.serve_forever(poll_interval=0.1)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Without a free descriptor, close another one and pause, or this would spin."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in _NO_DESCRIPTOR:
                if self.pauses == 0:
                    log.error("A connection cannot be accepted, and waits: %s", error.strerror)
                self.pauses += 1
                self.connections.make_room(seconds=_PAUSE_SECONDS)
            raise

    def process_request(self, request: Any, client_address: object) -> None:
        thread = threading.Thread(
            target=self._serve_connection, args=(request, client_address), name="connection", daemon=True
        )
        if not self.connections.add(OpenConnection(request, thread)):
            self._refuse_connection(request)
            return
        try:
            thread.start()
        except RuntimeError:  # a program has used up the user's limit of processes and threads
            log.error("No thread can be started. A connection was closed without a response.")
            self.connections.remove(request)
            self.shutdown_request(request)

    def serve_google_host(self, connection: socket.socket, host: str) -> None:
        """Answer the requests of a connection that its client made to a host of Google, in this thread."""
        place = OpenConnection(connection, threading.current_thread(), google_host=host)
        if not self.connections.add(place):
            self._refuse_connection(connection)
            return
        self._serve_connection(connection, ("127.0.0.1", 0))

    def _serve_connection(self, request: socket.socket, client_address: object) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            pass  # The client closed the connection.
        except Exception:
            log.exception("A connection ended with an error")
        finally:
            self.shutdown_request(request)
            self.connections.remove(request)

    def _refuse_connection(self, request: socket.socket) -> None:
        most = self.connections.most
        error = HttpError(503, "", f"All {most} connections are in use. Close some and retry.")
        body = cast(bytes, error.response().body)
        head = (
            f"HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            request.settimeout(self.limits.timeouts.refusal)
            request.sendall(head.encode() + body)
        except OSError:
            log.info("A client closed its connection before it was rejected: too many connections are open")
        self.shutdown_request(request)

    def place_of(self, connection: socket.socket) -> OpenConnection | None:
        """Return the entry of a connection, or None if it was closed for another one."""
        return self.connections.of(connection)

    def admit(self, place: OpenConnection, access: auth.Access) -> bool:
        """Record the access that a request showed. Return False if its kind has too many connections."""
        return self.connections.admit(place, access)

    def request_began(self) -> None:
        with self._state:
            self._active += 1

    def request_ended(self) -> None:
        with self._state:
            self._active -= 1
            self._state.notify_all()

    def stop(self) -> None:
        """Accept no more connections, let running requests finish for a while, and close the rest."""
        timeouts = self.limits.timeouts
        with self._state:
            self.stopping = True
            is_serving = self._serving
        if is_serving:
            shut_down(self.socket)  # wakes `serve_forever`, which would look for the end later
            self.shutdown()
        self.server_close()
        with self._state:
            self._state.wait_for(lambda: self._active == 0, timeout=timeouts.calls_end)
        connections = self.connections.all()
        for each in connections:
            shut_down(each.socket)
        until = machine_clock.monotonic() + timeouts.threads_end
        for each in connections:
            if each.thread is not threading.current_thread():
                each.thread.join(timeout=max(until - machine_clock.monotonic(), 0.0))
