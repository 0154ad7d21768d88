"""One connection: it reads requests, calls their handlers and sends the responses until one side closes it.

Answers leave in one packet (buffered, no Nagle delay). Bodies may be chunked in both directions, 100 Continue
is sent only when a handler reads the body, unread bodies are drained within bounds so that the connection can
be used again, and slow clients have deadlines: seconds for a connection that never showed a secret.
"""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from socketserver import StreamRequestHandler
from typing import Protocol, cast
from urllib.parse import parse_qs

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import now
from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.server.http import auth
from vertex_emulator.server.http.bodies import (
    BodyFramingError,
    WireBody,
    body_length,
    decompressed,
    promised_length,
)
from vertex_emulator.server.http.deadlines import Limits, SocketReader
from vertex_emulator.server.http.head import Head, read_head
from vertex_emulator.server.http.messages import (
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
from vertex_emulator.server.http.open_connections import OpenConnection
from vertex_emulator.server.http.request_log import RequestLog, without_secrets
from vertex_emulator.server.http.secured import SecuredSocket

log = logging.getLogger(__name__)

MAX_QUERY_FIELDS = 200
_MAX_DRAIN = 16 * 1024 * 1024
_SECURED_BLOCK = 1 << 20
_SERVER = "vertex-training-emulator"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True)
class Intervention:
    """A fault that one call meets: its number, and the function that runs the handler with the fault."""

    number: int
    carry_out: Callable[[Callable[[], Response]], Response]


class Faults(Protocol):
    """The faults that tests inject into calls."""

    def due(self, call: str) -> Intervention | None:
        """Count a call. Return the fault that it meets, or None."""


class Gate(Protocol):
    """The check of a call before it is carried out."""

    def check(self, call: str, path: str) -> None:
        """Check a call by Google's name of its method. Raises `HttpError` 403."""


class ServerState(Protocol):
    """The part of the server that a connection uses."""

    authenticator: auth.Authenticator
    limits: Limits
    requests: RequestLog
    data_dir: Path
    on_request: Callable[[], None]
    faults: Faults | None
    gate: Gate | None
    router: Router
    stopping: bool

    def router_of(self, authenticated: auth.AuthenticatedRequest) -> Router: ...

    def place_of(self, connection: socket.socket) -> OpenConnection | None: ...

    def admit(self, place: OpenConnection, access: auth.Access) -> bool: ...

    def request_began(self) -> None: ...

    def request_ended(self) -> None: ...


_NO_HEAD = Head(method="GET", target="", minor=1, headers=Headers(), keep_alive=False, expects_continue=False)


