"""The connections of the dashboard, by the same rule as the emulator's.

Everybody on this machine can connect, also users and programs without the token. So a connection has to send
its request in time, and if no more fit, the one that has waited longest of those that never showed the token
is closed. Connections of the user's browser stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_emulator import connections_for

MOST = 256
"""Connections at a time, as for the emulator's server. A browser opens six."""

_FILES = 4
"""Files for each connection: a request reads from the emulator, and as many may wait to be accepted."""


def most_connections() -> int:
    """Return the number of connections for this process, by its limit of open files."""
    return connections_for(most=MOST, one_of=_FILES)


class Connections:
    """The open connections of one dashboard. Only the thread of its server uses them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: dict[tuple[str, int], _Open] = {}

    def add(self, client: tuple[str, int], close: Callable[[], None]) -> bool:
        """Add a connection, and close another one if no more fit. Return False if none can be closed."""
        if len(self._open) >= self.most:
            oldest = next((each for each in self._open.items() if not each[1].is_proven), None)
            if oldest is None:
                return False
            del self._open[oldest[0]]
            oldest[1].close()
        self._open[client] = _Open(close)
        return True

    def remove(self, client: tuple[str, int]) -> None:
        """Remove a connection, if it is still in the table."""
        self._open.pop(client, None)

    def prove(self, client: tuple[str, int] | None) -> None:
        """Record that the client with this address has shown the token."""
        if client is not None and (found := self._open.get(client)) is not None:
            found.is_proven = True


@dataclass(eq=False)
class _Open:
    """A connection in the order in which they were opened, and whether it has shown the token."""

    close: Callable[[], None]
    is_proven: bool = False


def protocol(connections: Connections, timeouts: Timeouts = ORDINARY) -> type[asyncio.Protocol]:
    """Return the protocol of connections for uvicorn, which makes one object for each of them."""

    class Bounded(_Bounded):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._table, self._timeouts = connections, timeouts

    return Bounded


class _Bounded(H11Protocol):
    """HTTP/1.1 with a place in the table, and a deadline for each request."""

    _table: Connections
    _timeouts: Timeouts
    _deadline: asyncio.TimerHandle | None = None
    _in_time: bool = False
    """True while the deadline belongs to a request whose first byte has come."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        client = cast("tuple[str, int]", self.client)
        if self._table.add(client, transport.abort):
            self._wait(self._timeouts.dashboard_first_byte)
            return
        text = f"All {self._table.most} connections of the dashboard are in use. Close pages and retry.\n"
        head = "HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: text/plain\r\n"
        transport.write(f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode())
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        if self.client is not None:
            self._table.remove(self.client)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        state = self.conn.their_state
        is_partial = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        if not is_partial:
            self._wait(None)  # a whole request was read; uvicorn closes connections that send no next one
        elif not self._in_time:
            self._wait(self._timeouts.dashboard_request)
            self._in_time = True

    def _wait(self, seconds: float | None) -> None:
        """Set the deadline of the connection, instead of an earlier one; None means no deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._in_time = False
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
