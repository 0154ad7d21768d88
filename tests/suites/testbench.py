"""The part of Google's storage-testbench that its clients' conformance tests use, in front of an emulator.

Those tests declare faults as a "retry test" (`POST /retry_test`), and send its id with each call in the
header `x-retry-test-id`. Each call of a method takes that method's next instruction. The instructions, and
what each does, are those of github.com/googleapis/storage-testbench (README.md, "Forced Failures"). All
other requests are passed to the emulator unchanged.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import urlsplit

INSTRUCTION = re.compile(
    r"return-(?:(?P<status>[1-5]\d\d)(?:-after-(?P<sent>\d+)K)?"
    r"|(?P<reset>reset-connection)"
    r"|(?P<broken>broken-stream)(?:-after-(?P<received>\d+)K)?)"
)
_BROKEN_STREAM_BYTES = 4
"""Bytes of a broken stream that arrive, as in storage-testbench."""

_BUCKET = r"/storage/v1/b/[^/]+"
_OBJECT = rf"{_BUCKET}/o/[^/]+"
_PROJECT = r"/storage/v1/projects/[^/]+"
_METHODS = tuple(
    (method, re.compile(path), name)
    for method, path, name in (
        ("GET", r"/storage/v1/b", "storage.buckets.list"),
        ("POST", r"/storage/v1/b", "storage.buckets.insert"),
        ("GET", _BUCKET, "storage.buckets.get"),
        ("PATCH", _BUCKET, "storage.buckets.patch"),
        ("PUT", _BUCKET, "storage.buckets.update"),
        ("DELETE", _BUCKET, "storage.buckets.delete"),
        ("GET", rf"{_BUCKET}/iam", "storage.buckets.getIamPolicy"),
        ("PUT", rf"{_BUCKET}/iam", "storage.buckets.setIamPolicy"),
        ("GET", rf"{_BUCKET}/iam/testPermissions", "storage.buckets.testIamPermissions"),
        ("POST", rf"{_BUCKET}/lockRetentionPolicy", "storage.buckets.lockRetentionPolicy"),
        ("GET", rf"{_BUCKET}/acl", "storage.bucket_acl.list"),
        ("POST", rf"{_BUCKET}/acl", "storage.bucket_acl.insert"),
        ("GET", rf"{_BUCKET}/acl/[^/]+", "storage.bucket_acl.get"),
        ("PATCH", rf"{_BUCKET}/acl/[^/]+", "storage.bucket_acl.patch"),
        ("PUT", rf"{_BUCKET}/acl/[^/]+", "storage.bucket_acl.update"),
        ("DELETE", rf"{_BUCKET}/acl/[^/]+", "storage.bucket_acl.delete"),
        ("GET", rf"{_BUCKET}/defaultObjectAcl", "storage.default_object_acl.list"),
        ("POST", rf"{_BUCKET}/defaultObjectAcl", "storage.default_object_acl.insert"),
        ("GET", rf"{_BUCKET}/defaultObjectAcl/[^/]+", "storage.default_object_acl.get"),
        ("PATCH", rf"{_BUCKET}/defaultObjectAcl/[^/]+", "storage.default_object_acl.patch"),
        ("PUT", rf"{_BUCKET}/defaultObjectAcl/[^/]+", "storage.default_object_acl.update"),
        ("DELETE", rf"{_BUCKET}/defaultObjectAcl/[^/]+", "storage.default_object_acl.delete"),
        ("GET", rf"{_BUCKET}/o", "storage.objects.list"),
        ("GET", _OBJECT, "storage.objects.get"),
        ("GET", r"/download" + _OBJECT, "storage.objects.get"),
        ("PATCH", _OBJECT, "storage.objects.patch"),
        ("PUT", _OBJECT, "storage.objects.update"),
        ("DELETE", _OBJECT, "storage.objects.delete"),
        ("POST", r"(?:/resumable)?/upload/storage/v1/b/[^/]+/o", "storage.objects.insert"),
        ("PUT", r"(?:/resumable)?/upload/storage/v1/b/[^/]+/o", "storage.objects.insert"),
        ("GET", rf"{_OBJECT}/acl", "storage.object_acl.list"),
        ("POST", rf"{_OBJECT}/acl", "storage.object_acl.insert"),
        ("GET", rf"{_OBJECT}/acl/[^/]+", "storage.object_acl.get"),
        ("PATCH", rf"{_OBJECT}/acl/[^/]+", "storage.object_acl.patch"),
        ("PUT", rf"{_OBJECT}/acl/[^/]+", "storage.object_acl.update"),
        ("DELETE", rf"{_OBJECT}/acl/[^/]+", "storage.object_acl.delete"),
        ("POST", rf"{_OBJECT}/compose", "storage.objects.compose"),
        ("POST", rf"{_OBJECT}/copyTo/b/[^/]+/o/[^/]+", "storage.objects.copy"),
        ("POST", rf"{_OBJECT}/rewriteTo/b/[^/]+/o/[^/]+", "storage.objects.rewrite"),
        ("GET", rf"{_PROJECT}/serviceAccount", "storage.serviceaccount.get"),
    )
)

_OF_FIXTURES = re.compile(rf"{_BUCKET}/notificationConfigs(?:/[^/]+)?|{_PROJECT}/hmacKeys(?:/[^/]+)?")
_STAND_IN = {
    "id": "1",
    "topic": "",
    "metadata": {"accessId": "1", "state": "INACTIVE"},
    "accessId": "1",
    "secret": "",
}
"""The answer to calls about notifications and HMAC keys without the id of a retry test.