class Connection(StreamRequestHandler):
    """Answers the requests of one connection in order."""

    disable_nagle_algorithm = True
    wbufsize = 64 * 1024
    body: WireBody
    _call: str
    _fault: int | None

    def setup(self) -> None:
        super().setup()
        self._server = cast(ServerState, self.server)
        self.connection.settimeout(self._server.limits.timeouts.body)
        self._reader = SocketReader(self.connection, self._server.limits)
        self.rfile.close()
        self.rfile = self._stream = io.BufferedReader(self._reader, 64 * 1024)
        self._place = self._server.place_of(self.connection)
        self._head = _NO_HEAD

    def handle(self) -> None:
        """Answer requests until one side closes the connection."""
        place = self._place
        self._close = place is None
        while place is not None and not self._close:
            place.wait()
            self._close = True
            try:
                self._reader.await_request(proven=place.access is not auth.Access.NONE)
                self._answer_next(place)
            except (TimeoutError, ConnectionError):
                return

    def _answer_next(self, place: OpenConnection) -> None:
        self._head = _NO_HEAD
        self._unframed = False
        self.body = WireBody(self._stream, length=0)
        try:
            head = read_head(self._stream)
        except HttpError as error:
            self._unframed = True
            self._send(error.response())
            self._linger()
            return
        if head is None:
            return
        self._head, self._close, place.idle = head, not head.keep_alive, False
        self._server.request_began()
        try:
            self._answer(head, place)
        finally:
            self._server.request_ended()
        self._finish_body()

    def _answer(self, head: Head, place: OpenConnection) -> None:
        began = machine_clock.monotonic()
        moment = now()
        raw_path, _, query = head.target.partition("?")
        self._logged_path = "(rejected before its path was read)"
        self._call, self._fault = "", None
        response = Response(499)
        try:
            response = self._respond(head, place, raw_path, query)
        finally:
            # Before the response is sent, so that a client that has it finds it in the log.
            self._server.requests.add(
                time=moment,
                method=head.method,
                target=without_secrets(self._logged_path, query),
                status=response.status,
                milliseconds=(machine_clock.monotonic() - began) * 1000,
                received=self.body.size,
                sent=self._length(response),
                client=head.headers.get("user-agent", "")[:200],
                call=self._call,
                fault=self._fault,
            )
        self._send(response)

    def _respond(self, head: Head, place: OpenConnection, raw_path: str, query: str) -> Response:
        error_form: ErrorForm | None = None
        method, headers = head.method, head.headers
        try:
            try:
                length = body_length(headers, method=method)
                promised = promised_length(headers) if length is None else None
            except HttpError:
                # The end of the body is unknown, and the body must not be read as the next request.
                self._close = self._unframed = True
                raise
            self._close = self._close or promised is not None
            self.body = WireBody(
                self._stream,
                length=length,
                promised=promised,
                before_reading=self._continue if head.expects_continue else None,
            )
            self._reader.await_body()
            fields = _parse_query(query)
            authenticated = self._server.authenticator.authenticate(
                method, raw_path, headers, fields, google_host=place.google_host
            )
            auth.CALLER.set(authenticated.access)
            self._logged_path = authenticated.path
            if not self._server.admit(place, authenticated.access):
                self._close = True
                raise HttpError(
                    503,
                    "",
                    "Programs without the emulator's own token have too many open connections. Close some "
                    "and retry.",
                    headers={"Retry-After": "1"},
                )
            if self._server.stopping:
                raise HttpError(503, "", "The emulator is stopping. Repeat the request in a moment.")
            is_document = auth.check_content_type(authenticated, headers, has_body=length != 0)
            self._server.on_request()
            router = self._server.router_of(authenticated)
            handler, match, self._call, error_form = router.find(method, authenticated.path)
            request = Request(
                method=method,
                path=authenticated.path,
                query=fields,
                headers=headers,
                body=decompressed(self.body, headers) if is_document else Body(self.body),
                base_url=authenticated.base_url,
                check_part=authenticated.check_part,
            )
            if self._server.gate is not None:
                self._server.gate.check(self._call, authenticated.path)
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
        except BodyFramingError as error:
            self._close = self._unframed = True
            return HttpError(400, "", f"The body cannot be read: {error}.").response()
        except ConnectionError:
            raise
        except TimeoutError:
            self._close = True
            seconds = self._server.limits.timeouts.body
            return HttpError(
                408, "", f"No more of the request arrived for {seconds:.0f} seconds. Send it again."
            ).response()
        except Exception as error:
            if is_out_of_space(error):
                log.error("No space left: %s %s: %s", method, self._logged_path, error)
                return no_space(self._server.data_dir).response()
            log.exception("%s %s failed", method, self._logged_path)
            return HttpError(
                500,
                "",
                f"Internal error of the emulator: {type(error).__name__}. For details, see emulator.log in "
                "the data folder.",
            ).response()

    def _continue(self) -> None:
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.wfile.flush()

    def _bodiless(self, response: Response) -> bool:
        return self._head.method == "HEAD" or response.status in (204, 304)

    def _length(self, response: Response) -> int | None:
        """Return the number of bytes in the response's body, or None for a stream."""
        if self._bodiless(response):
            return 0
        if isinstance(response.body, bytes):
            return len(response.body)
        return response.body.length if isinstance(response.body, FileRange) else None

    def _send(self, response: Response) -> None:
        body = response.body
        self.connection.settimeout(self._server.limits.timeouts.body)
        self._close = self._close or self._must_close()
        lines = [
            f"HTTP/1.1 {response.status} {_REASONS.get(response.status, '')}",
            f"Server: {_SERVER}",
            f"Date: {formatdate(usegmt=True)}",
        ]
        chunked = not isinstance(body, (bytes, FileRange))
        if response.status not in (204, 304):
            lines.append(f"Content-Type: {_one_line(response.content_type)}")
            if isinstance(body, bytes):
                lines.append(f"Content-Length: {len(body)}")
            elif isinstance(body, FileRange):
                lines.append(f"Content-Length: {body.length}")
            elif self._head.minor:
                lines.append("Transfer-Encoding: chunked")
            else:
                chunked, self._close = False, True
        lines.append("X-Content-Type-Options: nosniff")
        # An object may be a web page, whose scripts must not use the secret in its address.
        lines.append("Content-Security-Policy: sandbox")
        lines.extend(f"{name}: {_one_line(value)}" for name, value in response.headers.items())
        if self._close:
            lines.append("Connection: close")
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
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
        if isinstance(self.connection, SecuredSocket):
            sent = _send_secured(self.connection, part)
        else:
            sent = self.connection.sendfile(part.file, part.start, part.length) if part.length else 0
        if sent < part.length:
            # The file became shorter: closing shows the client that the content is incomplete.
            self._close = True

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
        if self._server.stopping or self.body.expecting or remaining is None or remaining > _MAX_DRAIN:
            return True
        # Nobody waits for a body that a client without a secret promises.
        return remaining > 0 and (self._place is None or self._place.access is auth.Access.NONE)

    def _finish_body(self) -> None:
        """Read the unread rest of the body: up to the next request, or so that closing loses no answer."""
        if not self._unframed and (self.body.complete or self.body.expecting):
            return
        if not self._close:
            while self.body.read(65536):
                pass
            return
        self._linger()

    def _linger(self) -> None:
        """Read for a few seconds before closing.

        Closing a socket with unread bytes resets the connection, and the client may lose the answer.
        """
        self.connection.shutdown(socket.SHUT_WR)
        until = machine_clock.monotonic() + self._server.limits.timeouts.linger
        while (left := until - machine_clock.monotonic()) > 0:
            self.connection.settimeout(left)
            if not self.connection.recv(1 << 20):
                return


def _send_secured(connection: SecuredSocket, part: FileRange) -> int:
    """Send a part of a file over TLS, for which Python's own `sendfile` reads small pieces."""
    part.file.seek(part.start)
    sent = 0
    while sent < part.length:
        data = part.file.read(min(_SECURED_BLOCK, part.length - sent))
        if not data:
            break
        connection.sendall(data)
        sent += len(data)
    return sent


def _parse_query(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except ValueError as error:
        raise HttpError(400, "", f"The query string cannot be read: {error}.") from error


def _one_line(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return "".join(c if " " <= c <= "~" else "?" for c in value)


def no_space(data_dir: Path) -> HttpError:
    """Return the error for a full disk: 507, which client libraries do not retry, unlike 500 and 503."""
    return HttpError(
        507,
        "",
        f"The disk of the emulator's data folder {data_dir} is full, so nothing was stored. Free some space, "
        "or start the emulator with another --data-dir, and repeat the request.",
    )
