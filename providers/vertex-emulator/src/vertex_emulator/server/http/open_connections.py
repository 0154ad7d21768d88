"""The open connections of the server, and which of them is closed to let another one in.

Everybody on this machine can connect, also users and programs without a secret. A connection that never
showed a secret is therefore worth nothing: if no more fit, the one that has waited longest is closed. After
those come idle connections of programs that have a lesser secret, such as replicas, and at last idle ones
with the emulator's token: libraries that open new clients all the time leave hundreds of them. Some
connections are reserved for clients with the token.
"""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.file_limit import connections_for
from vertex_emulator.server.http.auth import Access

_MOST = 256
_RESERVED = 8
"""One of so many connections is reserved for clients with the emulator's token."""
_REST_SECONDS = 1.0
"""A connection with the token that has been idle for less stays: its next request may be on the way."""


def most_connections() -> int:
    """Return the number of connections that a process can have, by its limit of open files.

    A request opens up to three files beside its connection.
    """
    return connections_for(most=_MOST, one_of=4)


@dataclass(eq=False)
class OpenConnection:
    """One connection. `access` is the best that it has shown; `since` is when it began to wait.

    `google_host` is the host of Google that the client means, if the connection came through the proxy.
    """

    socket: socket.socket
    thread: threading.Thread
    access: Access = Access.NONE
    google_host: str | None = None
    idle: bool = True
    since: float = field(default_factory=machine_clock.monotonic)

    def wait(self) -> None:
        """Record that it waits for a request. A new connection waits since it was opened."""
        if not self.idle:
            self.since, self.idle = machine_clock.monotonic(), True


class OpenConnections:
    """The table of open connections. Safe for threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._changed = threading.Condition()
        self._open: dict[socket.socket, OpenConnection] = {}

    @property
    def most_of_services(self) -> int:
        """The number of connections with a lesser secret than the emulator's token."""
        return self.most - self.most // _RESERVED

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: OpenConnection) -> bool:
        """Add a connection, and close another one if the table is full. Return False if none can be."""
        with self._changed:
            if len(self._open) >= self.most and not self._close_one():
                return False
            self._open[connection.socket] = connection
            return True

    def remove(self, connection: socket.socket) -> None:
        """Remove a connection, if it is still in the table."""
        with self._changed:
            self._open.pop(connection, None)
            self._changed.notify_all()

    def of(self, connection: socket.socket) -> OpenConnection | None:
        """Return the entry of a connection, or None if it was closed for another one."""
        return self._open.get(connection)

    def all(self) -> list[OpenConnection]:
        """Return all connections."""
        with self._changed:
            return list(self._open.values())

    def admit(self, connection: OpenConnection, access: Access) -> bool:
        """Record the access that a request showed. Return False if its kind has too many connections."""
        if access <= connection.access:
            return True
        with self._changed:
            if access is Access.SERVICES:
                used = sum(other.access is Access.SERVICES for other in self._open.values())
                if used >= self.most_of_services:
                    return False
            connection.access = access
            return True

    def make_room(self, *, seconds: float) -> None:
        """Close the connection that is worth least, and wait until any connection has ended."""
        with self._changed:
            self._close_one()
            self._changed.wait(seconds)

    def _close_one(self) -> bool:
        unproven = [each for each in self._open.values() if each.access is Access.NONE]
        lesser = [each for each in self._open.values() if each.access is Access.SERVICES and each.idle]
        rested = machine_clock.monotonic() - _REST_SECONDS
        resting = [each for each in self._open.values() if each.idle and each.since <= rested]
        if not (candidates := unproven or lesser or resting):
            return False
        closed = min(candidates, key=lambda each: each.since)
        del self._open[closed.socket]
        shut_down(closed.socket)
        return True


def shut_down(connection: socket.socket) -> None:
    """End a connection. Its thread notices that and closes it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended already
