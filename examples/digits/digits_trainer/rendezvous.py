"""How the trainers of one job find each other, and keep others out.

The chief listens at its own address; the workers connect to it and say who they are. A port is open to
whoever can reach it: who does not say the right thing is turned away, and keeps no member waiting.
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
"""Connections that may be open at the same time without having said who they are."""


@dataclass(frozen=True)
class Membership:
    """What makes a process a member of the group of trainers."""

    rank: int
    addresses: tuple[str, ...]
    """``host:port`` of all trainers, by rank."""
    job: bytes
    """Digest of what only this job's replicas know alike."""
    arguments: bytes
    """Digest of the arguments that all trainers must share."""

    def name(self, rank: int) -> str:
        """``workerpool1-0 (10.0.0.7:2222)``: the name beside the log lines of Vertex AI, and the address."""
        place = f"workerpool1-{rank - 1}" if rank else "workerpool0-0"
        return f"{place} ({self.addresses[rank]})"

    def hello(self, rank: int) -> bytes:
        """The first thing that the worker of that rank says."""
        return header(Kind.HELLO, rank=rank, step=0, length=2 * DIGEST) + self.job + self.arguments

    def welcome(self) -> bytes:
        """The chief's answer."""
        return header(Kind.WELCOME, rank=0, step=0, length=DIGEST) + self.job


def accept_workers(member: Membership, *, host: str, port: int, timeout: float) -> list[Peer]:
    """The connections to all workers, by rank, once every one of them has come.

    Raises PeerError when the port is taken, after `timeout` seconds with the names of those that are
    missing, and at once when one that had come is gone again.
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
    """The connection to the chief, once all workers have come.

    Tries again until `timeout` seconds are over: replicas start in any order, and a name may resolve only
    when its replica runs. Then raises PeerError with the address and what went wrong last.
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
    """A listening socket: at the loopback address if `host` is one, else at all interfaces.

    On Vertex AI the host's name may belong to a service in front of the machine, which cannot be bound.
    Raises PeerError when the port is taken.
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
    """The address that a name stands for, if it reaches this machine only."""
    try:
        found = sorted({str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except OSError:
        return None
    return found[0] if found and all(ipaddress.ip_address(each).is_loopback for each in found) else None


class _Entrance:
    """The chief's side while the workers come."""

    def __init__(
        self, member: Membership, listener: socket.socket, selector: selectors.BaseSelector, timeout: float
    ) -> None:
        self.member = member
        self.listener = listener
        self.selector = selector
        self.timeout = timeout
        self.peers: dict[int, Peer] = {}
        self.strangers: dict[socket.socket, bytearray] = {}
        """What those have said so far who have not yet said who they are."""
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
    """A connection to a chief that knows this job. Raises OSError."""
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