Fixtures of every test create both, also for tests that do not use them. The emulator has neither.
"""


def method_of(verb: str, path: str) -> str:
    """Return the API's method of a request, in storage-testbench's spelling, or "" if it has none."""
    return next((name for method, form, name in _METHODS if method == verb and form.fullmatch(path)), "")


@dataclass
class RetryTests:
    """The declared faults: for each retry test the instructions that are left, by method."""

    _left: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, instructions: Mapping[str, list[str]]) -> str:
        """Declare faults and return their id. Raises ValueError for an unknown method or instruction."""
        known = {name for _, _, name in _METHODS}
        for method, given in instructions.items():
            wrong = [each for each in given if INSTRUCTION.fullmatch(each) is None]
            if method not in known or wrong:
                raise ValueError(f"{method}: {wrong or 'not a method of these tests'}")
        identifier = secrets.token_hex(8)
        with self._lock:
            self._left[identifier] = {method: list(given) for method, given in instructions.items()}
        return identifier

    def to_json(self, identifier: str) -> dict[str, Any] | None:
        """Return the state of a retry test, or None for an unknown id."""
        with self._lock:
            left = self._left.get(identifier)
            if left is None:
                return None
            completed = not any(left.values())
            return {"id": identifier, "instructions": dict(left), "completed": completed}

    def remove(self, identifier: str) -> None:
        with self._lock:
            self._left.pop(identifier, None)

    def next(self, identifier: str, method: str) -> re.Match[str] | None:
        """Return the next instruction of calls of that method, which stays until it is `used`."""
        with self._lock:
            left = self._left.get(identifier, {}).get(method)
            return INSTRUCTION.fullmatch(left[0]) if left else None

    def used(self, identifier: str, method: str) -> None:
        with self._lock:
            self._left[identifier][method].pop(0)


@contextmanager
def in_front_of(storage_url: str) -> Iterator[str]:
    """Serve the testbench in front of the emulator's address for storage clients. Yield its own address.

    The path of both, which holds the emulator's secret, is the same.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    target = urlsplit(storage_url)
    address = f"127.0.0.1:{server.server_address[1]}"
    cast(Any, server).front = _Front(
        host=target.netloc, prefix=target.path.rstrip("/"), address=address, tests=RetryTests()
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://{address}{target.path}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, kw_only=True)
class _Front:
    """The emulator's HOST:PORT, the path of its storage address, this server's HOST:PORT, the faults."""

    host: str
    prefix: str
    address: str
    tests: RetryTests


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A request, with its path after the prefix."""

    verb: str
    path: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 64 * 1024
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        front: _Front = cast(Any, self.server).front
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = self.path.partition("?")[0]
        if not whole.startswith(f"{front.prefix}/"):
            self._answer(403, b"{}")
            return
        call = _Call(
            verb=self.command,
            path=whole.removeprefix(front.prefix),
            target=self.path,
            headers={name: value for name, value in self.headers.items() if name.lower() != "host"},
            body=body,
        )
        if call.path == "/retry_test" or call.path.startswith("/retry_test/"):
            self._declare(front, call)
        elif _OF_FIXTURES.fullmatch(call.path) and "x-retry-test-id" not in self.headers:
            self._answer(204 if call.verb == "DELETE" else 200, json.dumps(_STAND_IN).encode())
        else:
            self._pass(front, call)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 (names of http.server)

    def _declare(self, front: _Front, call: _Call) -> None:
        identifier = call.path.removeprefix("/retry_test").removeprefix("/")
        if call.verb == "POST":
            try:
                identifier = front.tests.add(json.loads(call.body)["instructions"])
            except (ValueError, KeyError) as error:
                self._answer(400, json.dumps({"error": {"message": str(error)}}).encode())
                return
        state = front.tests.to_json(identifier)
        if call.verb == "DELETE":
            front.tests.remove(identifier)
        self._answer(200 if state else 404, json.dumps(state or {}).encode())

    def _pass(self, front: _Front, call: _Call) -> None:
        method = method_of(call.verb, call.path)
        identifier = self.headers.get("x-retry-test-id", "")
        fault = front.tests.next(identifier, method)
        if fault is None:
            self._relay(front, call)
        elif fault["reset"]:
            front.tests.used(identifier, method)
            # SO_LINGER with 0 seconds: closing sends a reset (socket(7)).
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._break()
        elif fault["broken"]:
            limit = int(fault["received"]) * 1024 if fault["received"] else _BROKEN_STREAM_BYTES
            if self._relay(front, call, limit=limit):
                front.tests.used(identifier, method)
        elif fault["sent"]:
            size = _part_of_piece(call, int(fault["sent"]) * 1024)
            if size is None:
                self._relay(front, call)
            else:
                front.tests.used(identifier, method)
                _send_part(front, call, size)
                self._fail(int(fault["status"]))
        else:
            front.tests.used(identifier, method)
            self._fail(int(fault["status"]))

    def _relay(self, front: _Front, call: _Call, *, limit: int | None = None) -> bool:
        """Pass the call and its response on. With `limit`, break a body of that size or longer after it.

        Return whether the body was broken.
        """
        connection = http.client.HTTPConnection(front.host, timeout=120)
        try:
            connection.request(call.verb, call.target, body=call.body, headers=dict(call.headers))
            response = connection.getresponse()
            data = response.read()
            headers = response.getheaders()
        finally:
            connection.close()
        # Links in the response lead through this server as well.
        here, there = front.address.encode(), front.host.encode()
        if (response.getheader("Content-Type") or "").startswith("application/json"):
            data = data.replace(there, here)
        broken = limit is not None and len(data) >= limit
        self.send_response(response.status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value.replace(front.host, front.address))
        length = response.getheader("Content-Length") if call.verb == "HEAD" else str(len(data))
        if length is not None and response.status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        if broken:
            self.wfile.write(data[:limit])
            self._break()
        elif call.verb != "HEAD":
            self.wfile.write(data)
        return broken

    def _fail(self, status: int) -> None:
        message = f"Retry Test: Caused a {status}"
        self._answer(status, json.dumps({"error": {"code": status, "message": message}}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _break(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
        self.connection.close()

    def log_message(self, *_: Any) -> None:
        pass


_PIECE = re.compile(r"bytes (\d+)-(\d+)/(?:\d+|\*)")


def _part_of_piece(call: _Call, until: int) -> int | None:
    """Return how much of a resumable upload's piece leads to byte `until`, or None if the piece does not."""
    match = _PIECE.fullmatch(next((v for k, v in call.headers.items() if k.lower() == "content-range"), ""))
    if match is None or not int(match[1]) < until <= int(match[2]) + 1:
        return None
    return until - int(match[1])


def _send_part(front: _Front, call: _Call, size: int) -> None:
    """Send only the first `size` bytes of a piece, close, and wait until the emulator has closed, too."""
    connection = http.client.HTTPConnection(front.host, timeout=120)
    try:
        connection.putrequest(call.verb, call.target, skip_accept_encoding=True)
        for name, value in call.headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(call.body[:size])
        connection.sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while connection.sock.recv(65536):
                pass
    finally:
        connection.close()
