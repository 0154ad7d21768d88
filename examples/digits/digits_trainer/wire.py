"""The messages between trainers over TCP: frames of a fixed header and a body of known length.

Nothing is ever unpickled or evaluated, and a receiver always knows which frame must come next and how long it
is: anything else ends the connection. Numbers are little-endian float64.
"""

from __future__ import annotations

import enum
import socket
import struct
from dataclasses import dataclass

from .errors import PeerError

MAGIC = b"DGTS"
VERSION = 1
HEADER = struct.Struct("!4sBBHIQ")  # magic, version, kind, rank of the sender, step, length of the body


class Kind(enum.IntEnum):
    HELLO = 1
    """Worker to chief: who I am, which job I belong to, which arguments I have."""
    WELCOME = 2
    """Chief to worker: you are expected, and this is the job."""
    READY = 3
    """Chief to worker: everybody is here."""
    PART = 4
    """Worker to chief: my summand."""
    TOTAL = 5
    """Chief to worker: the sum."""
    DONE = 6
    """Worker to chief: I have read everything; this is the digest of my weights."""


def header(kind: Kind, *, rank: int, step: int, length: int) -> bytes:
    return HEADER.pack(MAGIC, VERSION, kind, rank, step, length)


def read_exactly(connection: socket.socket, into: memoryview) -> None:
    """Fill `into`, a view of bytes. Raises OSError, also if the connection ends early."""
    done = 0
    while done < len(into):
        count = connection.recv_into(into[done:])
        if count == 0:
            raise ConnectionResetError("the connection was closed")
        done += count


@dataclass(frozen=True)
class Peer:
    """An open connection to another trainer. Its socket has a timeout, so that nothing waits forever.

    The methods raise PeerError, which names the peer and what to check.
    """

    connection: socket.socket
    rank: int
    name: str
    """Name and address for messages, such as ``workerpool1-0 (10.0.0.7:2222)``."""

    def send(self, kind: Kind, *, rank: int, step: int, body: bytes | memoryview = b"") -> None:
        """Send one frame; `rank` is the sender's own."""
        try:
            self.connection.sendall(b"".join([header(kind, rank=rank, step=step, length=len(body)), body]))
        except OSError as error:
            raise self._lost(error, step) from error

    def receive(self, kind: Kind, *, step: int, into: memoryview) -> None:
        """Receive one frame into `into`, a view of bytes, whose length is the only one accepted."""
        received = bytearray(HEADER.size)
        try:
            read_exactly(self.connection, memoryview(received))
            if received != header(kind, rank=self.rank, step=step, length=len(into)):
                raise PeerError(
                    f"{self.name} sent something else than {kind.name} of {len(into)} bytes in step {step}. "
                    "Do all replicas run the same version of this program?"
                )
            read_exactly(self.connection, into)
        except OSError as error:
            raise self._lost(error, step) from error

    def _lost(self, error: OSError, step: int) -> PeerError:
        if isinstance(error, TimeoutError):
            seconds = self.connection.gettimeout()
            what = f"was silent for {seconds:g} s in step {step}: it hangs, or its machine is gone"
        else:
            what = f"closed the connection in step {step}: it failed or was stopped"
        return PeerError(f"{self.name} {what}. Its own log says why.")
