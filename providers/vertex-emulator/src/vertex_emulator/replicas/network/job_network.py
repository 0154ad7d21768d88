"""A network of a job's own, as its supervisor sees it (Linux).

Replicas have the names, the port and the kind of address that they have on Vertex AI, and may listen on all
interfaces. They reach each other, and the emulator and its proxy on 127.0.0.1; no other job, no other port of
this machine, and other hosts through the proxy alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vertex_emulator.kernel.timeouts import SUPERVISOR, SupervisorTimeouts
from vertex_emulator.replicas.network.addresses import SUBNET, ReplicaAddress
from vertex_emulator.replicas.network.holder import Wanted, hold
from vertex_emulator.replicas.network.relay import Target, relay
from vertex_emulator.replicas.sandbox.linux.network_namespace import NetworkNamespace
from vertex_emulator.replicas.sandbox.program import run_and_exit
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PORT = 2222
"""The port of every replica on Vertex AI."""

_MOST = 1000  # a bridge has 1023 ports

RESOLVER = (
    "# Emulator: this network has no name server. Other hosts are reached through the proxy in https_proxy.\n"
    "options timeout:1 attempts:1\n"
)
"""The file /etc/resolv.conf of a replica."""


class NetworkError(Exception):
    """The network cannot be made; the message says why."""


class JobNetwork:
    """The network of one job, with a process that holds it and one that relays.

    `names` are the replicas' names, `hosts` their host names. `targets` has where the connections to a
    loopback port of a replica go. `path` leads to the Unix socket for connections from outside. Call it
    from a process with one thread. Raises `NetworkError`.
    """

    def __init__(
        self,
        *,
        names: Sequence[str],
        hosts: Sequence[str],
        targets: Mapping[int, Target],
        sandbox: Sandbox,
        path: Path,
        timeouts: SupervisorTimeouts = SUPERVISOR,
    ) -> None:
        if len(names) > _MOST:
            raise NetworkError(f"it has at most {_MOST} replicas, and the job has {len(names)}")
        gateway, *ips = (str(SUBNET[number]) for number in range(1, len(names) + 2))
        self.addresses = tuple(
            ReplicaAddress(host=host, port=PORT, ip=ip) for host, ip in zip(hosts, ips, strict=True)
        )
        self.processes: set[int] = set()
        self._path = path
        self._users: int | None = None
        self._namespaces: list[int] = []
        wanted = Wanted(
            names=names,
            ips=ips,
            gateway=gateway,
            prefix=SUBNET.prefixlen,
            ports=tuple(targets),
            sandbox=sandbox,
            path=path,
            request_seconds=timeouts.network_request,
        )
        listeners: list[int] = []
        try:
            listeners += self._make(wanted)
            chosen = list(zip(listeners, list(targets.values()) * len(names), strict=True))
            if chosen:
                self.processes.add(
                    _fork(lambda parent: relay(chosen, parent, connect_seconds=timeouts.relay))
                )
        except (OSError, NetworkError) as error:
            self.close()
            raise NetworkError(str(error)) from error
        finally:
            for end in listeners:
                os.close(end)

    def namespace(self, index: int) -> NetworkNamespace:
        """Return the network namespace of a replica."""
        return NetworkNamespace(network=self._namespaces[index], users=self._users)

    def release(self, index: int) -> None:
        """Do nothing: no other program has a replica's address."""

    def close(self) -> None:
        """End the processes; the kernel removes the network when the replicas have ended."""
        for process in self.processes:
            os.kill(process, signal.SIGKILL)
        for process in self.processes:
            os.waitpid(process, 0)
        self.processes.clear()
        for end in (*self._namespaces, *(() if self._users is None else (self._users,))):
            os.close(end)
        self._namespaces, self._users = [], None
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _make(self, wanted: Wanted) -> list[int]:
        """Let a new process make the network. Return the listeners, replica by replica."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                self.processes.add(_fork(lambda parent: hold(theirs.fileno(), wanted, parent)))
            users = _receive(ours)
            self._users = users[0] if users else None
            listeners: list[int] = []
            for _ in wanted.names:
                namespace, *opened = _receive(ours)
                self._namespaces.append(namespace)
                listeners += opened
            _receive(ours)
        return listeners


def _receive(channel: socket.socket) -> list[int]:
    """Return the descriptors of the next message. Raises `NetworkError`."""
    data, descriptors, _, _ = socket.recv_fds(channel, 4096, 16, socket.MSG_CMSG_CLOEXEC)
    if not data:
        raise NetworkError("the process that makes it ended")
    error = json.loads(data).get("error")
    if error is not None:
        raise NetworkError(str(error))
    return descriptors


def _fork(body: Callable[[int], None]) -> int:
    """Run `body`, which never returns, in a new process; it gets the id of this one."""
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        run_and_exit(lambda: body(parent), 2)
    return process
