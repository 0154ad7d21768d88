"""The proxy on 127.0.0.1: CONNECT to a host of an emulated service ends here, all others pass through.

Programs with Google's hosts compiled in, which no variable redirects, reach the emulator in this way. The
proxy asks for a secret, because it runs on a machine with other users, and connects to public addresses only.
"""

from __future__ import annotations

import base64
import hmac
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.server.http.auth import Access
from vertex_emulator.server.http.open_connections import OpenConnection, OpenConnections, shut_down
from vertex_emulator.server.http.secured import SecuredSocket
from vertex_emulator.server.proxy import destinations
from vertex_emulator.server.proxy.authority import Authority
from vertex_emulator.server.proxy.first_call import FirstCall
from vertex_emulator.server.proxy.hosts import is_emulated
from vertex_emulator.server.proxy.pipes import pipe, pipe_secured
from vertex_emulator.server.proxy.tunnel_requests import RefusedError, parse, read_head
from vertex_emulator.server.proxy.variables import USER

log = logging.getLogger(__name__)

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class ProxyLimits:
    """The limits of a proxy. `idle_seconds` is how long a connection is kept without traffic."""

    timeouts: DaemonTimeouts = DAEMON
    connections: int = 256
    idle_seconds: float = 600.0


class ProxyServer:
    """The proxy at the port of `listener`.

    `secrets` has the access of each secret. Replicas have one of their own, so that they cannot use up the
    owner's connections. `serve_http` answers HTTP/1.1 on a connection to a host until it ends, within limits
    of its own; `grpc_address` returns the address of the gRPC server, or None. If all connections are in use,
    one that has not shown a secret is closed. Connections to hosts that `is_refused` end here too, and each
    request is refused.
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        secrets: Mapping[str, Access],
        authority: Authority,
        serve_http: Callable[[socket.socket, str], None],
        grpc_address: Callable[[], str | None],
        is_refused: Callable[[str], bool] = lambda _: False,
        connect: Callable[[str, Access], socket.socket] | None = None,
        limits: ProxyLimits | None = None,
    ) -> None:
        self._listener = listener
        self.port = int(listener.getsockname()[1])
        self._accesses = {
            base64.b64encode(f"{USER}:{secret}".encode()): access for secret, access in secrets.items()
        }
        self._authority = authority
        self._serve_http = serve_http
        self._grpc_address = grpc_address
        self._is_refused = is_refused
        self._limits = limits or ProxyLimits()
        self._timeouts = self._limits.timeouts
        self._connect = connect or partial(destinations.connect, seconds=self._timeouts.upstream)
        self.connections = OpenConnections(self._limits.connections)
        self._grpc_hosts: dict[str, str] = {}
        self._secured: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    def host_of(self, peer: str) -> str | None:
        """Return the host that a client of the gRPC server called through the proxy, by its address there."""
        return self._grpc_hosts.get(peer)

    def stop(self) -> None:
        """Close the port and all connections."""
        self._stopping = True
        shut_down(self._listener)
        self._listener.close()
        for each in self.connections.all():
            shut_down(each.socket)
        with self._lock:
            for secured in self._secured:
                shut_down(secured)
        self._thread.join(timeout=self._timeouts.threads_end)

    def _accept(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if not self._stopping:
                    log.error("The proxy cannot accept a connection, and waits: %s", error)
                    machine_clock.sleep(0.25)
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="proxied", daemon=True)
            if not self.connections.add(OpenConnection(connection, thread)):
                why = f"All {self.connections.most} connections are in use."
                _answer(connection, 503, why, seconds=self._timeouts.refusal)
                connection.close()
                continue
            try:
                thread.start()
            except RuntimeError:  # a program has used up the user's limit of processes and threads
                log.error("No thread can be started. A connection was closed without a response.")
                self.connections.remove(connection)
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._proxy(connection)
        except RefusedError as refused:
            _answer(connection, refused.status, str(refused), seconds=self._timeouts.refusal)
        except OSError as error:
            log.debug("A connection through the proxy ended: %s", error)
        except Exception:
            log.exception("A connection through the proxy failed")
        finally:
            self.connections.remove(connection)
            connection.close()

    def _proxy(self, connection: socket.socket) -> None:
        line, *fields = read_head(connection, seconds=self._timeouts.tunnel_head)
        method, _, rest = line.partition(" ")
        target, _, version = rest.rpartition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0"):
            raise RefusedError(400, "The request is not HTTP/1.1.")
        access = self._access(_headers(fields))
        place = self.connections.of(connection)
        if place is None:
            return  # it was closed for another connection
        place.idle = False
        if not self.connections.admit(place, access):
            raise RefusedError(
                503,
                f"Replicas have {self.connections.most_of_services} connections through the proxy, which is "
                "the most. Close some and retry.",
            )
        if method != "CONNECT":
            raise RefusedError(405, "The proxy knows CONNECT only. Set it for https, not for http.")
        host = parse(target)
        if is_emulated(host) or self._is_refused(host):
            connection.settimeout(self._timeouts.tunnel_head)
            connection.sendall(_ESTABLISHED)
            self._end_here(connection, host)
            return
        try:
            other = self._connect(host, access)
        except OSError as error:
            raise RefusedError(502, f"{host} cannot be reached: {error.strerror or error}.") from error
        with other:
            connection.settimeout(self._timeouts.tunnel_head)
            connection.sendall(_ESTABLISHED)
            connection.recv(1, socket.MSG_PEEK)  # with TLS the client begins, and has to do so in time
            if isinstance(other, ssl.SSLSocket):  # the caller's own proxy has TLS
                pipe_secured(other, connection, idle_seconds=self._limits.idle_seconds)
            else:
                pipe(connection, other, idle_seconds=self._limits.idle_seconds)

    def _access(self, headers: Mapping[str, str]) -> Access:
        """Return the access of the secret in the headers of a request. Raises `RefusedError` 407."""
        scheme, _, credentials = headers.get("proxy-authorization", "").partition(" ")
        given = credentials.strip().encode("utf-8", "replace")
        for expected, access in self._accesses.items():
            if scheme.lower() == "basic" and hmac.compare_digest(given, expected):
                return access
        raise RefusedError(
            407,
            "The proxy needs the user and the secret of its address. The emulator changes the secret "
            "when it starts: set the variables again with "
            '`eval "$(vertex-emulator env --proxy)"`.',
        )

    def _end_here(self, connection: socket.socket, host: str) -> None:
        # The new object owns the descriptor: `connection` can no longer be closed or shut down.
        context = self._authority.context(host)
        with SecuredSocket(connection, context) as secured:
            with self._lock:
                self._secured.add(secured)
            try:
                if self._stopping:
                    return
                secured.do_handshake()
                if secured.selected_alpn_protocol() == "h2":
                    self._pass_to_grpc(secured, host)
                else:
                    # It counts as the HTTP server's now, which knows whether it is idle.
                    self.connections.remove(connection)
                    self._serve_http(secured, host)
            finally:
                with self._lock:
                    self._secured.discard(secured)

    def _pass_to_grpc(self, secured: SecuredSocket, called: str) -> None:
        address = self._grpc_address()
        if address is None:
            return
        host, _, port = address.partition(":")
        with socket.create_connection((host, int(port)), self._timeouts.tunnel_head) as other:
            other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = f"ipv4:127.0.0.1:{other.getsockname()[1]}"
            self._grpc_hosts[peer] = called
            first = FirstCall(seconds=self._timeouts.tunnel_head)
            try:
                pipe_secured(secured, other, idle_seconds=self._limits.idle_seconds, first=first)
            finally:
                del self._grpc_hosts[peer]


def _headers(fields: list[str]) -> dict[str, str]:
    pairs = (field.partition(":") for field in fields)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    405: "Method Not Allowed",
    431: "Too Large",
    502: "Bad Gateway",
    503: "Busy",
}


def _answer(connection: socket.socket, status: int, message: str, *, seconds: float) -> None:
    body = f"{message}\n".encode("utf-8", "replace")
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Refused')}"]
    if status == 407:
        lines = [
            "HTTP/1.1 407 Proxy Authentication Required",
            'Proxy-Authenticate: Basic realm="vertex-training emulator"',
        ]
    lines += ["Connection: close", "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}"]
    try:
        connection.settimeout(seconds)
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return
