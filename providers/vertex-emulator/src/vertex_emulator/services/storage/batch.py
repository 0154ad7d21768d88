"""Batches: several calls in one request to /batch/storage/v1 ("Sending batch requests").

If the outer request has a token, its parts' tokens have no effect. Through the proxy it may have none, as
with Google's library for Java: each part then needs its own.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from vertex_emulator.server.http.head import intended_method
from vertex_emulator.server.http.messages import Body, Headers, HttpError, Request, Response, Router
from vertex_emulator.services.storage.errors import StorageError, invalid

log = logging.getLogger(__name__)

MAX_CALLS = 100
_MAX_HEADERS = 100
_MAX_QUERY_FIELDS = 200
_BOUNDARY = re.compile(r"""(?:^|;)\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^;\s"]{1,200}))""", re.IGNORECASE)
_REQUEST_LINE = re.compile(r"([A-Z]{1,10}) (\S{1,16384}) HTTP/1\.[01]")
_JSON_PATH = re.compile(r"/storage/v1/[!-~]*")
_METHODS = frozenset({"DELETE", "GET", "PATCH", "POST", "PUT"})


@dataclass(frozen=True, kw_only=True)
class Part:
    """One call of a batch, unparsed."""

    content_id: str | None
    method: str
    target: str
    headers: Headers
    body: bytes


class Batch:
    """The handler of batches. `router` has the calls that a part may make."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def handle(self, request: Request, _: re.Match[str]) -> Response:
        parts = list(_parts(request.body.read(), request.headers.get("content-type", "")))
        boundary = f"batch_{secrets.token_urlsafe(24)}"
        answer = bytearray()
        for part in parts:
            answer += f"--{boundary}\r\nContent-Type: application/http\r\n".encode()
            if part.content_id is not None:
                answer += f"Content-ID: {_answering(part.content_id)}\r\n".encode("latin-1", "replace")
            answer += b"\r\n" + _as_bytes(self._respond(part, request)) + b"\r\n"
        answer += f"--{boundary}--\r\n".encode()
        return Response(200, bytes(answer), f"multipart/mixed; boundary={boundary}")

    def _respond(self, part: Part, outer: Request) -> Response:
        try:
            return self._call(part, outer)
        except HttpError as error:
            return error.response()
        except Exception:
            log.exception("%s %s in a batch failed", part.method, part.target.partition("?")[0])
            return HttpError(500, "", "Internal error of the emulator. For details, see its log.").response()

    def _call(self, part: Part, outer: Request) -> Response:
        if outer.check_part is not None:
            outer.check_part(part.headers)
        path, query = _target(part.target, outer.base_url)
        fields = _fields(query)
        if part.method not in _METHODS or not _JSON_PATH.fullmatch(path) or fields.get("alt") == ["media"]:
            raise invalid(
                "A batch may have only calls of the JSON API below /storage/v1/, without uploads, downloads "
                "and nested batches. Send this call separately."
            )
        handler, match, *_ = self._router.find(part.method, path)
        shared = {name: value for name, value in outer.headers.items() if not name.startswith("content-")}
        request = Request(
            method=part.method,
            path=path,
            query={**outer.query, **fields},
            headers=Headers({**shared, **part.headers}),
            body=Body(part.body),
            base_url=outer.base_url,
        )
        response = handler(request, match)
        if not isinstance(response.body, bytes):
            raise invalid("A batch cannot return content. Send this call separately.")
        return response


def _parts(data: bytes, content_type: str) -> Iterator[Part]:
    match = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith("multipart/mixed") or match is None:
        raise invalid(
            f"The Content-Type of a batch must be multipart/mixed; boundary=..., not {content_type!r}."
        )
    boundary = re.escape((match[1] or match[2]).encode("latin-1", "replace"))
    delimiter = rb"(?:^|\r?\n)--" + boundary + rb"(--)?[ \t]*(?=\r?\n|$)"
    pieces = re.split(delimiter, data, maxsplit=MAX_CALLS + 2)
    contents, ends = pieces[2::2], pieces[1::2]
    if len(contents) - 1 > MAX_CALLS:
        raise invalid(f"The batch has more than {MAX_CALLS} calls. Send several batches.")
    if not ends or ends[-1] is None or any(end is not None for end in ends[:-1]):
        raise _malformed("it does not end with its boundary and two dashes")
    if len(contents) == 1:
        raise _malformed("it has no part")
    for content in contents[:-1]:
        yield _parse_part(content)


def _parse_part(content: bytes) -> Part:
    fields, inner = _head(re.sub(rb"^\r?\n", b"", content, count=1))
    if fields.get("content-type", "").partition(";")[0].strip().lower() != "application/http":
        raise _malformed("a part is not of the type application/http")
    line, _, rest = inner.lstrip(b"\r\n").partition(b"\n")
    match = _REQUEST_LINE.fullmatch(line.rstrip(b"\r").decode("latin-1"))
    if match is None:
        raise _malformed("a part has no request line such as 'GET /storage/v1/b/BUCKET HTTP/1.1'")
    headers, body = _head(rest)
    return Part(
        content_id=fields.get("content-id"),
        method=intended_method(match[1], headers),
        target=match[2],
        headers=headers,
        body=body,
    )


def _head(data: bytes) -> tuple[Headers, bytes]:
    """Split off the header fields, which end at the first empty line, and return the rest."""
    fields: list[tuple[str, str]] = []
    while data:
        line, _, data = data.partition(b"\n")
        text = line.rstrip(b"\r").decode("latin-1")
        if not text:
            break
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or len(fields) == _MAX_HEADERS:
            raise _malformed("a part has an invalid header line, or too many header lines")
        fields.append((name.strip(), value.strip()))
    return Headers(fields), data


def _target(target: str, base_url: str) -> tuple[str, str]:
    """Return path and query of a part's target, which may be a whole URL of this emulator."""
    prefix = urlsplit(base_url).path
    if not target.startswith("/"):
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise invalid("The target of a part is not a URL.") from error
        target = parts.path + (f"?{parts.query}" if parts.query else "")
    if prefix and target.startswith(f"{prefix}/"):
        target = target[len(prefix) :]
    path, _, query = target.partition("?")
    return path, query


def _fields(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_QUERY_FIELDS)
    except ValueError as error:
        raise invalid(f"The query string of a part cannot be read: {error}.") from error


def _answering(content_id: str) -> str:
    return f"<response-{content_id[1:]}" if content_id.startswith("<") else f"response-{content_id}"


def _as_bytes(response: Response) -> bytes:
    body = response.body if isinstance(response.body, bytes) else b""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Status"
    head = [f"HTTP/1.1 {response.status} {phrase}"]
    if response.status not in (204, 304):
        head += [f"Content-Type: {response.content_type}", f"Content-Length: {len(body)}"]
    head += [f"{name}: {value}" for name, value in response.headers.items()]
    text = "\r\n".join("".join(c if " " <= c <= "~" else "?" for c in line) for line in head)
    return text.encode("ascii") + b"\r\n\r\n" + body


def _malformed(why: str) -> StorageError:
    return invalid(f"Malformed batch request: {why}.")
