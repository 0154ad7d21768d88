"""One connection: it reads requests, calls their handlers and sends the responses until one side closes it.

It extends the standard library's handler with answers in one packet (buffered, no Nagle delay), chunked
bodies in both directions, 100 Continue only when a handler reads the body, bounded draining of unread bodies
so that the connection can be used again, and deadlines for slow clients.
"""

from __future__ import annotations

import io
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast
from urllib.parse import parse_qs

from vertex_emulator.http import auth
from vertex_emulator.http.bodies import WireBody, body_length
from vertex_emulator.http.messages import (
    Body,
    ErrorForm,
    FileRange,
    Headers,
    HttpError,
    Request,
    Response,
    Router,
    google_error,
)
from vertex_emulator.http.request_log import RequestLog, without_secrets
from vertex_emulator.kernel.disk_space import is_out_of_space

log = logging.getLogger(__name__)

MAX_REQUEST_LINE = 16 * 1024
MAX_QUERY_FIELDS = 200
_IDLE_SECONDS = 120.0
_MAX_DRAIN = 16 * 1024 * 1024
_LINGER_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A server's limits.

    They are seconds for the head of a request, seconds without progress of a body in either direction, and
    the number of simultaneous connections.
    """

    head_seconds: float = 20.0
    body_seconds: float = 60.0
    connections: int = 256


@dataclass(frozen=True)
class Intervention:
    """A fault that one call meets: its number, and the function that runs the handler with the fault."""

    number: int
    carry_out: Callable[[Callable[[], Response]], Response]


class Faults(Protocol):
    """The faults that tests inject into calls."""

    def due(self, call: str) -> Intervention | None:
        """Count a call. Return the fault that it meets, or None."""


class ServerState(Protocol):
    """The part of the server that a connection uses."""

    authenticator: auth.Authenticator
    limits: Limits
    requests: RequestLog
    data_dir: Path
    on_request: Callable[[], None]
    faults: Faults | None
    router: Router
    stopping: bool

    def router_of(self, authenticated: auth.AuthenticatedRequest) -> Router: ...

    def request_began(self) -> None: ...

    def request_ended(self) -> None: ...


class _SocketReader(io.RawIOBase):
    """Reads a socket, with deadlines for the head of a request and for its body."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        self._deadline: float | None = None
        self._seconds = _IDLE_SECONDS

    def await_request(self) -> None:
        """Wait for a request: long for the first byte, then until the deadline for the whole head."""
        self._seconds, self._deadline = _IDLE_SECONDS, None

    def await_body(self) -> None:
        """Wait for a body: each piece has a timeout."""
        self._seconds, self._deadline = self._limits.body_seconds, None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        seconds = self._seconds
        if self._deadline is not None:
            seconds = self._deadline - time.monotonic()
            if seconds <= 0:
                raise TimeoutError("the head of the request took too long")
        self._connection.settimeout(seconds)
        size = self._connection.recv_into(buffer)
        if self._seconds == _IDLE_SECONDS and self._deadline is None:
            self._deadline = time.monotonic() + self._limits.head_seconds
        return size


