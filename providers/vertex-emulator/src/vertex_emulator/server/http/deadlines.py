"""The limits of a server, and the deadlines for what a client sends."""

from __future__ import annotations

import io
import socket
from dataclasses import dataclass
from typing import Any

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.server.http.secured import SecuredSocket


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A server's limits.

    `idle_seconds` is how long a connection that showed a secret is kept without a request. `connections` is
    the number of simultaneous connections, by default as many as the process may have.
    """

    timeouts: DaemonTimeouts = DAEMON
    idle_seconds: float = 120.0
    connections: int | None = None


class SocketReader(io.RawIOBase):
    """Reads a socket, with deadlines for the head of a request and for its body."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        self._timeouts = limits.timeouts
        self._deadline: float | None = None
        self._seconds = limits.timeouts.first_byte
        self._in_head = True
        self._quickly = isinstance(connection, SecuredSocket) and hasattr(socket, "TCP_QUICKACK")

    def await_request(self, *, proven: bool) -> None:
        """Wait for the first byte of a request, then until the deadline for the whole head."""
        self._seconds = self._limits.idle_seconds if proven else self._timeouts.first_byte
        self._deadline, self._in_head = None, True

    def await_body(self) -> None:
        """Wait for a body: each piece has a timeout."""
        self._seconds = self._timeouts.body
        self._deadline, self._in_head = None, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        seconds = self._seconds
        if self._deadline is not None:
            seconds = self._deadline - machine_clock.monotonic()
            if seconds <= 0:
                raise TimeoutError("the head of the request took too long")
        if self._connection.gettimeout() != seconds:  # the same one again would cost a system call
            self._connection.settimeout(seconds)
        size = self._connection.recv_into(buffer)
        if self._quickly and self._in_head:
            # urllib3 lets a connection through a proxy wait for this before it sends the body.
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        if self._in_head and self._deadline is None:
            self._deadline = machine_clock.monotonic() + self._timeouts.head
        return size
