"""Request bodies: reading and decompressing their bytes from the socket, and reading values in them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from vertex_emulator.server.http.head import is_trailer
from vertex_emulator.server.http.messages import Body, ByteSource, HttpError, Request

_MAX_CHUNK_LINE = 1024
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t -~\x80-\xff]*)?\r\n")
_CRLF = b"\r\n"
_MAX_TRAILERS = 100
_BODILESS = ("GET", "HEAD")
_IDENTITY = "identity"
"""RFC 2616: the body is sent as it is. TensorFlow sends this with an empty body; elsewhere it is refused."""


class BodyCutShortError(ConnectionError):
    """The client closed the connection before the body was complete."""


class BodyFramingError(BodyCutShortError):
    """The chunks of the body are malformed, so the end of the body is unknown."""


class WireBody:
    """One body, framed by Content-Length or in chunks. `complete` is True once the end was read.

    `promised` is the Content-Length of a chunked body, which must have this size, or None.
    `before_reading` is called once, before the wait for the first byte; it answers 100 Continue.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        length: int | None,
        promised: int | None = None,
        before_reading: Callable[[], None] | None = None,
    ) -> None:
        self._stream = stream
        self._chunked = length is None
        self._promised = promised
        self._left = length or 0
        self._before_reading = before_reading
        self._started = False
        self.complete = length == 0
        self.size = 0

    @property
    def expecting(self) -> bool:
        """True while the client waits for 100 Continue."""
        return self._before_reading is not None and not self._started

    @property
    def remaining(self) -> int | None:
        """The number of unread bytes, or None for a chunked body."""
        if self.complete:
            return 0
        return None if self._chunked else self._left

    def read(self, n: int, /) -> bytes:
        """Read up to `n` bytes. Return b"" at the end. Raises `BodyCutShortError`."""
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
        match = _CHUNK_LINE.fullmatch(self._line())
        if match is None:
            raise BodyFramingError("a chunk of the body has no size")
        self._left = int(match[1], 16)
        if self._left:
            return True
        for _ in range(_MAX_TRAILERS):
            line = self._line()
            if line == _CRLF:
                if self._promised not in (None, self.size):
                    raise BodyFramingError(
                        f"its chunks have {self.size} bytes, but its Content-Length is {self._promised}"
                    )
                self.complete = True
                return False
            if not is_trailer(line):
                raise BodyFramingError("a trailer of the body is not 'NAME: VALUE', or decides where it ends")
        raise BodyFramingError(f"the body has more than {_MAX_TRAILERS - 1} trailers")

    def _line(self) -> bytes:
        line = self._stream.readline(_MAX_CHUNK_LINE + 1)
        if line.endswith(b"\n"):
            return line
        if len(line) > _MAX_CHUNK_LINE:
            raise BodyFramingError(f"a line between chunks is longer than {_MAX_CHUNK_LINE} bytes")
        raise BodyCutShortError("a line between chunks is cut short")

    def _end_of_line(self) -> None:
        line = self._stream.read(len(_CRLF))
        if line != _CRLF:
            if len(line) < len(_CRLF):
                raise BodyCutShortError("a chunk has no end")
            raise BodyFramingError("a chunk is longer than its size")


def body_length(headers: Mapping[str, str], *, method: str) -> int | None:
    """Return the body's length, or None for a chunked body. Raises `HttpError` 400 or 501."""
    encoding = headers.get("transfer-encoding")
    given = headers.get("content-length")
    length = None if given is None else _number_of_bytes(given)
    if encoding is not None:
        if given == "0" and encoding == _IDENTITY:
            return 0
        if encoding.lower() != "chunked":
            raise HttpError(501, "", f"Transfer-Encoding {encoding!r} is not supported; send 'chunked'.")
        if method in _BODILESS:
            raise HttpError(400, "", f"{method} must not have a body.")
        return None
    if length and method in _BODILESS:
        raise HttpError(400, "", f"{method} must not have a body.")
    return length or 0


