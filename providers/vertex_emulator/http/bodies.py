"""The bytes of a request's body as they come from the socket (RFC 9112, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import BinaryIO

from vertex_emulator.http.messages import HttpError

_MAX_CHUNK_LINE = 1024
_MAX_TRAILERS = 100


class BodyCutShortError(ConnectionError):
    """The client went away, or broke the framing, before its body was complete."""


class WireBody:
    """One body, framed by Content-Length or in chunks. `complete` once it has been read to its end.

    `before_reading` is called once, before the first byte is waited for (it answers 100 Continue).
    """

    def __init__(
        self, stream: BinaryIO, *, length: int | None, before_reading: Callable[[], None] | None = None
    ) -> None:
        self._stream = stream
        self._chunked = length is None
        self._left = length or 0
        self._before_reading = before_reading
        self._started = False
        self.complete = length == 0
        self.size = 0

    @property
    def expecting(self) -> bool:
        """The client waits for 100 Continue, which was not sent."""
        return self._before_reading is not None and not self._started

    @property
    def remaining(self) -> int | None:
        """Bytes not yet read; None when only the end of the chunks tells."""
        if self.complete:
            return 0
        return None if self._chunked else self._left

    def read(self, n: int, /) -> bytes:
        """Up to `n` bytes; b"" at the end. Raises `BodyCutShortError`."""
        if self.complete or n <= 0:
            return b""
        if not self._started:
            self._started = True
            if self._before_reading is not None:
                self._before_reading()
        if self._chunked and self._left == 0 and not self._next_chunk():
            return b""
        data = self._stream.read(min(n, self._left))
        if not data:
            raise BodyCutShortError("the body ended early")
        self._left -= len(data)
        self.size += len(data)
        if self._left == 0:
            if self._chunked:
                self._end_of_line()
            else:
                self.complete = True
        return data

    def _next_chunk(self) -> bool:
        line = self._line()
        digits = line.partition(b";")[0].strip()
        if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
            raise BodyCutShortError("a chunk of the body has no size")
        self._left = int(digits, 16)
        if self._left:
            return True
        for _ in range(_MAX_TRAILERS):
            if not self._line().strip():
                self.complete = True
                return False
        raise BodyCutShortError("the body has too many trailers")

    def _line(self) -> bytes:
        line = self._stream.readline(_MAX_CHUNK_LINE + 1)
        if not line.endswith(b"\n"):
            raise BodyCutShortError("a line between chunks is cut short or too long")
        return line

    def _end_of_line(self) -> None:
        if self._line().strip():
            raise BodyCutShortError("a chunk is longer than its size")


def body_length(headers: Mapping[str, str], *, method: str) -> int | None:
    """The body's length, None for a chunked one. Raises `HttpError` 400, 411, 501 on unclear framing."""
    encoding = headers.get("transfer-encoding")
    given = headers.get("content-length")
    if encoding is not None:
        if given is not None:
            raise HttpError(400, "", "A request has either Content-Length or Transfer-Encoding, not both.")
        if encoding.strip().lower() != "chunked":
            raise HttpError(501, "", f"Transfer-Encoding {encoding!r} is not supported; send 'chunked'.")
        return None
    if given is None:
        return 0
    if not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise HttpError(400, "", f"Content-Length {given!r} is not a number of bytes.")
    if int(given) and method in ("GET", "HEAD"):
        raise HttpError(400, "", f"{method} takes no body.")
    return int(given)
