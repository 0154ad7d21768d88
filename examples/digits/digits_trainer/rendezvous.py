"""How the trainers of one job find each other, and keep others out.

The chief listens at its own address; the workers connect to it and identify themselves. Anybody who can reach
a port can connect to it: a connection that does not identify itself is closed, and delays no member.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import selectors
import socket
import time
from dataclasses import dataclass

from .errors import PeerError
from .wire import Kind, Peer, header, read_exactly

log = logging.getLogger(__name__)

DIGEST = 32
"""Length in bytes of the digests of job and arguments: SHA-256."""

MAX_STRANGERS = 64
"""Connections that may be open at the same time without having identified themselves."""


@dataclass(frozen=True)
class Membership:
    """The facts that make a process a member of the group of trainers."""

    rank: int
    addresses: tuple[str, ...]
    """``host:port`` of all trainers, by rank."""
    job: bytes
    """Digest of facts that only this job's replicas share."""
    arguments: bytes
    """Digest of the arguments that all trainers must share."""

    def name(self, rank: int) -> str:
        """Return ``workerpool1-0 (10.0.0.7:2222)``: the name in Vertex AI's log entries, and the address."""
        place = f"workerpool1-{rank - 1}" if rank else "workerpool0-0"
        return f"{place} ({self.addresses[rank]})"

    def hello(self, rank: int) -> bytes:
        """Return the first message of the worker with this rank."""
        return header(Kind.HELLO, rank=rank, step=0, length=2 * DIGEST) + self.job + self.arguments

    def welcome(self) -> bytes:
        """Return the chief's answer."""
        return header(Kind.WELCOME, rank=0, step=0, length=DIGEST) + self.job


def accept_workers(member: Membership, *, host: str, port: int, timeout: float) -> list[Peer]:
    """Return the connections to all workers, by rank, once every one of them has arrived.

    Raises PeerError if the port is taken, after `timeout` seconds with the names of missing workers, and at
    once if a worker that had arrived is gone again.
    """
    with listen(host, port) as listener, selectors.DefaultSelector() as selector:
        entrance = _Entrance(member, listener, selector, timeout)
        try:
            return entrance.wait_for_all()
        except BaseException:
            for peer in entrance.peers.values():
                peer.connection.close()
            raise
        finally:
            for stranger in entrance.strangers:
                stranger.close()