def promised_length(headers: Mapping[str, str]) -> int | None:
    """Return the Content-Length of a chunked body, or None without one. It does not say where the body ends.

    RFC 9112, section 6.1, allows a server to read such a request by its chunks, if it then closes the
    connection. TensorFlow sends all its uploads like this.
    """
    if "transfer-encoding" in headers and "content-length" in headers:
        return _number_of_bytes(headers["content-length"])
    return None


def _number_of_bytes(given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise HttpError(400, "", f"Content-Length {given!r} is not a number of bytes.")
    return int(given)


MAX_SECONDS = 10 * 365 * 24 * 3600.0
"""Ten years."""

_SHOWN = 100


def seconds(body: Mapping[str, Any], name: str, *, default: float | None = None) -> float:
    """Return a number of seconds from the body. Raises `HttpError` 400."""
    return number(body, name, most=MAX_SECONDS, what="a number of seconds", default=default)


def number(
    body: Mapping[str, Any],
    name: str,
    *,
    most: float,
    what: str,
    least: float = 0.0,
    default: float | None = None,
) -> float:
    """Return a number from the body, from `least` to `most`. It is required if it has no `default`.

    Raises `HttpError` 400.
    """
    given = body.get(name, default)
    fits = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not fits or not least <= given <= most:  # also rejects NaN
        raise HttpError(400, "", f"{name} must be {what} from {least:g} to {most:g}, not {_short(given)}.")
    return float(given)


def whole_number(
    body: Mapping[str, Any], name: str, *, most: int, least: int = 0, default: int | None = None
) -> int:
    """Return a whole number from the body, as `number` does."""
    given = number(body, name, most=most, what="a whole number", least=least, default=default)
    if given != int(given):
        raise HttpError(400, "", f"{name} must be a whole number, not {given:g}.")
    return int(given)


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def body_of(request: Request, *names: str) -> Mapping[str, Any]:
    """Return the JSON object of a request. Raises `HttpError` 400, also for keys other than `names`."""
    body = request.body.json()
    if not isinstance(body, Mapping):
        wanted = f"with {', '.join(names)}" if names else "which may be empty"
        raise HttpError(400, "", f"The body must be a JSON object {wanted}.")
    for key in body:
        if key not in names:
            known = f"the known keys are {', '.join(names)}" if names else "this call has no parameters"
            raise HttpError(400, "", f"{key!r} is unknown: {known}.")
    return body


_BLOCK = 1 << 18


def invalid_body(message: str) -> HttpError:
    """Return the error of a service with Google's JSON error envelope."""
    return HttpError(400, "", message)


def unsupported_coding(coding: str) -> HttpError:
    """Return the error for a coding other than gzip."""
    return HttpError(
        415, "", f"The emulator does not support Content-Encoding {coding!r}. Send gzip, or plain JSON."
    )


def decompressed(
    source: ByteSource,
    headers: Mapping[str, str],
    *,
    invalid: Callable[[str], HttpError] = invalid_body,
    unsupported: Callable[[str], HttpError] = unsupported_coding,
) -> Body:
    """Return a body, decompressed if it was sent with gzip.

    `invalid` and `unsupported` make the errors for damaged content and for another coding.
    """
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return Body(source)
    if coding not in ("gzip", "x-gzip"):
        raise unsupported(coding)
    return Body(_Inflated(source, invalid))


class _Inflated:
    """A reader of gzip content, which decompresses blocks of limited size."""

    def __init__(self, source: ByteSource, invalid: Callable[[str], HttpError]) -> None:
        self._source = source
        self._invalid = invalid
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def read(self, n: int, /) -> bytes:
        while n > 0:
            pending = self._stream.unconsumed_tail or self._source.read(_BLOCK)
            if self._stream.eof:
                if pending or self._stream.unused_data:
                    raise self._broken("bytes follow its end")
                return b""
            if not pending:
                raise self._broken("it ends early")
            try:
                data = self._stream.decompress(pending, n)
            except zlib.error as error:
                raise self._broken(str(error)) from error
            if data:
                return data
        return b""

    def _broken(self, why: str) -> HttpError:
        return self._invalid(f"The body has Content-Encoding gzip, and it is damaged: {why}.")
