"""The server's side of a TLS connection, with larger reads and writes than `ssl.SSLSocket` has.

That class asks the kernel twice for each record of at most 16 KiB, and sends each with a call of its own.
This one passes many records at once through memory, which takes about half of the time.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Any, cast

_BLOCK = 1 << 18


class SecuredSocket(socket.socket):
    """A connection that decrypts what it receives, and encrypts what it sends. For one thread at a time.

    It owns the descriptor of `connection` from now on, which can no longer be closed or shut down. Other
    threads may shut down the new one.
    """

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        seconds = connection.gettimeout()
        super().__init__(connection.family, connection.type, connection.proto, connection.detach())
        self.settimeout(seconds)
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_side=True)
        self._buffer = memoryview(bytearray(_BLOCK))

    def do_handshake(self) -> None:
        """Agree on keys and the protocol. Raises `OSError`."""
        while True:
            try:
                self._tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                self._flush()
                self._receive()
            finally:
                self._flush()

    def selected_alpn_protocol(self) -> str | None:
        return self._tls.selected_alpn_protocol()

    @property
    def has_more(self) -> bool:
        """Return whether bytes have arrived that no `recv` has returned. They may be a part of a record."""
        return bool(self._tls.pending() or self._received.pending)

    def recv_into(self, buffer: Any, nbytes: int = 0, _flags: int = 0) -> int:
        """Return the number of bytes, 0 at the end. With timeout 0, raises `BlockingIOError` without any."""
        read: Callable[[int, Any], int] = cast("Any", self._tls.read)  # with a buffer it returns their number
        with memoryview(buffer) as view:
            size = nbytes or view.nbytes
            done = 0
            while done < size:
                try:
                    got = read(size - done, view[done:])  # one record at most
                except ssl.SSLWantReadError:
                    if done:
                        break
                    self._flush()
                    self._receive()
                    continue
                except ssl.SSLEOFError:
                    break
                if not got:
                    break
                done += got
            return done

    def recv(self, bufsize: int, _flags: int = 0) -> bytes:
        buffer = bytearray(bufsize)
        return bytes(memoryview(buffer)[: self.recv_into(buffer)])

    def send(self, data: Any, _flags: int = 0) -> int:
        """Send all of the data."""
        with memoryview(data) as view:
            size = view.nbytes
            if size:
                self._tls.write(view)
        self._flush()
        return size

    def sendall(self, data: Any, _flags: int = 0) -> None:
        self.send(data)

    def _receive(self) -> None:
        if size := super().recv_into(self._buffer):
            self._received.write(self._buffer[:size])
        else:
            self._received.write_eof()

    def _flush(self) -> None:
        """Send what is encrypted. The timeout is for each step, so that a slow client may be slow."""
        left = memoryview(self._to_send.read())
        while left:
            left = left[super().send(left) :]