def connect_to_chief(member: Membership, *, host: str, port: int, timeout: float) -> Peer:
    """Return the connection to the chief, once all workers have arrived.

    Tries again until `timeout` seconds are over: replicas start in any order, and a name may resolve only
    when its replica runs. Then raises PeerError with the address and the last error.
    """
    deadline = time.monotonic() + timeout
    pause = 0.02
    while True:
        try:
            connection = _greet(member, (host, port), timeout=max(deadline - time.monotonic(), 0.01))
            break
        except OSError as error:
            if time.monotonic() + pause >= deadline:
                raise PeerError(
                    f"{member.name(0)} did not answer within {timeout:g} s: {error.strerror or error}. "
                    "Its own log says why; --timeout sets the time."
                ) from error
        time.sleep(pause)
        pause = min(pause * 1.5, 1.0)
    connection.settimeout(timeout)
    peer = Peer(connection, rank=0, name=member.name(0))
    try:
        peer.receive(Kind.READY, step=0, into=memoryview(b""))
    except BaseException:
        connection.close()
        raise
    return peer


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, at the loopback address if `host` is one, else on all interfaces.

    On Vertex AI the host's name may belong to a service in front of the machine, to which a socket cannot be
    bound. Raises PeerError if the port is taken.
    """
    address = loopback_address(host)
    try:
        if address is not None:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return socket.create_server((address, port), family=family)
        if socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server(("", port))
    except OSError as error:
        raise PeerError(
            f"The chief cannot listen at {host}:{port}: {os.strerror(error.errno or 0)}. "
            "Does another program use that port?"
        ) from error


def loopback_address(host: str) -> str | None:
    """Return the address of a name if it reaches this machine only, or None."""
    try:
        found = sorted({str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except OSError:
        return None
    return found[0] if found and all(ipaddress.ip_address(each).is_loopback for each in found) else None


class _Entrance:
    """The chief's side while the workers arrive."""

    def __init__(
        self, member: Membership, listener: socket.socket, selector: selectors.BaseSelector, timeout: float
    ) -> None:
        self.member = member
        self.listener = listener
        self.selector = selector
        self.timeout = timeout
        self.peers: dict[int, Peer] = {}
        self.strangers: dict[socket.socket, bytearray] = {}
        """Bytes received so far from connections that have not identified themselves yet."""
        self.awaited = {member.hello(rank): rank for rank in range(1, len(member.addresses))}

    def wait_for_all(self) -> list[Peer]:
        deadline = time.monotonic() + self.timeout
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, self._let_in)
        while self.awaited:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                missing = ", ".join(self.member.name(rank) for rank in self.awaited.values())
                raise PeerError(
                    f"Within {self.timeout:g} s these workers did not come: {missing}. "
                    "Their own logs say why; --timeout sets the time."
                )
            for key, _ in self.selector.select(remaining):
                if isinstance(key.fileobj, socket.socket) and key.fileobj.fileno() >= 0:
                    key.data(key.fileobj)
        peers = [self.peers[rank] for rank in sorted(self.peers)]
        for peer in peers:
            peer.send(Kind.READY, rank=0, step=0)
        return peers

    def _let_in(self, listener: socket.socket) -> None:
        try:
            stranger, _ = listener.accept()
        except OSError:  # it has already gone again
            return
        if len(self.strangers) >= MAX_STRANGERS:
            self._turn_away(next(iter(self.strangers)))
        stranger.setblocking(False)
        self.strangers[stranger] = bytearray()
        self.selector.register(stranger, selectors.EVENT_READ, self._hear)

    def _hear(self, stranger: socket.socket) -> None:
        said = self.strangers[stranger]
        length = len(self.member.hello(0))
        try:
            part = stranger.recv(length - len(said))
        except BlockingIOError:
            return
        except OSError:
            part = b""
        said += part
        if part and len(said) < length:
            return
        rank = self.awaited.pop(bytes(said), None)
        if rank is not None:
            self._welcome(stranger, rank)
            return
        for rank in self.awaited.values():
            if said[:-DIGEST] == self.member.hello(rank)[:-DIGEST]:
                raise PeerError(
                    f"{self.member.name(rank)} was started with other arguments than the chief. "
                    "Give the first two worker pools the same arguments."
                )
        self._turn_away(stranger)

    def _welcome(self, worker: socket.socket, rank: int) -> None:
        del self.strangers[worker]
        worker.settimeout(self.timeout)
        worker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = self.peers[rank] = Peer(worker, rank=rank, name=self.member.name(rank))
        self.selector.modify(worker, selectors.EVENT_READ, lambda _: self._left(peer))
        try:
            worker.sendall(self.member.welcome())
        except OSError:
            self._left(peer)

    def _left(self, peer: Peer) -> None:
        # A worker says nothing before READY, so when there is something to read it is the end.
        raise PeerError(f"{peer.name} left before the training began. Its own log says why.")

    def _turn_away(self, stranger: socket.socket) -> None:
        log.info("turned away a connection that does not belong to this job")
        self.selector.unregister(stranger)
        del self.strangers[stranger]
        stranger.close()


def _greet(member: Membership, address: tuple[str, int], *, timeout: float) -> socket.socket:
    """Connect to a chief that knows this job. Raises OSError."""
    connection = socket.create_connection(address, timeout=min(timeout, 5.0))
    try:
        if connection.getsockname() == connection.getpeername():
            # On one machine TCP may connect a port to itself while nobody listens there yet.
            raise ConnectionRefusedError("nobody listens there")
        connection.settimeout(timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(member.hello(member.rank))
        answer = bytearray(len(member.welcome()))
        read_exactly(connection, memoryview(answer))
        if answer != member.welcome():
            raise ConnectionRefusedError("whoever listens there does not belong to this job")
    except BaseException:
        connection.close()
        raise
    return connection
