"""The proxy on 127.0.0.1: CONNECT to a host of an emulated service ends here, all others pass through.

Programs with Google's hosts compiled in, which no variable redirects, reach the emulator in this way. The
proxy asks for a secret, because it runs on a machine with other users, and connects to public addresses only.
"""

from __future__ import annotations

import base64
import hmac
import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import cast

from vertex_emulator.http.server import listen
from vertex_emulator.proxy import destinations
from vertex_emulator.proxy.authority import Authority
from vertex_emulator.proxy.destinations import RefusedError

log = logging.getLogger(__name__)

USER = "emulator"
"""The user name in the proxy's address; the secret is the password."""

_MAX_CONNECTIONS = 256
_HEAD_SECONDS = 10.0
_IDLE_SECONDS = 600.0
_BLOCK = 1 << 16


class ProxyServer:
    """The proxy at a port.

    `serve_http` answers HTTP/1.1 on a connection to a host until it ends; `grpc_address` returns the address
    of the gRPC server, or None.
    """

    def __init__(
        self,
        port: int,
        *,
        secret: str,
        authority: Authority,
        serve_http: Callable[[socket.socket, str], None],
        grpc_address: Callable[[], str | None],
    ) -> None:
        """Open the port, or any port if it is taken."""
        try:
            self._listener = listen(port)
        except OSError:
            self._listener = listen(0)
        self._secret = secret
        self._authority = authority
        self._serve_http = serve_http
        self._grpc_address = grpc_address
        self._slots = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def stop(self) -> None:
        """Close the port and all connections."""
        self._stopping = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                _shut_down(connection)
        self._thread.join(timeout=5)

    def _accept(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if not self._stopping:
                    log.error("The proxy cannot accept a connection, and waits: %s", error)
                    time.sleep(0.25)
                continue
            if not self._slots.acquire(blocking=False):
                _answer(connection, 503, f"All {_MAX_CONNECTIONS} connections are in use.")
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), name="proxied", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(_HEAD_SECONDS)
            self._proxy(connection)
        except RefusedError as refused:
            _answer(connection, refused.status, str(refused))
        except OSError as error:
            log.debug("A connection through the proxy ended: %s", error)
        except Exception:
            log.exception("A connection through the proxy failed")
        finally:
            connection.close()
            with self._lock:
                self._open.discard(connection)
            self._slots.release()

    def _proxy(self, connection: socket.socket) -> None:
        line, *fields = destinations.read_head(connection)
        method, _, rest = line.partition(" ")
        target, _, version = rest.rpartition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0"):
            raise RefusedError(400, "The request is not HTTP/1.1.")
        self._check_secret(_headers(fields))
        if method != "CONNECT":
            raise RefusedError(405, "The proxy knows CONNECT only. Set it for https, not for http.")
        host = destinations.parse(target)
        if destinations.is_emulated(host):
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self._end_here(connection, host)
            return
        try:
            other = destinations.connect(host)
        except OSError as error:
            raise RefusedError(502, f"{host} cannot be reached: {error.strerror or error}.") from error
        with other:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            pipe(connection, other)

    def _check_secret(self, headers: Mapping[str, str]) -> None:
        scheme, _, credentials = headers.get("proxy-authorization", "").partition(" ")
        expected = base64.b64encode(f"{USER}:{self._secret}".encode())
        if scheme.lower() != "basic" or not hmac.compare_digest(credentials.strip().encode(), expected):
            raise RefusedError(407, "The proxy needs the user and the secret of its address.")

    def _end_here(self, connection: socket.socket, host: str) -> None:
        with self._authority.context(host).wrap_socket(connection, server_side=True) as secured:
            with self._lock:
                self._open.add(secured)
            try:
                if secured.selected_alpn_protocol() == "h2":
                    self._pass_to_grpc(secured)
                else:
                    self._serve_http(secured, host)
            finally:
                with self._lock:
                    self._open.discard(secured)

    def _pass_to_grpc(self, secured: ssl.SSLSocket) -> None:
        address = self._grpc_address()
        if address is None:
            return
        host, _, port = address.partition(":")
        with socket.create_connection((host, int(port)), _HEAD_SECONDS) as other:
            other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pipe_secured(secured, other)


def pipe(one: socket.socket, two: socket.socket) -> None:
    """Pass bytes in both directions until both sides have ended, or nothing comes for a while."""
    for each in (one, two):
        each.settimeout(_IDLE_SECONDS)
    back = threading.Thread(target=_copy, args=(two, one), name="proxied back", daemon=True)
    back.start()
    _copy(one, two)
    back.join()


def pipe_secured(secured: ssl.SSLSocket, other: socket.socket) -> None:
    """Do the same for TLS, in one thread: OpenSSL allows no second thread at a connection."""
    for each in (secured, other):
        each.settimeout(_IDLE_SECONDS)
    with selectors.DefaultSelector() as selector:
        selector.register(secured, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, secured)
        while ready := selector.select(_IDLE_SECONDS):
            for key, _ in ready:
                source, target = cast("socket.socket", key.fileobj), key.data
                data = source.recv(_BLOCK)
                while source is secured and data and secured.pending():
                    data += secured.recv(secured.pending())
                if not data:
                    return
                target.sendall(data)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_BLOCK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        _shut_down(source)
        _shut_down(target)


def _headers(fields: list[str]) -> dict[str, str]:
    pairs = (field.partition(":") for field in fields)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    405: "Method Not Allowed",
    431: "Too Large",
    502: "Bad Gateway",
}


def _answer(connection: socket.socket, status: int, message: str) -> None:
    body = f"{message}\n".encode("utf-8", "replace")
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Refused')}"]
    if status == 407:
        lines = [
            "HTTP/1.1 407 Proxy Authentication Required",
            'Proxy-Authenticate: Basic realm="vertex-training emulator"',
        ]
    lines += ["Connection: close", "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}"]
    try:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    except OSError:
        return


def _shut_down(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
