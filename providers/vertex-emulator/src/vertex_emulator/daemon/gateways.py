"""The ports of an emulator, and its gRPC server and proxy beside the HTTP server.

The ports of these two are taken at once, so that their addresses are known; their libraries load while the
emulator answers its first requests.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from vertex_emulator.kernel.database import Database
from vertex_emulator.server.http.open_connections import shut_down
from vertex_emulator.server.http.server import listen

if TYPE_CHECKING:
    from vertex_emulator.server.grpc_server.server import GrpcServer
    from vertex_emulator.server.proxy.server import ProxyServer

log = logging.getLogger(__name__)

_GRPC = "grpc port"
_PROXY = "proxy port"


class PortError(Exception):
    """The port cannot be opened; the message has the remedy."""


class Ports:
    """The ports that the emulator had last, so that programs that know them find it again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, name: str, port: int | None = None) -> socket.socket:
        """Listen at the port, or without one at the last port of that name if it is free, or else at any.

        Raises `PortError` for a port that cannot be opened.
        """
        if port is not None:
            try:
                return listen(port)
            except (OSError, OverflowError) as error:
                raise _port_error(port, error) from error
        last = self._last(name)
        listener = None
        if last:
            try:
                listener = listen(last)
            except OSError:
                log.info("The last %s, %s, is in use: using another port", name, last)
        listener = listener or listen(0)
        self.remember(name, listener.getsockname()[1])
        return listener

    def remember(self, name: str, port: int) -> None:
        """Record a port."""
        self._database.execute(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, str(port)),
        )

    def _last(self, name: str) -> int:
        row = self._database.row("SELECT value FROM settings WHERE name = ?", (name,))
        return 0 if row is None else int(row["value"])


class Gateways:
    """The two servers of one emulator. Safe for threads."""

    def __init__(self, ports: Ports) -> None:
        """Take the ports. Raises `OSError`."""
        self._ports = ports
        self._grpc_listener = ports.open(_GRPC)
        self._proxy_listener = ports.open(_PROXY)
        self._grpc: GrpcServer | None = None
        self._proxy: ProxyServer | None = None
        self._proxy_tried = threading.Event()
        self._grpc_tried = threading.Event()
        self._thread: threading.Thread | None = None
        self.reserved_grpc = _address(self._grpc_listener)
        self.reserved_proxy = _address(self._proxy_listener)

    @property
    def grpc_address(self) -> str | None:
        """The address of the gRPC server, which this waits for; None if it could not be started."""
        self._grpc_tried.wait()
        return None if self._grpc is None else self._grpc.address

    @property
    def proxy_address(self) -> str | None:
        """The address of the proxy, which this waits for; None if it could not be started."""
        self._proxy_tried.wait()
        return None if self._proxy is None else self.reserved_proxy

    def host_of(self, peer: str) -> str | None:
        """Return the host of Google that a client of the gRPC server called, if it came through the proxy."""
        return None if self._proxy is None else self._proxy.host_of(peer)

    def await_proxy(self) -> None:
        """Wait until the certificates are there, or cannot be made."""
        self._proxy_tried.wait()

    def start(
        self,
        *,
        grpc: Callable[[int], GrpcServer],
        proxy: Callable[[socket.socket], ProxyServer],
        moved: Callable[[], None],
    ) -> None:
        """Start both in the background. Call `moved` if gRPC does not get the port that was taken for it."""

        def run() -> None:
            self._start_proxy(proxy)
            self._start_grpc(grpc)
            if self.grpc_address != self.reserved_grpc:
                moved()

        self._thread = threading.Thread(target=run, name="gateways", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close both ports, and let running gRPC calls finish for a few seconds."""
        if self._thread is not None:
            self._thread.join()
        self._proxy_tried.set()
        self._grpc_tried.set()
        if self._proxy is not None:
            self._proxy.stop()
        if self._grpc is not None:
            self._grpc.stop()
        self._proxy_listener.close()
        self._grpc_listener.close()

    def _start_proxy(self, proxy: Callable[[socket.socket], ProxyServer]) -> None:
        try:
            self._proxy = proxy(self._proxy_listener)
        except Exception:
            log.exception("The emulator has no proxy: it could not be started")
            self._proxy_listener.close()
        self._proxy_tried.set()

    def _start_grpc(self, grpc: Callable[[int], GrpcServer]) -> None:
        port = self._grpc_listener.getsockname()[1]
        try:
            # The library opens its port itself. The socket keeps it until then, without listening.
            shut_down(self._grpc_listener)
            self._grpc = grpc(port)
            self._ports.remember(_GRPC, self._grpc.port)
        except Exception:
            log.exception("The emulator does not answer gRPC: its server could not be started")
        self._grpc_listener.close()
        self._grpc_tried.set()


def _address(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def _port_error(port: int, error: Exception) -> PortError:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return PortError(
            f"Port {port} is in use by another program. Choose another with --port, or leave --port out to "
            "use a free one."
        )
    if isinstance(error, OSError) and error.errno == errno.EACCES:
        return PortError(f"Port {port} requires privileges. Choose one above 1023 with --port.")
    reason = str(error).rstrip(".")
    return PortError(f"Port {port} cannot be used: {reason}. Choose one from 1024 to 65535 with --port.")
