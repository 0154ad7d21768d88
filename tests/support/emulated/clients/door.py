"""Connections through the proxy of an emulator."""

from __future__ import annotations

import base64
import contextlib
import functools
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from vertex_emulator.daemon.daemon import Daemon


@dataclass(frozen=True)
class Door:
    """The proxy of an emulator, with its secret."""

    daemon: Daemon

    def __post_init__(self) -> None:
        """Wait for the proxy, which makes the certificates."""
        assert self.daemon.proxy_url is not None

    @property
    def url(self) -> str:
        url = self.daemon.proxy_url
        assert url is not None
        return url

    @property
    def secret(self) -> str:
        return str(urlsplit(self.url).password)

    @property
    def certificates(self) -> Path:
        return self.daemon.folder.root / "proxy" / "certificates"

    def knock(self, head: str) -> bytes:
        """Send a head, whose `CREDENTIALS` are replaced. Return the whole answer."""
        with self.open() as connection:
            connection.sendall(self.with_credentials(head).encode("latin-1"))
            answer = b""
            with contextlib.suppress(ConnectionResetError):  # it did not read everything
                while part := connection.recv(65536):
                    answer += part
            return answer

    def open(self) -> socket.socket:
        port = urlsplit(self.url).port
        assert port is not None
        return socket.create_connection(("127.0.0.1", port), timeout=60)

    def with_credentials(self, head: str) -> str:
        word = base64.b64encode(f"emulator:{self.secret}".encode()).decode()
        return head.replace("CREDENTIALS", f"Proxy-Authorization: Basic {word}")

    def connect(self, host: str) -> socket.socket:
        """Return a connection on which the proxy has agreed to a tunnel."""
        connection = self.open()
        head = self.with_credentials(f"CONNECT {host}:443 HTTP/1.1\r\nCREDENTIALS\r\n\r\n")
        connection.sendall(head.encode())
        answer = read_head(connection)
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        return connection

    def secured(self, host: str, protocols: tuple[str, ...] = ("http/1.1",)) -> ssl.SSLSocket:
        """Return a TLS connection to a host of Google, as a client has it."""
        context = _context(self.certificates / "bundle.pem", protocols)
        return context.wrap_socket(self.connect(host), server_hostname=host)

    def ask(self, host: str, request: str) -> bytes:
        """Send a request to a host of Google. Return the whole answer."""
        with self.secured(host) as connection:
            connection.sendall(request.replace("TOKEN", self.daemon.token).encode("latin-1"))
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer


def read_head(connection: socket.socket) -> bytes:
    """Return the head of an answer, and leave what follows it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = connection.recv(1)
        assert part, head
        head += part
    return head


@functools.lru_cache(maxsize=4)
def _context(bundle: Path, protocols: tuple[str, ...]) -> ssl.SSLContext:
    """Return the settings of a client's connections; to read the bundle takes 20 ms."""
    context = ssl.create_default_context(cafile=str(bundle))
    context.set_alpn_protocols(list(protocols))
    return context
