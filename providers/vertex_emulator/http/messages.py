"""The values that pass between the emulator's server and its services, and the router between them.

A service is a list of `Route`. Its handler gets a `Request` and returns a `Response`, or raises `HttpError`.
Nothing here knows sockets: a service is tested by calling its handlers.
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
"""Bytes of a request body that is read as a whole, such as a JSON document. Object data is streamed."""

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
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    507: "RESOURCE_EXHAUSTED",
}


class HttpError(Exception):
    """An answer other than success, as Google's JSON error envelope.

    `reason` is the canonical status, such as "INVALID_ARGUMENT"; when empty it follows from the HTTP status.
    `details` are `google.rpc` messages in their JSON form, each with its "@type".
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
        """The JSON document of the answer."""
        error: dict[str, Any] = {"code": self.status, "message": self.message, "status": self.reason}
        if self.details:
            error["details"] = [dict(detail) for detail in self.details]
        return {"error": error}

    def response(self) -> Response:
        """The answer to send."""
        return json_response(self.envelope(), status=self.status, headers=self.headers)


class Headers(Mapping[str, str]):
    """Header fields by name, whatever the case. Of a repeated field the values are joined by ", "."""

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
    """Where a body's bytes come from; `read(n)` gives b"" only at the end."""

    def read(self, n: int, /) -> bytes: ...


class Body:
    """The body of one request, read once."""

    def __init__(self, source: ByteSource | bytes = b"") -> None:
        self._source: ByteSource = io.BytesIO(source) if isinstance(source, bytes) else source

    def read(self, n: int = -1) -> bytes:
        """At most `n` bytes, b"" at the end. Without `n`: all, refused with 413 beyond `MAX_DOCUMENT`."""
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
                    f"The request body is longer than {MAX_DOCUMENT} bytes, the most that the emulator reads "
                    "as one document. Send a smaller request.",
                )
            parts.append(part)
        return b"".join(parts)

    def json(self) -> Any:
        """The JSON value of the body; {} when it is empty. Raises `HttpError` 400 when it is not JSON."""
        data = self.read()
        if not data.strip():
            return {}
        try:
            return parse_json(data)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise HttpError(
                400, "", f"Invalid JSON payload received. The body is not JSON: {why}."
            ) from error


def parse_json(data: bytes) -> Any:
    """The value of a JSON document. Raises `ValueError`, `RecursionError`.

    What could not be written again as JSON in UTF-8 is refused here: it would be stored and then break every
    answer that has it.
    """
    value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    try:
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("it has half of a surrogate pair, which is not Unicode") from error
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number")
    return number


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request that passed the checks of `auth`.

    `path` is percent-encoded as it was sent, without query and without the prefix of the storage secret.
    `base_url` is what the client put before `path`, without a slash at the end; links in answers begin so.
    """

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Headers = field(default_factory=Headers)
    body: Body = field(default_factory=Body)
    base_url: str = "http://127.0.0.1"

    def parameter(self, name: str, default: str | None = None) -> str | None:
        """The value of a query parameter; of a repeated one the last."""
        values = self.query.get(name)
        return values[-1] if values else default


@dataclass(frozen=True, kw_only=True)
class FileRange:
    """`length` bytes of an open file from `start` on, sent without passing through memory; then closed."""

    file: BinaryIO
    start: int
    length: int


@dataclass(frozen=True)
class Response:
    """An answer. An iterator is sent in chunks as it yields, and closed when the client has gone away."""

    status: int = 200
    body: bytes | FileRange | Iterator[bytes] = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Handler: TypeAlias = Callable[[Request, "re.Match[str]"], Response]
ErrorForm: TypeAlias = Callable[[HttpError], HttpError]
"""Turns an error that the server found into the form that a service's clients read."""


def google_error(error: HttpError) -> HttpError:
    """Return the error as it is: most services answer with Google's JSON error envelope."""
    return error


@dataclass(frozen=True)
class Route:
    """A method and a path, and the handler of their requests.

    `pattern` is a regular expression that has to match the whole raw path. `call` is Google's name of the
    method, such as "JobService.GetCustomJob" or "storage.objects.insert"; empty for the emulator's own.
    `error_form` is that of the handler's errors and of faults; on the registry's paths it is also that of
    errors found earlier, such as a missing token, since container tools read no other.
    """

    method: str
    pattern: str
    handler: Handler
    call: str = ""
    error_form: ErrorForm = google_error


def with_error_form(form: ErrorForm, routes: Iterable[Route]) -> tuple[Route, ...]:
    """Return the routes with their errors in that form."""
    return tuple(replace(route, error_form=form) for route in routes)


def json_response(value: object, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as a JSON document."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Response(status, data, JSON, dict(headers or {}))


ANY_METHOD = "*"
"""As the method of a route: any method that no earlier route of that path takes."""


class Found(NamedTuple):
    """The handler of a request, its pattern's match, and its route's call and form of errors."""

    handler: Handler
    match: re.Match[str]
    call: str
    error_form: ErrorForm


class Router:
    """Routes in the order given; the first whose method and pattern fit answers."""

    def __init__(self, routes: Iterable[Route]) -> None:
        compiled = [(route.method, re.compile(route.pattern), route) for route in routes]
        self._routes = [(method, pattern, route.error_form) for method, pattern, route in compiled]
        methods = {method for method, _, _ in compiled}
        self._by_method = {
            method: [(p, r) for m, p, r in compiled if m in (method, ANY_METHOD)] for method in methods
        }
        self._any = [(p, r) for m, p, r in compiled if m == ANY_METHOD]

    def find(self, method: str, path: str) -> Found:
        """Return what answers. Raises `HttpError` 404, or 405 where another method fits."""
        for pattern, route in self._by_method.get(method, self._any):
            if match := pattern.fullmatch(path):
                return Found(route.handler, match, route.call, route.error_form)
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
        """Return the form of the errors at a path, whatever the method."""
        forms = (form for _, pattern, form in self._routes if pattern.fullmatch(path))
        return next(forms, google_error)
