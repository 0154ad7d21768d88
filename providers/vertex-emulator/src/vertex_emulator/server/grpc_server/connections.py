"""The connections to the gRPC server, and which of them are closed so that others can be opened.

The library has a limit of connections and no rule for them. So this checks the sockets among the files of
this process. The HTTP server's rule holds: a connection that never showed a token is worth nothing,
replicas have a share, and connections of programs with the emulator's token stay.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from vertex_emulator.server.http.auth import Access
from vertex_emulator.server.http.open_connections import shut_down

_FILES = "/dev/fd"
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
"""The library listens at 127.0.0.1 by a socket of either family."""

_CHECK_SECONDS = 0.25
_BUSY_SECONDS = 0.02
"""The time between two checks if the last one closed connections."""


class Connections:
    """The connections to a port, of which the library opens at most `most`. Safe for threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._most_of_services = most * 3 // 4
        self._most_of_all = most * 7 // 8
        self._known = 2 * most
        self._lock = threading.Lock()
        self._access: dict[int, Access] = {}
        self._seen: dict[int, None] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, port: int) -> None:
        """Watch the connections to the port until `stop`."""
        self._thread = threading.Thread(
            target=self._watch, args=(port,), name="grpc connections", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def shown(self, peer: str, access: Access) -> None:
        """Record what a call on the connection of a client may do; `peer` is `ipv4:127.0.0.1:PORT`."""
        port = peer.rpartition(":")[2]
        with self._lock:
            if port.isdigit() and self._access.get(int(port), Access.NONE) < access:
                self._access[int(port)] = access

    def _watch(self, port: int) -> None:
        closed = False
        while not self._stopping.wait(_BUSY_SECONDS if closed else _CHECK_SECONDS):
            closed = False
            # To check each file takes much longer than to count them.
            if len(self._access) > self._known or len(_files()) > self._most_of_services:
                with _sockets(port) as found:
                    closed = self._close_some(found)

    def _close_some(self, found: dict[int, socket.socket]) -> bool:
        """Close the oldest connections of each kind beyond its share. Return whether there were any."""
        with self._lock:
            known = {port: access for port, access in self._access.items() if port in found}
            self._access = dict(known)
        order = [port for port in self._seen if port in found]
        order += [port for port in found if port not in self._seen]
        self._seen = dict.fromkeys(order)
        services = [port for port in order if known.get(port) is Access.SERVICES]
        unproven = [port for port in order if port not in known]
        surplus = services[: max(0, len(services) - self._most_of_services)]
        surplus += unproven[: max(0, len(order) - len(surplus) - self._most_of_all)]
        for port in surplus:
            shut_down(found[port])
        return bool(surplus)


def _files() -> list[int]:
    """Return the descriptors of the open files of this process."""
    with os.scandir(_FILES) as entries:
        return [int(each.name) for each in entries]


@contextmanager
def _sockets(port: int) -> Iterator[dict[int, socket.socket]]:
    """Yield duplicates of the accepted sockets of a port of 127.0.0.1, by the port of the client."""
    with ExitStack() as stack:
        found: dict[int, socket.socket] = {}
        for file in _files():
            with suppress(OSError):  # it was closed meanwhile, or is not connected
                if stat.S_ISSOCK(os.fstat(file).st_mode):
                    each = stack.enter_context(socket.socket(fileno=os.dup(file)))
                    if each.family in _FAMILIES and each.getsockname()[1] == port:
                        found[each.getpeername()[1]] = each
        yield found
