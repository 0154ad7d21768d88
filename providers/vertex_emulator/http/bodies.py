"""Request bodies: their bytes as they come from the socket, and the values of the emulator's own paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from vertex_emulator.http.messages import HttpError, Request

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


MOST_SECONDS = 10 * 365 * 24 * 3600.0
"""Ten years."""

_SHOWN = 100


def seconds(body: Mapping[str, Any], name: str, *, default: float | None = None) -> float:
    """A length of time that the body has under a name. Raises `HttpError` 400."""
    return number(body, name, most=MOST_SECONDS, what="a number of seconds", default=default)


def number(
    body: Mapping[str, Any],
    name: str,
    *,
    most: float,
    what: str,
    least: float = 0.0,
    default: float | None = None,
) -> float:
    """A number between two others. Raises `HttpError` 400; without `default` it has to be there."""
    given = body.get(name, default)
    fits = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not fits or not least <= given <= most:  # NaN is not between anything
        raise HttpError(400, "", f"{name} has to be {what} from {least:g} to {most:g}, not {_short(given)}.")
    return float(given)


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def body_of(request: Request, *names: str) -> Mapping[str, Any]:
    """The JSON object of a request, which has no other keys. Raises `HttpError` 400."""
    body = request.body.json()
    if not isinstance(body, Mapping):
        wanted = f"with {', '.join(names)}" if names else "and that may be empty"
        raise HttpError(400, "", f"A JSON object is expected, {wanted}.")
    for key in body:
        if key not in names:
            known = f"there is {', '.join(names)}" if names else "nothing can be given here"
            raise HttpError(400, "", f"{key!r} is not known; {known}.")
    return body
