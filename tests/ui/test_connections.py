"""Connections of the dashboard: those without the token neither use them up nor keep them."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from pulumi_vertex_training.ui.server.access import Access
from pulumi_vertex_training.ui.server.connections import Connections, protocol
from support.emulated.ui.dashboard import running
from support.tables import not_empty
from support.waiting import TIMEOUT, eventually

MOST = 8
LONG = replace(ORDINARY, dashboard_first_byte=600.0, dashboard_request=600.0)
HALF = b"GET / HTTP/1.1\r\nX: "


@contextmanager
def served(timeouts: Timeouts) -> Iterator[int]:
    """Serve a page of one word behind the access and the connections of the dashboard, and yield the port."""

    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse("page")

    listener = socket.create_server(("127.0.0.1", 0))
    port = int(listener.getsockname()[1])
    connections = Connections(MOST)
    app = Starlette(routes=[Route("/", page)])
    access = Access(app, port=port, token="token", prove=connections.prove)
    config = uvicorn.Config(
        access,
        http=protocol(connections, timeouts),
        backlog=MOST,
        log_level="critical",
        lifespan="off",
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        eventually(lambda: server.started)
        yield port
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listener.close()


def connected(port: int, data: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
    connection.sendall(data)
    return connection


def request(port: int, *, cookie: str = "token") -> bytes:
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: vertex-training-{port}={cookie}\r\n\r\n"
    return head.encode()


def status(connection: socket.socket) -> bytes:
    """Read an answer and return its status line, b"" if the connection was closed without one."""
    with suppress(ConnectionError), connection.makefile("rb") as answer:
        first, length = answer.readline(), 0
        for line in iter(answer.readline, b"\r\n"):
            if not line:
                return first.rstrip()
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        answer.read(length)
        return first.rstrip()
    return b""


@pytest.mark.parametrize("data", [b"", HALF], ids=["silent", "half a request"])
def test_connections_without_the_token_make_room(data: bytes) -> None:
    with served(LONG) as port, ExitStack() as stack:
        browser = stack.enter_context(connected(port, request(port)))
        assert status(browser) == b"HTTP/1.1 200 OK"
        others = [stack.enter_context(connected(port, data)) for _ in range(5 * MOST)]
        with connected(port, request(port)) as another:
            assert status(another) == b"HTTP/1.1 200 OK"
        for closed in not_empty(others[: 3 * MOST]):
            assert status(closed) == b""
        browser.sendall(request(port))
        assert status(browser) == b"HTTP/1.1 200 OK"


def test_a_refused_browser_gets_the_reason() -> None:
    with served(LONG) as port, ExitStack() as stack:
        for _ in range(MOST):
            browser = stack.enter_context(connected(port, request(port)))
            assert status(browser) == b"HTTP/1.1 200 OK"
        with connected(port) as one_more:
            answer = b"".join(iter(lambda: one_more.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 503 Busy\r\n")
        assert answer.endswith(b"All 8 connections of the dashboard are in use. Close pages and retry.\n")


def test_requests_have_a_deadline() -> None:
    timeouts = replace(ORDINARY, dashboard_first_byte=0.2, dashboard_request=0.2)
    with served(timeouts) as port:
        post = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9\r\n\r\n".encode()
        for data in (b"", HALF, post, request(port, cookie="wrong") + HALF):
            with connected(port, data) as connection:
                while status(connection):  # what was answered before
                    pass


def test_the_command_has_these_deadlines(tmp_path: Path) -> None:
    """Use no emulator: the deadlines of its tests are longer."""
    usual = {**os.environ, "VERTEX_TRAINING_TIMEOUT_SCALE": "1"}
    with running("--data-dir", str(tmp_path), env=usual) as found, connected(found.port) as silent:
        assert status(silent) == b""
