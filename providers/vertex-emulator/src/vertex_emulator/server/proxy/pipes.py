"""Connections that pass bytes in both directions."""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
from typing import cast

from vertex_emulator.kernel import machine_clock
from vertex_emulator.server.http.open_connections import shut_down
from vertex_emulator.server.http.secured import SecuredSocket
from vertex_emulator.server.proxy.first_call import FirstCall

_BLOCK = 1 << 16


class _Activity:
    """The time of the last byte in either direction: a long download has no bytes in the other one."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._last = machine_clock.monotonic()

    def touch(self) -> None:
        self._last = machine_clock.monotonic()

    @property
    def is_over(self) -> bool:
        return machine_clock.monotonic() - self._last >= self._idle_seconds


def pipe(one: socket.socket, two: socket.socket, *, idle_seconds: float) -> None:
    """Pass bytes in both directions until both sides have ended, or nothing comes for a while."""
    activity = _Activity(idle_seconds)
    for each in (one, two):
        each.settimeout(idle_seconds)
    back = threading.Thread(target=_copy, args=(two, one, activity), name="proxied back", daemon=True)
    back.start()
    _copy(one, two, activity)
    back.join()


def _copy(source: socket.socket, target: socket.socket, activity: _Activity) -> None:
    try:
        while data := _next(source, activity):
            target.sendall(data)
            activity.touch()
        target.shutdown(socket.SHUT_WR)
    except OSError:
        shut_down(source)
        shut_down(target)


def _next(source: socket.socket, activity: _Activity) -> bytes:
    while True:
        try:
            return source.recv(_BLOCK)
        except TimeoutError:
            if activity.is_over:
                raise


def pipe_secured(
    secured: SecuredSocket | ssl.SSLSocket,
    other: socket.socket,
    *,
    idle_seconds: float,
    first: FirstCall | None = None,
) -> None:
    """Pass bytes until one side ends, in one thread: OpenSSL allows no second one at a connection.

    With `first`, the connection also ends if the first call of `secured` does not come in time.
    """
    if _has_more(secured) and (data := _available(secured)):  # the selector does not see it
        if first is not None:
            first.watch(data)
        other.sendall(data)
    with selectors.DefaultSelector() as selector:
        selector.register(secured, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, secured)
        while ready := selector.select(first.seconds_left(idle_seconds) if first else idle_seconds):
            for key, _ in ready:
                source, target = cast("socket.socket", key.fileobj), key.data
                data = _available(source)
                if data is None:
                    continue
                if not data:
                    return
                if first is not None and source is secured:
                    first.watch(data)
                target.settimeout(idle_seconds)
                target.sendall(data)


def _available(source: socket.socket) -> bytes | None:
    """Return what has arrived, b"" at the end, or None without data, as after a part of a TLS record."""
    source.settimeout(0)
    try:
        data = source.recv(_BLOCK)
    except (BlockingIOError, ssl.SSLWantReadError):
        return None
    # What the secured connection has taken from the kernel is not announced again.
    while data and _has_more(source):
        try:
            data += source.recv(_BLOCK)
        except (BlockingIOError, ssl.SSLWantReadError):
            break
    return data


def _has_more(source: socket.socket) -> bool:
    """Return whether a secured connection has taken more from the kernel than `recv` has returned."""
    if isinstance(source, ssl.SSLSocket):
        return bool(source.pending())
    return isinstance(source, SecuredSocket) and source.has_more
