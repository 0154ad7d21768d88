"""Requests, responses and errors, and the router from a request to the handler of a service.

A service is a list of `Route`. A handler gets a `Request` and returns a `Response`, or raises `HttpError`.
This module does not use sockets, so tests can call the handlers of a service directly.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

JSON = "application/json; charset=UTF-8"

MAX_DOCUMENT = 10 * 1024 * 1024
"""The most bytes of a request body that is read as a whole, such as a JSON document."""

_STATUS_OF_CODE: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    413: "INVALID_ARGUMENT",
    414: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    431: "INVALID_ARGUMENT",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    505: "UNIMPLEMENTED",
    507: "RESOURCE_EXHAUSTED",
}


class HttpError(Exception):
    """An error response, in Google's JSON error envelope.

    `reason` is the canonical status, such as "INVALID_ARGUMENT"; if it is empty, it follows from the HTTP
    status. `details` are `google.rpc` messages in JSON, each with its "@type".
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        details: tuple[Mapping[str, Any], ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason or _STATUS_OF_CODE.get(status, "UNKNOWN")
        self.message = message
        self.details = details
        self.headers = dict(headers or {})

    def envelope(self) -> dict[str, Any]:
        """Return the JSON document of the response."""
        error: dict[str, Any] = {"code": self.status, "message": self.message, "status": self.reason}
        if self.details:
            error["details"] = [dict(detail) for detail in self.details]
        return {"error": error}

    def response(self) -> Response:
        """Return the response to send."""
        return json_response(self.envelope(), status=self.status, headers=self.headers)


NOT_SUPPORTED = 400
"""The HTTP status for what the emulator does not have. Clients repeat a 501, some for minutes, but no 400."""


def not_supported(message: str) -> HttpError:
    """Return the error for a call that the emulator does not have."""
    return HttpError(NOT_SUPPORTED, "UNIMPLEMENTED", message)


class Headers(Mapping[str, str]):
    """Header fields by case-insensitive name. The values of a repeated field are joined by ", "."""

    def __init__(self, fields: Mapping[str, str] | list[tuple[str, str]] | None = None) -> None:
        pairs = fields.items() if isinstance(fields, Mapping) else fields or []
        self._fields: dict[str, str] = {}
        for name, value in pairs:
            key = name.lower()
            self._fields[key] = f"{self._fields[key]}, {value}" if key in self._fields else value

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields


class ByteSource(Protocol):
    """A source of bytes; `read(n)` returns b"" only at the end."""

    def read(self, n: int, /) -> bytes: ...


class Body:
    """The body of one request, which can be read once."""

    def __init__(self, source: ByteSource | bytes = b"") -> None:
        self._source: ByteSource = io.BytesIO(source) if isinstance(source, bytes) else source

    def read(self, n: int = -1) -> bytes:
        """Read at most `n` bytes, or the whole body if `n` is negative. Return b"" at the end.

        Raises `HttpError` 413 if the whole body is longer than `MAX_DOCUMENT`.
        """
        if n >= 0:
            return self._source.read(n)
        parts: list[bytes] = []
        size = 0
        while part := self._source.read(65536):
            size += len(part)
            if size > MAX_DOCUMENT:
                raise HttpError(
                    413,
                    "",
                    f"The request body is longer than {MAX_DOCUMENT} bytes, the limit for one document. Send "
                    "a smaller request.",
                )
            parts.append(part)
        return b"".join(parts)

    def json(self, *, single_quotes: bool = False) -> Any:
        """Return the JSON value of the body, or {} if it is empty. Raises `HttpError` 400, 413.

        With `single_quotes` strings may have them, as in the requests of TensorFlow that compose objects.
        """
        data = self.read()
        if not data.strip():
            return {}
        try:
            try:
                return parse_json(data)
            except LargeDocumentError:
                raise
            except ValueError:
                if not single_quotes or b"'" not in data:
                    raise
                return parse_json(_STRING.sub(_in_double_quotes, data))
        except LargeDocumentError as error:
            raise HttpError(413, "", str(error)) from error
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise HttpError(
                400, "", f"Invalid JSON payload received. The body is not JSON: {why}."
            ) from error


_STRING = re.compile(rb"\"(?:[^\"\\]|\\.|\\\Z)*(?:\"|\Z)|'((?:[^'\\]|\\.|\\\Z)*)(?:'|\Z)", re.DOTALL)
"""A string in double or single quotes. One without an end matches too: the search takes linear time."""


def _in_double_quotes(match: re.Match[bytes]) -> bytes:
    if match[1] is None:
        return match[0]
    return b'"' + match[1].replace(b"\\'", b"'").replace(b'"', b'\\"') + b'"'


MOST_VALUES = 100_000
"""Values in one document. One takes up to some hundred bytes of memory.

Google's clients send a few thousand in their largest requests: 1,000 log entries, or 128 KB of scalars.
"""

_CLOSED_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_OPENINGS = (b",", b"[", b"{")


class LargeDocumentError(ValueError):
    """A document with more than `MOST_VALUES` values."""


def _check_size(data: bytes) -> None:
    """Check the number of values, which cost more than their bytes. Raises `LargeDocumentError`."""
    if sum(map(data.count, _OPENINGS)) < MOST_VALUES:
        return
    if sum(map(_CLOSED_STRING.sub(b"", data).count, _OPENINGS)) >= MOST_VALUES:
        raise LargeDocumentError(
            f"The request has more than {MOST_VALUES} values, the limit for one document. Send smaller "
            "requests."
        )


def parse_json(data: bytes, *, bounded: bool = True) -> Any:
    """Parse a JSON document. Raises `ValueError`, `RecursionError`.

    It may have `MOST_VALUES`, unless it is not `bounded`, as in an archive of the user's own.

    Values that cannot be written as JSON in UTF-8 again are rejected: once stored, they would break every
    response that has them.
    """
    if bounded:
        _check_size(data)
    value = json.loads(data.decode("utf-8"), parse_constant=_reject_constant, parse_float=_finite)
    try:
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("it has half of a surrogate pair, which is not Unicode") from error
    return value


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number")
    return number


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request that passed the checks of `auth`.

    `path` is percent-encoded as it was sent, without query and without a prefix with a secret. `base_url` is
    the part of the URL before `path`, without a slash at the end; links in responses begin with it.
    `check_part` is set for a batch without a token: it checks the headers of a part, and raises `HttpError`.
    """

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Headers = field(default_factory=Headers)
    body: Body = field(default_factory=Body)
    base_url: str = "http://127.0.0.1"
    check_part: Callable[[Headers], object] | None = None

    def parameter(self, name: str, default: str | None = None) -> str | None:
        """Return the value of a query parameter, the last one if it is repeated."""
        values = self.query.get(name)
        return values[-1] if values else default


@dataclass(frozen=True, kw_only=True)
class FileRange:
    """`length` bytes of an open file from `start` on. The file is sent by the kernel and then closed."""

    file: BinaryIO
    start: int
    length: int


@dataclass(frozen=True)
class Response:
    """A response. An iterator is sent in chunks, and closed if the client closes the connection."""

    status: int = 200
    body: bytes | FileRange | Iterator[bytes] = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Handler: TypeAlias = Callable[[Request, "re.Match[str]"], Response]
ErrorForm: TypeAlias = Callable[[HttpError], HttpError]
"""Converts an error of the server to the format that a service's clients read."""


def google_error(error: HttpError) -> HttpError:
    """Return the error unchanged, for services that use Google's JSON error envelope."""
    return error


@dataclass(frozen=True)
class Route:
    """A method, a path, and the handler of their requests.

    `pattern` is a regular expression that must match the whole raw path. `call` is Google's name of the
    method, such as "JobService.GetCustomJob" or "storage.objects.insert"; it is empty for the emulator's own
    calls. `error_form` applies to the handler's errors and to injected faults. On the registry's paths it
    also applies to earlier errors, such as a missing token, because container tools read no other format.
    """

    method: str
    pattern: str
    handler: Handler
    call: str = ""
    error_form: ErrorForm = google_error


def with_error_form(form: ErrorForm, routes: Iterable[Route]) -> tuple[Route, ...]:
    """Return the routes with this format of errors."""
    return tuple(replace(route, error_form=form) for route in routes)


def json_response(value: object, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with `value` as its JSON document."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Response(status, data, JSON, dict(headers or {}))


ANY_METHOD = "*"
"""The method of a route that takes every method that no earlier route of the path takes."""


class MatchedRoute(NamedTuple):
    """The handler of a request, the match of its path, and the call and error format of its route."""

    handler: Handler
    match: re.Match[str]
    call: str
    error_form: ErrorForm


class Router:
    """A list of routes. The first one whose method and pattern match handles the request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        compiled = [(route.method, re.compile(route.pattern), route) for route in routes]
        self._routes = [(method, pattern, route.error_form) for method, pattern, route in compiled]
        methods = {method for method, _, _ in compiled}
        self._by_method = {
            method: [(p, r) for m, p, r in compiled if m in (method, ANY_METHOD)] for method in methods
        }
        self._any = [(p, r) for m, p, r in compiled if m == ANY_METHOD]

    def find(self, method: str, path: str) -> MatchedRoute:
        """Return the route of a request. Raises `HttpError` 404, or 405 if another method matches."""
        for pattern, route in self._by_method.get(method, self._any):
            if match := pattern.fullmatch(path):
                return MatchedRoute(route.handler, match, route.call, route.error_form)
        allowed = sorted({m for m, pattern, _ in self._routes if pattern.fullmatch(path)})
        if allowed:
            raise HttpError(
                405,
                "",
                f"{path} answers {', '.join(allowed)}, not {method}.",
                headers={"Allow": ", ".join(allowed)},
            )
        raise HttpError(
            404,
            "",
            f"The emulator has no {method} {path}. GET /_local/info lists the services that it has.",
        )

    def error_form(self, path: str) -> ErrorForm:
        """Return the format of errors at a path, for any method."""
        forms = (form for _, pattern, form in self._routes if pattern.fullmatch(path))
        return next(forms, google_error)
