"""The request of a tunnel: its head, and the host that it names."""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address

from vertex_emulator.kernel import machine_clock

HTTPS = 443
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})*\.?")


class RefusedError(Exception):
    """The proxy does not connect there. `status` is the answer's status; the message has the reason."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def parse(target: str) -> str:
    """Return the host of a CONNECT request's target. Raises `RefusedError` for a port other than 443."""
    host, colon, port = target.rpartition(":")
    host = host.lower()
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise RefusedError(400, "The target of CONNECT must be HOST:PORT.")
    if int(port) != HTTPS:
        raise RefusedError(403, f"The proxy connects to port 443 only, not to {port}.")
    literal = host.removeprefix("[").removesuffix("]")
    if not _NAME.fullmatch(host) and not is_address(literal):
        raise RefusedError(400, "The target of CONNECT is not the name of a host.")
    return literal.rstrip(".")


def is_address(text: str) -> bool:
    """Return whether a text is an address of IPv4 or IPv6."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


_MAX_HEAD = 16 * 1024


def read_head(connection: socket.socket, *, seconds: float) -> list[str]:
    """Return the lines of a message's head, byte by byte, so that nothing after it is consumed.

    Raises `RefusedError`, and `TimeoutError` if the whole head takes longer than `seconds`.
    """
    until = machine_clock.monotonic() + seconds
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        left = until - machine_clock.monotonic()
        if left <= 0:
            raise TimeoutError("the head of the request took too long")
        connection.settimeout(left)
        byte = connection.recv(1)
        if not byte:
            raise ConnectionAbortedError("the connection was closed before its request was complete")
        head += byte
        if len(head) > _MAX_HEAD:
            raise RefusedError(431, "The head of the request is too long.")
    return head.decode("latin-1").split("\r\n")[:-2]
