"""Connections from this machine to ports of a replica in a network of its job's own (Linux).

The job's process that holds the network answers at a Unix socket in the job's folder, which only the user who
runs the emulator can reach. Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts

SOCKET = "network.sock"
_IDLE_SECONDS = 86_400.0


class ForwardError(Exception):
    """A connection cannot be made; the message says why."""


class NetworkGoneError(ForwardError):
    """The network of the job does not exist, or no longer."""


def connect(job_folder: Path, replica: str, port: int, *, timeouts: ClientTimeouts = CLIENT) -> socket.socket:
    """Connect to a port of a replica: on its loopback address, or else on the address in its network.

    Raises `ForwardError`.
    """
    try:
        addresses, descriptors = _request_sockets(job_folder, replica, seconds=timeouts.forward)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise NetworkGoneError("The job has no network: it has not started, or has ended.") from error
    except (OSError, ValueError) as error:
        raise ForwardError(f"The network of the job cannot be reached: {error}.") from error
    sockets = [socket.socket(fileno=each) for each in descriptors]
    reason = "no such replica"
    with contextlib.ExitStack() as stack:
        for each in sockets:
            stack.enter_context(each)
        for each, address in zip(sockets, addresses, strict=True):
            try:
                each.settimeout(timeouts.forward)
                each.connect((address, port))
            except OSError as refused:
                reason = refused.strerror or str(refused)
            else:
                each.settimeout(None)
                return socket.socket(fileno=each.detach())
    raise ForwardError(f"{replica} does not accept connections at port {port}: {reason}.")


def _request_sockets(job_folder: Path, replica: str, *, seconds: float) -> tuple[list[str], list[int]]:
    folder = os.open(job_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.settimeout(seconds)
            asking.connect(f"/proc/self/fd/{folder}/{SOCKET}")  # the path of a socket has at most 107 bytes
            asking.send(replica.encode())
            data, descriptors, _, _ = socket.recv_fds(asking, 4096, 4, socket.MSG_CMSG_CLOEXEC)
    finally:
        os.close(folder)
    return list(json.loads(data)["addresses"]), list(descriptors)


def serve(
    listener: socket.socket, open_connection: Callable[[], socket.socket], report: Callable[[str], None]
) -> NoReturn:
    """Pass each connection on to a new one. `report` gets what goes wrong.

    Raises `NetworkGoneError` when the network is gone.
    """
    gone: list[NetworkGoneError] = []

    def pass_on(connection: socket.socket) -> None:
        from vertex_emulator.server.proxy.pipes import pipe

        with connection:
            try:
                other = open_connection()
            except NetworkGoneError as error:
                gone.append(error)
                listener.shutdown(socket.SHUT_RDWR)
                return
            except ForwardError as error:
                report(str(error))
                return
            with other:
                pipe(connection, other, idle_seconds=_IDLE_SECONDS)

    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            if gone:
                raise gone[0] from None
            raise
        threading.Thread(target=pass_on, args=(connection,), daemon=True).start()
