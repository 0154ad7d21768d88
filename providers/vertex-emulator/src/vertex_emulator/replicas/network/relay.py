"""The process that connects the replicas of a job's own network to the emulator (Linux).

It has the network of the machine, and listeners that were opened in the namespaces of the replicas. What a
replica sends to the address of the emulator or its proxy arrives at both, wherever they listen now.
"""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

from vertex_emulator.replicas.network.holder import die_with, reset_signals
from vertex_emulator.replicas.sandbox.shim import keep_descriptors

Target = Callable[[], tuple[str, int]]
"""Function that returns host and port to connect to."""

_IDLE_SECONDS = 86_400.0
_RESET = struct.pack("ii", 1, 0)


def relay(listeners: Sequence[tuple[int, Target]], parent: int, *, connect_seconds: float) -> NoReturn:
    """Pass connections on: the life of a forked process."""
    try:
        reset_signals()
        kept = keep_descriptors(*(listener for listener, _ in listeners))
        die_with(parent)
        with selectors.DefaultSelector() as selector:
            for number, (_, target) in zip(kept, listeners, strict=True):
                listener = socket.socket(fileno=number)
                accept = functools.partial(_accept, listener, target, connect_seconds)
                selector.register(listener, selectors.EVENT_READ, accept)
            while True:
                for key, _ in selector.select():
                    key.data()
    finally:
        os._exit(1)


def _accept(listener: socket.socket, target: Target, seconds: float) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        thread = threading.Thread(target=_pass_on, args=(connection, target, seconds), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the limit of threads
            _refuse(connection)


def _pass_on(connection: socket.socket, target: Target, seconds: float) -> None:
    from vertex_emulator.server.proxy.pipes import pipe

    with connection:
        try:
            other = socket.create_connection(target(), seconds)
        except OSError:
            _refuse(connection)
            return
        with other:
            for each in (connection, other):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pipe(connection, other, idle_seconds=_IDLE_SECONDS)


def _refuse(connection: socket.socket) -> None:
    """Reset a connection, as without a listener."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.close()
