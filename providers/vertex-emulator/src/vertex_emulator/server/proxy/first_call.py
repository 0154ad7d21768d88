"""The first call on an HTTP/2 connection, for which its client has some seconds."""

from __future__ import annotations

from vertex_emulator.kernel import machine_clock

_PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_FRAME_HEAD = 9
_HEADERS = 1
"""The preface of a client, the head of a frame, and the type of the frame that begins a call.

RFC 9113, sections 3.4, 4.1 and 6.2.
"""


class FirstCall:
    """Watches what a client sends until its first call. `seconds` are its time from now."""

    def __init__(self, *, seconds: float) -> None:
        self._until = machine_clock.monotonic() + seconds
        self._skipped = _PREFACE
        self._head = b""
        self.has_come = False

    def watch(self, data: bytes) -> None:
        """Take the next bytes of the client."""
        while data and not self.has_come:
            if self._skipped:
                data, self._skipped = data[self._skipped :], max(self._skipped - len(data), 0)
                continue
            missing = _FRAME_HEAD - len(self._head)
            self._head += data[:missing]
            data = data[missing:]
            if len(self._head) == _FRAME_HEAD:
                self.has_come = self._head[3] == _HEADERS
                self._skipped = int.from_bytes(self._head[:3], "big")
                self._head = b""

    def seconds_left(self, idle_seconds: float) -> float:
        """Return how long to wait for more bytes: less than `idle_seconds` before the first call."""
        left = max(self._until - machine_clock.monotonic(), 0.0)
        return idle_seconds if self.has_come else min(left, idle_seconds)
