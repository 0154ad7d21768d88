"""The addresses at which the replicas of a job listen, and how the supervisor keeps them.

By default all replicas use the machine's network. Each gets a loopback address, so that lists of hosts have
as many hosts as replicas, and a free port, claimed so that no other job of this machine gets the same one.
The ports lie outside the range from which the kernel picks ports for outgoing connections, so that none is
taken by chance between its release and the moment the program listens. The claim is a UDP socket on the same
number, held until the job ends: the programs use TCP, other supervisors see the claim, and the kernel
releases it when the supervisor dies. TCP is held until just before the program starts, because some
frameworks (TensorFlow) refuse a port on which any process listens, whatever the address.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Protocol

from vertex_emulator.replicas.sandbox.linux.network_namespace import NetworkNamespace

HOST = "127.0.0.1"
LOOPBACK = IPv4Network("127.0.0.0/8" if sys.platform == "linux" else f"{HOST}/32")
"""The addresses of replicas in this machine's network. Only Linux has all of them without set-up."""

SUBNET = IPv4Network("10.128.0.0/20")
"""The addresses in a network of a job's own: the first default network of Google Cloud. Every job has all."""

_FIRST, _LAST = 10_000, 65_000
_DEFAULT_EPHEMERAL = (32_768, 65_535)


class NoPortError(Exception):
    """No free port is left."""


@dataclass(frozen=True, kw_only=True)
class ReplicaAddress:
    """Where a replica listens: `host` and `port` are published, `ip` is the address of that host."""

    host: str
    port: int
    ip: str

    @property
    def published(self) -> str:
        """The address in CLUSTER_SPEC."""
        return f"{self.host}:{self.port}"


class Addresses(Protocol):
    """The addresses of a job's replicas, in their order, until `close`."""

    @property
    def addresses(self) -> Sequence[ReplicaAddress]:
        """The address of each replica."""

    @property
    def processes(self) -> Collection[int]:
        """The ids of the processes that serve them."""

    def namespace(self, index: int) -> NetworkNamespace | None:
        """Return the network namespace of a replica, or None for the machine's own."""

    def release(self, index: int) -> None:
        """Let a replica listen at its address, just before it starts."""

    def close(self) -> None:
        """Release all addresses."""


@dataclass(kw_only=True)
class Claim:
    """A claimed port; see the module."""

    port: int
    _udp: socket.socket = field(repr=False)
    _tcp: socket.socket = field(repr=False)

    def release(self) -> None:
        """Let the program listen on the port; the claim against other jobs stays."""
        self._tcp.close()

    def close(self) -> None:
        self._tcp.close()
        self._udp.close()


class LoopbackAddresses:
    """Loopback addresses, each with a claimed port. Raises `NoPortError`."""

    def __init__(self, count: int) -> None:
        self._claims = claim(count)
        self.addresses = tuple(_address(index, one.port) for index, one in enumerate(self._claims))
        self.processes: frozenset[int] = frozenset()

    def namespace(self, index: int) -> NetworkNamespace | None:  # noqa: ARG002 - part of `Addresses`
        return None

    def release(self, index: int) -> None:
        self._claims[index].release()

    def close(self) -> None:
        for one in self._claims:
            one.close()


def _address(index: int, port: int) -> ReplicaAddress:
    ip = str(LOOPBACK[index + 1]) if LOOPBACK.num_addresses > 1 else HOST
    return ReplicaAddress(host=ip, port=port, ip=ip)


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
    start = int.from_bytes(os.urandom(4), "big")
    for number in range(_LAST - _FIRST):
        port = _FIRST + (start + number) % (_LAST - _FIRST)
        if not low <= port <= high:
            yield port


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
            everywhere.bind(("", port))  # check that it is free on all addresses
        tcp.bind((HOST, port))
    except OSError:
        udp.close()
        tcp.close()
        return None
    return Claim(port=port, _udp=udp, _tcp=tcp)