class Connection(BaseHTTPRequestHandler):
    """Answers the requests of one connection in order."""

    protocol_version = "HTTP/1.1"
    server_version = "vertex-training-emulator"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024
    body: WireBody
    _call: str
    _fault: int | None

    def setup(self) -> None:
        super().setup()
        self._server = cast(ServerState, self.server)
        self.connection.settimeout(self._server.limits.body_seconds)
        self._reader = _SocketReader(self.connection, self._server.limits)
        self.rfile.close()
        self.rfile = cast(Any, io.BufferedReader(self._reader, 64 * 1024))

    def handle_one_request(self) -> None:
        self.close_connection = True
        try:
            self._reader.await_request()
            self.raw_requestline = self.rfile.readline(MAX_REQUEST_LINE + 1)
            if not self.raw_requestline:
                return
            self._server.request_began()
            try:
                self._answer_one()
            finally:
                self._server.request_ended()
        except (TimeoutError, ConnectionError):
            self.close_connection = True

    def _answer_one(self) -> None:
        self.body = WireBody(cast(BinaryIO, self.rfile), length=0)
        self._expects_continue = self._unframed = False
        if len(self.raw_requestline) > MAX_REQUEST_LINE:
            self.requestline = self.request_version = self.command = ""
            self.send_error(414, f"The request line is longer than {MAX_REQUEST_LINE} bytes.")
            return
        if not self.parse_request():
            return
        if self.request_version == "HTTP/0.9":
            self.send_error(400, "The request line is not 'METHOD PATH HTTP/1.1'.")
            return
        began = time.perf_counter()
        moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        raw_path, _, query = self.path.partition("?")
        self._logged_path = "(rejected before its path was read)"
        self._call, self._fault = "", None
        response = Response(499)
        try:
            response = self._respond(raw_path, query)
        finally:
            # Before the response is sent, so that a client that has it finds it in the log.
            self._server.requests.add(
                time=moment,
                method=self.command,
                target=without_secrets(self._logged_path, query),
                status=response.status,
                milliseconds=(time.perf_counter() - began) * 1000,
                received=self.body.size,
                sent=self._length(response),
                client=self.headers.get("User-Agent", "")[:200],
                call=self._call,
                fault=self._fault,
            )
        self._send(response)
        self._finish_body()

    def _respond(self, raw_path: str, query: str) -> Response:
        error_form: ErrorForm | None = None
        try:
            headers = Headers(list(self.headers.items()))
            try:
                length = body_length(headers, method=self.command)
            except HttpError:
                # The end of the body is unknown, and the body must not be read as the next request.
                self.close_connection = self._unframed = True
                raise
            self.body = WireBody(
                cast(BinaryIO, self.rfile),
                length=length,
                before_reading=self._continue if self._expects_continue else None,
            )
            self._reader.await_body()
            fields = _parse_query(query)
            authenticated = self._server.authenticator.authenticate(self.command, raw_path, headers, fields)
            self._logged_path = authenticated.path
            if self._server.stopping:
                raise HttpError(503, "", "The emulator is stopping. Repeat the request in a moment.")
            auth.check_content_type(authenticated, headers, has_body=length != 0)
            self._server.on_request()
            router = self._server.router_of(authenticated)
            handler, match, self._call, error_form = router.find(self.command, authenticated.path)
            request = Request(
                method=self.command,
                path=authenticated.path,
                query=fields,
                headers=headers,
                body=Body(self.body),
                base_url=authenticated.base_url,
            )
            faults = self._server.faults
            fault = None if faults is None else faults.due(self._call)
            if fault is None:
                return handler(request, match)
            self._fault = fault.number
            return fault.carry_out(lambda: handler(request, match))
        except HttpError as error:
            if error_form is None and auth.is_registry(raw_path):
                error_form = self._server.router.error_form(raw_path)
            return (error_form or google_error)(error).response()
        except ConnectionError:
            raise
        except TimeoutError:
            self.close_connection = True
            seconds = self._server.limits.body_seconds
            return HttpError(
                408, "", f"No more of the request arrived for {seconds:.0f} seconds. Send it again."
            ).response()
        except Exception as error:
            if is_out_of_space(error):
                log.error("No space left: %s %s: %s", self.command, self._logged_path, error)
                return _no_space(self._server.data_dir).response()
            log.exception("%s %s failed", self.command, self._logged_path)
            return HttpError(
                500,
                "",
                f"Internal error of the emulator: {type(error).__name__}. For details, see emulator.log in "
                "the data folder.",
            ).response()

    def _continue(self) -> None:
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.wfile.flush()

    def handle_expect_100(self) -> bool:
        self._expects_continue = True
        return True

    def _bodiless(self, response: Response) -> bool:
        return self.command == "HEAD" or response.status in (204, 304)

    def _length(self, response: Response) -> int | None:
        """Return the number of bytes in the response's body, or None for a stream."""
        if self._bodiless(response):
            return 0
        if isinstance(response.body, bytes):
            return len(response.body)
        return response.body.length if isinstance(response.body, FileRange) else None

    def _send(self, response: Response) -> None:
        body = response.body
        self.connection.settimeout(self._server.limits.body_seconds)
        self.close_connection = self.close_connection or self._must_close()
        self.send_response(response.status)
        chunked = not isinstance(body, (bytes, FileRange))
        if response.status not in (204, 304):
            self.send_header("Content-Type", _one_line(response.content_type))
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
            elif isinstance(body, FileRange):
                self.send_header("Content-Length", str(body.length))
            elif self.request_version == "HTTP/1.1":
                self.send_header("Transfer-Encoding", "chunked")
            else:
                chunked, self.close_connection = False, True
        self.send_header("X-Content-Type-Options", "nosniff")
        # An object may be a web page, whose scripts must not use the secret in its address.
        self.send_header("Content-Security-Policy", "sandbox")
        for name, value in response.headers.items():
            self.send_header(name, _one_line(value))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        try:
            if not self._bodiless(response):
                if isinstance(body, bytes):
                    self.wfile.write(body)
                elif isinstance(body, FileRange):
                    self._send_file(body)
                else:
                    self._send_stream(body, chunked=chunked)
        finally:
            if isinstance(body, FileRange):
                body.file.close()
            elif not isinstance(body, bytes) and hasattr(body, "close"):
                body.close()
        self.wfile.flush()

    def _send_file(self, part: FileRange) -> None:
        self.wfile.flush()
        if part.length and self.connection.sendfile(part.file, part.start, part.length) < part.length:
            # The file became shorter: closing shows the client that the content is incomplete.
            self.close_connection = True

    def _send_stream(self, parts: Iterator[bytes], *, chunked: bool) -> None:
        self.wfile.flush()
        for part in parts:
            if not part:
                continue
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
            self.wfile.flush()
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _must_close(self) -> bool:
        remaining = self.body.remaining
        return self._server.stopping or self.body.expecting or remaining is None or remaining > _MAX_DRAIN

    def _finish_body(self) -> None:
        """Read the unread rest of the body: up to the next request, or so that closing loses no answer."""
        if not self._unframed and (self.body.complete or self.body.expecting):
            return
        if not self.close_connection:
            while self.body.read(65536):
                pass
            return
        self._linger()

    def _linger(self) -> None:
        """Read for a few seconds before closing.

        Closing a socket with unread bytes resets the connection, and the client may lose the answer.
        """
        self.connection.shutdown(socket.SHUT_WR)
        until = time.monotonic() + _LINGER_SECONDS
        self.connection.settimeout(_LINGER_SECONDS)
        while time.monotonic() < until and self.connection.recv(1 << 20):
            pass

    def send_error(self, code: int, message: str | None = None, _explain: str | None = None) -> None:
        """Answer a request that the base class, which calls this, cannot parse."""
        self.close_connection = True
        self.command = self.command or "GET"
        # For HTTP/0.9, the base class would leave out the status line.
        self.request_version = "HTTP/1.1"
        self._send(HttpError(code, "", message or f"The request is not HTTP/1.1 ({code}).").response())
        self._linger()

    def log_message(self, *_: Any) -> None:
        return

    def version_string(self) -> str:
        return self.server_version


def _parse_query(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except ValueError as error:
        raise HttpError(400, "", f"The query string cannot be read: {error}.") from error


def _one_line(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return "".join(c if " " <= c <= "~" else "?" for c in value)


def _no_space(data_dir: Path) -> HttpError:
    """Return the error for a full disk: 507, which client libraries do not retry, unlike 500 and 503."""
    return HttpError(
        507,
        "",
        f"The disk of the emulator's data folder {data_dir} is full, so nothing was stored. Free some space, "
        "or start the emulator with another --data-dir, and repeat the request.",
    )
