"""The head of a request: the request line and the header fields, parsed strictly.

Two programs that read one head differently are an attack: one checks a request that the other one does not
see. Therefore everything that RFC 9112 lets a server reject is rejected: a line without a colon, folded
lines, line ends other than CRLF, spaces around names, control characters, repeated framing fields. After such
a head nobody knows where the next request begins, so the connection is closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from vertex_emulator.server.http.messages import Headers, HttpError

MAX_REQUEST_LINE = 16 * 1024
MAX_FIELDS = 100
MAX_FIELD_BYTES = 64 * 1024
"""The most bytes of all header lines together."""

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([!-~]+) HTTP/([0-9])\.([0-9])\r\n")
_FIELD_LINE = re.compile(rb"(" + _TOKEN + rb"):([\t -~\x80-\xff]*)\r\n")
"""The value is stripped afterwards: a pattern that strips it takes quadratic time for many spaces."""
_WHITE = b" \t"
_ONCE = frozenset({"host", "content-length", "transfer-encoding"})
"""Fields that decide which server is meant and where the body ends."""


class LineSource(Protocol):
    """A buffered stream. `readline` returns a line with its end, or less at the limit or at the end."""

    def readline(self, limit: int, /) -> bytes: ...


@dataclass(frozen=True, kw_only=True)
class Head:
    """One head. `target` is as it was sent. `minor` is the second number of the HTTP version, 0 or 1.

    `method` is the intended one (`intended_method`).
    """

    method: str
    target: str
    minor: int
    headers: Headers
    keep_alive: bool
    expects_continue: bool


def read_head(stream: LineSource) -> Head | None:
    """Read a head. Return None if the client closes the connection before its end.

    Raises `HttpError` 400, 414, 431 or 505.
    """
    line = stream.readline(MAX_REQUEST_LINE + 1)
    if not line.endswith(b"\n"):
        if len(line) > MAX_REQUEST_LINE:
            raise HttpError(414, "", f"The request line is longer than {MAX_REQUEST_LINE} bytes.")
        return None
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise HttpError(400, "", "The request line is not 'METHOD PATH HTTP/1.1', ended by CRLF.")
    method, target, major, minor = match.groups()
    if major != b"1" or minor not in (b"0", b"1"):
        version = f"HTTP/{major.decode()}.{minor.decode()}"
        raise HttpError(505, "", f"{version} is not supported. Use HTTP/1.1.")
    fields = _read_fields(stream)
    if fields is None:
        return None
    return _head(method.decode("ascii"), target.decode("ascii"), int(minor), fields)


def _read_fields(stream: LineSource) -> list[tuple[str, str]] | None:
    fields: list[tuple[str, str]] = []
    left = MAX_FIELD_BYTES
    while True:
        line = stream.readline(left + 1)
        left -= len(line)
        if left < 0 or len(fields) > MAX_FIELDS:
            raise HttpError(
                431,
                "",
                f"The request has more than {MAX_FIELDS} header fields, or more than {MAX_FIELD_BYTES} bytes "
                "of them.",
            )
        if line == b"\r\n":
            return fields
        match = _FIELD_LINE.fullmatch(line)
        if match is None:
            if not line.endswith(b"\n"):
                return None
            raise HttpError(
                400,
                "",
                f"Header line {len(fields) + 1} is not 'NAME: VALUE', ended by CRLF. The connection is "
                "closed, because the rest of the request cannot be trusted.",
            )
        fields.append((match[1].decode("ascii"), match[2].strip(_WHITE).decode("latin-1")))


def is_trailer(line: bytes) -> bool:
    """Return whether a line, with its end, may follow a chunked body: a header field, but not of framing."""
    match = _FIELD_LINE.fullmatch(line)
    return match is not None and match[1].decode("ascii").lower() not in _ONCE


OVERRIDE = "x-http-method-override"
_INTENDED = ("DELETE", "PATCH", "PUT")


def intended_method(method: str, headers: Headers) -> str:
    """Return the method that a request stands for. Raises `HttpError` 400.

    HTTP in Java knows no PATCH: Google's library sends POST, and the method in a header.
    """
    intended = headers.get(OVERRIDE)
    if intended is None or method != "POST" or intended == method:
        return method
    if intended not in _INTENDED:
        raise HttpError(
            400, "", f"X-HTTP-Method-Override is {intended!r}. The emulator supports {', '.join(_INTENDED)}."
        )
    return intended


def _head(method: str, target: str, minor: int, fields: list[tuple[str, str]]) -> Head:
    headers = Headers(fields)
    if len(headers) != len(fields):
        names = [name.lower() for name, _ in fields]
        for name in _ONCE:
            if names.count(name) > 1:
                raise HttpError(400, "", f"The header {name} is repeated.")
    if minor and "host" not in headers:
        raise HttpError(400, "", "The header Host is missing.")
    if not minor and "transfer-encoding" in headers:
        raise HttpError(400, "", "HTTP/1.0 has no Transfer-Encoding. Send Content-Length, or use HTTP/1.1.")
    options = {option.strip(" \t").lower() for option in headers.get("connection", "").split(",")}
    return Head(
        method=intended_method(method, headers),
        target=target,
        minor=minor,
        headers=headers,
        keep_alive="close" not in options and (minor == 1 or "keep-alive" in options),
        expects_continue=minor == 1 and headers.get("expect", "").lower() == "100-continue",
    )
