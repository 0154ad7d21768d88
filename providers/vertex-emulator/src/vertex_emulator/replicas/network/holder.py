"""The process that makes the network of a job, and opens connections into it (Linux).

The network is a bridge in a namespace of its own. Each replica has a namespace with one interface on that
bridge. There is no way out of it except for the listeners, which are opened in the namespaces and handed to
the supervisor. The namespaces live as long as a descriptor or process in them: nothing is left of them when
the supervisor and its children are killed.

Afterwards the process waits at a Unix socket in the job's folder. It answers a request for a replica with
sockets of that replica's namespace, with which the caller connects to a port (`forwarding`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import NoReturn

from vertex_emulator.replicas.network.netlink import Netlink
from vertex_emulator.replicas.sandbox.linux import idmaps
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.replicas.sandbox.shim import keep_descriptors

LOOPBACK = "127.0.0.1"
_BRIDGE, _INTERFACE = "replicas", "eth0"
_MTU = 1460
"""The packet size of networks on Google Cloud."""
_BACKLOG = 128


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The network to make: the replicas' `names` and `ips` in their order, with `prefix` bits of network.

    Each replica gets listeners at the loopback `ports`. `path` leads to the Unix socket,
    at which a client has `request_seconds` to send its request.
    """

    names: Sequence[str]
    ips: Sequence[str]
    gateway: str
    prefix: int
    ports: Sequence[int]
    sandbox: Sandbox
    path: Path
    request_seconds: float


@dataclass(frozen=True, kw_only=True)
class _Replica:
    ip: str
    namespace: int


def hold(channel: int, wanted: Wanted, parent: int) -> NoReturn:
    """Make the network, send it through `channel`, and answer requests: the life of a forked process."""
    try:
        reset_signals()
        (channel,) = keep_descriptors(channel)
        die_with(parent)
        with socket.socket(fileno=channel) as given:
            try:
                replicas = _make(given, wanted)
                die_with(parent)  # a change of rights may have undone it
                listener = _listen(wanted.path)
            except OSError as error:
                _send(given, {"error": str(error)}, [])
                os._exit(1)
            _send(given, {}, [])
        _serve(listener, replicas, request_seconds=wanted.request_seconds)
    finally:
        os._exit(1)


def reset_signals() -> None:
    """Undo the supervisor's handling of signals, in a fork of it."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def die_with(parent: int) -> None:
    """End this process when its parent ends."""
    ns.die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def _make(given: socket.socket, wanted: Wanted) -> Mapping[str, _Replica]:
    """Make all namespaces. Send the users' first, if any, then each replica's with its listeners."""
    owned = _leave(wanted.sandbox)
    users = _descriptor("user") if owned else None
    _send(given, {}, [] if users is None else [users])
    _descriptor("net")  # stays open: the bridge lives as long as this process
    with Netlink() as outer:
        outer.start("lo")
        outer.add_bridge(_BRIDGE, mtu=_MTU)
        outer.add_address(_BRIDGE, IPv4Interface(f"{wanted.gateway}/{wanted.prefix}"))
        _refuse_other_traffic()
        return {
            name: _Replica(ip=ip, namespace=_add_replica(given, wanted, outer, number))
            for number, (name, ip) in enumerate(zip(wanted.names, wanted.ips, strict=True))
        }


def _leave(sandbox: Sandbox) -> bool:
    """Enter a new network namespace; return whether a new user namespace owns it."""
    if sandbox.host_id is None:
        own = os.geteuid(), os.getegid()
        ns.unshare(ns.CLONE_NEWUSER | ns.CLONE_NEWNET)
        ns.map_own_ids(*own)
        return True
    if sandbox.user:
        idmaps.unshare_with(ns.CLONE_NEWNET, sandbox.host_id)
        return True
    ns.unshare(ns.CLONE_NEWNET)
    return False


def _refuse_other_traffic() -> None:
    """Answer packets to other networks at once, instead of dropping them.

    Replicas have a route for them: programs find their own address by asking for the way to another network.
    """
    _set("ipv4/ip_forward", "1")
    _set("ipv4/icmp_ratelimit", "0")


def _add_replica(given: socket.socket, wanted: Wanted, outer: Netlink, number: int) -> int:
    """Make the namespace of a replica, send it and its listeners, and return its descriptor."""
    ns.unshare(ns.CLONE_NEWNET)
    _set("ipv6/conf/default/disable_ipv6", "1")  # only loopback has IPv6
    _set("ipv4/ip_unprivileged_port_start", "0")  # programs in containers may use port 80
    namespace = _descriptor("net")
    with Netlink() as inner, contextlib.ExitStack() as stack:
        inner.start("lo")
        outer.add_pair(f"replica{number}", bridge=_BRIDGE, peer=_INTERFACE, namespace=namespace, mtu=_MTU)
        inner.add_address(_INTERFACE, IPv4Interface(f"{wanted.ips[number]}/{wanted.prefix}"))
        inner.start(_INTERFACE)
        inner.add_default_route(_INTERFACE, wanted.gateway)
        listeners = [
            stack.enter_context(socket.create_server((LOOPBACK, port), backlog=_BACKLOG))
            for port in wanted.ports
        ]
        _send(given, {}, [namespace, *(each.fileno() for each in listeners)])
    return namespace


def _descriptor(kind: str) -> int:
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


def _set(name: str, value: str) -> None:
    with contextlib.suppress(OSError):  # a container shows its settings read-only
        Path("/proc/sys/net", name).write_text(value)


def _send(to: socket.socket, document: Mapping[str, object], descriptors: Sequence[int]) -> None:
    socket.send_fds(to, [json.dumps(document).encode()], descriptors)


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.chdir(path.parent)  # the path of a socket has at most 107 bytes
    path.unlink(missing_ok=True)
    listener.bind(path.name)
    listener.listen()
    return listener


def _serve(listener: socket.socket, replicas: Mapping[str, _Replica], *, request_seconds: float) -> NoReturn:
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.settimeout(request_seconds)
            _answer(connection, replicas.get(connection.recv(1024).decode(errors="replace")))


def _answer(connection: socket.socket, replica: _Replica | None) -> None:
    """Send the addresses of a replica in its own network, and a socket for each."""
    if replica is None:
        _send(connection, {"addresses": []}, [])
        return
    ns.join(replica.namespace, ns.CLONE_NEWNET)
    addresses = (LOOPBACK, replica.ip)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET)) for _ in addresses]
        _send(connection, {"addresses": addresses}, [each.fileno() for each in sockets])
