"""One free loopback port for each replica, claimed so that no other job of this machine gets the same.

The ports lie outside the range from which the kernel picks ports for outgoing connections, so that none is
taken by chance between the moment it is released and the moment the program listens. The claim is a UDP
socket on the same number, held until the job ends: the programs speak TCP, other supervisors see it, and the
kernel takes it back when the supervisor dies. TCP is held until just before the program starts, because some
frameworks (TensorFlow) refuse a port on which anybody listens, whatever the address.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
_FIRST, _LAST = 10_000, 65_000
_DEFAULT_EPHEMERAL = (32_768, 65_535)


class NoPortError(Exception):
    """There is no free port left."""


@dataclass(kw_only=True)
class Claim:
    """A port that is ours; see the module."""

    port: int
    _udp: socket.socket = field(repr=False)
    _tcp: socket.socket = field(repr=False)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def release(self) -> None:
        """Let the program listen on the port; the claim against other jobs stays."""
        self._tcp.close()

    def close(self) -> None:
        self._tcp.close()
        self._udp.close()


def claim(count: int) -> list[Claim]:
    """Claim `count` ports. Raises `NoPortError`."""
    claims: list[Claim] = []
    for port in _candidates():
        if len(claims) == count:
            break
        if (taken := _take(port)) is not None:
            claims.append(taken)
    if len(claims) < count:
        for one in claims:
            one.close()
        raise NoPortError(
            f"{count} free ports are needed, one for each replica, and only {len(claims)} between {_FIRST} "
            f"and {_LAST} are free. End other jobs, or declare fewer replicas."
        )
    return claims


def _candidates() -> Iterator[int]:
    low, high = _ephemeral_range()
    ports = [port for port in range(_FIRST, _LAST) if not low <= port <= high]
    start = int.from_bytes(os.urandom(4), "big") % len(ports)
    yield from ports[start:]
    yield from ports[:start]


def _ephemeral_range() -> tuple[int, int]:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return _DEFAULT_EPHEMERAL
    wide = int(low) <= _FIRST and int(high) >= _LAST - 1
    return _DEFAULT_EPHEMERAL if wide else (int(low), int(high))


def _take(port: int) -> Claim | None:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        udp.bind((HOST, port))
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as everywhere:
            everywhere.bind(("", port))  # free on all addresses; never listens
        tcp.bind((HOST, port))
    except OSError:
        udp.close()
        tcp.close()
        return None
    return Claim(port=port, _udp=udp, _tcp=tcp)
