"""The limits of a server, and the deadlines for what a client sends."""

from __future__ import annotations

import io
import socket
import time
from dataclasses import dataclass
from typing import Any

from vertex_emulator.http.secured import SecuredSocket


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A server's limits.

    They are seconds for the first byte of a request from a client that never showed a secret, and from one
    that did; for the rest of the head; and without progress of a body in either direction. `connections` is
    the number of simultaneous connections, by default as many as the process may have.
    """

    first_byte_seconds: float = 5.0
    idle_seconds: float = 120.0
    head_seconds: float = 20.0
    body_seconds: float = 60.0
    connections: int | None = None


class SocketReader(io.RawIOBase):
    """Reads a socket, with deadlines for the head of a request and for its body."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        self._deadline: float | None = None
        self._seconds = limits.first_byte_seconds
        self._in_head = True
        self._quickly = isinstance(connection, SecuredSocket) and hasattr(socket, "TCP_QUICKACK")

    def await_request(self, *, proven: bool) -> None:
        """Wait for the first byte of a request, then until the deadline for the whole head."""
        self._seconds = self._limits.idle_seconds if proven else self._limits.first_byte_seconds
        self._deadline, self._in_head = None, True

    def await_body(self) -> None:
        """Wait for a body: each piece has a timeout."""
        self._seconds = self._limits.body_seconds
        self._deadline, self._in_head = None, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        seconds = self._seconds
        if self._deadline is not None:
            seconds = self._deadline - time.monotonic()
            if seconds <= 0:
                raise TimeoutError("the head of the request took too long")
        if self._connection.gettimeout() != seconds:  # the same one again would cost a system call
            self._connection.settimeout(seconds)
        size = self._connection.recv_into(buffer)
        if self._quickly and self._in_head:
            # urllib3 lets a connection through a proxy wait for this before it sends the body.
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        if self._in_head and self._deadline is None:
            self._deadline = time.monotonic() + self._limits.head_seconds
        return size
