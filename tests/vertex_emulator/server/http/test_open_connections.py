"""Connections that send nothing, or little, leave space for those who have the token."""

from __future__ import annotations

import http.client
import json
import re
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar, cast

import pytest

from support.emulated.emulator import ask
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.server.http.auth import Authenticator
from vertex_emulator.server.http.deadlines import Limits
from vertex_emulator.server.http.messages import Request, Response, Route, Router, json_response
from vertex_emulator.server.http.open_connections import most_connections
from vertex_emulator.server.http.request_log import RequestLog
from vertex_emulator.server.http.server import EmulatorServer, listen

TOKEN, SERVICE_TOKEN = "a-token", "a-replica-s-token"
NEVER = 10_000.0

T = TypeVar("T")


@contextmanager
def serving(limits: Limits, *routes: Route) -> Iterator[EmulatorServer]:
    server = EmulatorServer(
        listen(0),
        authenticator=Authenticator(token=TOKEN, storage_secret="s3cret", service_token=SERVICE_TOKEN),
        router=Router([Route("GET", "/ok", lambda *_: json_response("ok")), *routes]),
        requests=RequestLog(),
        data_dir=Path("/data/folder"),
        limits=limits,
    )
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Yield a stack that closes a test's connections."""
    with ExitStack() as stack:
        yield stack


def raw(port: int, held: ExitStack, data: bytes = b"") -> socket.socket:
    """Open a connection, and send `data`."""
    made = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT))
    made.sendall(data)
    return made


def kept_alive(port: int, held: ExitStack, token: str) -> http.client.HTTPConnection:
    """Open a connection that has shown a token."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    held.callback(connection.close)
    assert ok(connection, token)
    return connection


def ok(connection: http.client.HTTPConnection, token: str) -> bool:
    connection.request("GET", "/ok", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status == 200


HOST = b"Host: localhost\r\n"
WAITING = {
    "silent": b"",
    "half a request line": b"GET /ok HT",
    "half a head": b"GET /ok HTTP/1.1\r\n" + HOST + b"X: ",
    "answered without a token": b"GET /ok HTTP/1.1\r\n" + HOST + b"\r\n",
    "a wrong token": b"GET /ok HTTP/1.1\r\n" + HOST + b"Authorization: Bearer x\r\n\r\n",
    "a promised body": b"POST /ok HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n",
    "a promised body in chunks": b"POST /ok HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
    "a wrong token, and continue": b"POST /ok HTTP/1.1\r\n"
    + HOST
    + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    "many requests, and no answer is read": (b"GET /ok HTTP/1.1\r\n" + HOST + b"\r\n") * 3000,
}


@pytest.mark.parametrize("case", WAITING)
def test_connections_without_a_token_leave_room(held: ExitStack, case: str) -> None:
    """Open more than fit, with no deadline that could help."""
    limits = Limits(
        connections=8,
        timeouts=DaemonTimeouts(first_byte=NEVER, head=NEVER, body=NEVER),
        idle_seconds=NEVER,
    )
    with serving(limits) as server:
        owner = kept_alive(server.server_port, held, TOKEN)
        for _ in range(30):
            raw(server.server_port, held, WAITING[case])
            assert ok(owner, TOKEN), "a connection with the token stays open"
        assert ok(kept_alive(server.server_port, held, TOKEN), TOKEN)
        assert len(server.connections) <= 8


def test_the_one_that_waited_longest_is_closed(held: ExitStack) -> None:
    with serving(Limits(connections=4, timeouts=DaemonTimeouts(first_byte=NEVER))) as server:
        idle = []
        for number in range(4):
            idle.append(raw(server.server_port, held))
            eventually(lambda n=number: len(server.connections) == n + 1)
        kept_alive(server.server_port, held, TOKEN)
        assert idle[0].recv(1) == b""
        kept_alive(server.server_port, held, TOKEN)
        assert idle[1].recv(1) == b""
        for rest in idle[2:]:
            rest.sendall(b"GET /ok HTTP/1.1\r\n" + HOST + b"\r\n")
            assert rest.recv(12) == b"HTTP/1.1 401"


def test_idle_connections_with_the_token_give_way_to_new_ones(held: ExitStack) -> None:
    """Open many clients that stay idle, as tests with Google's clients do, beside one that is busy."""
    begun, release = threading.Event(), threading.Event()

    def wait(*_: object) -> Response:
        begun.set()
        assert release.wait(TIMEOUT)
        return json_response("done")

    with serving(Limits(connections=4), Route("GET", "/wait", wait)) as server:
        busy = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=TIMEOUT)
        held.callback(busy.close)
        busy.request("GET", "/wait", headers={"Authorization": f"Bearer {TOKEN}"})
        assert begun.wait(TIMEOUT)
        for _ in range(12):

            def another() -> bool:
                with suppress(AssertionError, OSError, http.client.HTTPException):
                    return ok(kept_alive(server.server_port, held, TOKEN), TOKEN)
                return False

            eventually(another)
            assert len(server.connections) <= 4
        release.set()
        assert busy.getresponse().read() == b'"done"'


def test_the_first_byte_has_a_deadline_without_a_token(held: ExitStack) -> None:
    """Connect again where the test was too slow for the deadline itself."""

    def in_time(act: Callable[[], T]) -> T:
        def tried() -> T | None:
            with suppress(ConnectionError):
                return act()
            return None

        return cast(T, eventually(tried))

    with serving(Limits(timeouts=DaemonTimeouts(first_byte=0.05), idle_seconds=NEVER)) as server:
        proven = in_time(lambda: kept_alive(server.server_port, held, TOKEN))
        assert raw(server.server_port, held).recv(1) == b""

        def refused() -> bytes:
            connection = raw(server.server_port, held, b"GET /ok HTTP/1.1\r\n" + HOST + b"\r\n")
            return b"".join(iter(lambda: connection.recv(65536), b""))  # the answer, then the end

        assert in_time(refused).startswith(b"HTTP/1.1 401")
        first_socket = proven.sock
        assert ok(proven, TOKEN)
        assert proven.sock is first_socket


def test_idle_connections_of_programs_leave_room(held: ExitStack) -> None:
    """Replicas have a token of their own; a program that keeps connections cannot keep the owner out."""
    with serving(Limits(connections=16)) as server:
        for _ in range(14):
            kept_alive(server.server_port, held, SERVICE_TOKEN)
        owners = [kept_alive(server.server_port, held, TOKEN) for _ in range(16)]
        assert all(ok(owner, TOKEN) for owner in owners)


def test_busy_connections_of_programs_leave_room(held: ExitStack) -> None:
    """Let programs hold as many requests as they can: some connections are reserved for the owner."""
    leave = threading.Event()

    def slow(_: Request, _match: re.Match[str]) -> Response:
        assert leave.wait(TIMEOUT)
        return json_response("done")

    with serving(Limits(connections=16), Route("GET", "/slow", slow)) as server:
        request = b"GET /slow HTTP/1.1\r\n" + HOST + f"Authorization: Bearer {SERVICE_TOKEN}\r\n\r\n".encode()
        busy = [raw(server.server_port, held, request) for _ in range(14)]
        eventually(lambda: sum(not each.idle for each in server.connections.all()) == 14)
        assert raw(server.server_port, held, request).recv(12) == b"HTTP/1.1 503"
        assert kept_alive(server.server_port, held, TOKEN)
        leave.set()
        assert {each.recv(12) for each in busy} == {b"HTTP/1.1 200"}


# Descriptors

WITHOUT_DESCRIPTORS = """
import os, resource, sys, time
from pathlib import Path
from vertex_emulator.server.http.auth import Authenticator
from vertex_emulator.server.http.deadlines import Limits
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.server.http.messages import Route, Router, json_response
from vertex_emulator.server.http.request_log import RequestLog
from vertex_emulator.server.http.server import EmulatorServer, listen
import json, threading

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
server = EmulatorServer(
    listen(0),
    authenticator=Authenticator(token="a-token", storage_secret="s"),
    router=Router([Route("GET", "/ok", lambda *_: json_response("ok"))]),
    requests=RequestLog(),
    data_dir=Path("/data"),
    limits=Limits(connections=256, timeouts=DaemonTimeouts(first_byte=600)),
)
threading.Thread(target=server.serve, daemon=True).start()
files = []
try:
    while True:
        files.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
began = time.monotonic()
print(server.server_port, flush=True)
while server.pauses < 5:
    time.sleep(0.001)
print(time.monotonic() - began, flush=True)
for file in files[:int(sys.argv[1])]:
    os.close(file)
sys.stdin.read()
"""


@pytest.fixture
def without_descriptors() -> Iterator[Callable[[int], subprocess.Popen[str]]]:
    """Return a function that starts a server without free descriptors, which later frees some."""
    with ExitStack() as stack:

        def start(freed: int) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(freed)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return process

        yield start


def test_no_descriptor_is_free(
    held: ExitStack, without_descriptors: Callable[[int], subprocess.Popen[str]]
) -> None:
    """Pause between attempts, which would otherwise take a core, and serve when a descriptor is free."""
    process = without_descriptors(1)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    waiting = raw(port, held, b"GET /ok HTTP/1.1\r\n" + HOST + b"Authorization: Bearer a-token\r\n\r\n")
    assert float(process.stdout.readline()) >= 0.9, "four pauses of a quarter of a second"
    assert waiting.recv(12) == b"HTTP/1.1 200"


def test_idle_connections_have_taken_all_descriptors(
    held: ExitStack, without_descriptors: Callable[[int], subprocess.Popen[str]]
) -> None:
    process = without_descriptors(10)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    for _ in range(40):
        raw(port, held)
    assert process.stdout.readline()
    assert kept_alive(port, held, TOKEN)


def test_the_limit_follows_from_that_of_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    expected = 256 if soft == resource.RLIM_INFINITY else min(256, soft // 4)
    assert most_connections() == expected, (soft, hard)


@pytest.mark.usefixtures("cold_emulators")
def test_an_emulator_under_attack(start: Callable[..., launcher.Emulator], held: ExitStack) -> None:
    """Open 300 idle connections, and take away the emulator's descriptors: it is found, and stops."""
    emulator = start()
    port = int(emulator.url.rpartition(":")[2])
    for _ in range(300):
        raw(port, held)
    assert launcher.find(emulator.data_dir) == emulator
    assert ask(emulator, "GET", "/_local/info").status == 200
    resource.prlimit(emulator.pid, resource.RLIMIT_NOFILE, (48, 48))
    for _ in range(300):
        raw(port, held)
    found = launcher.find(emulator.data_dir)
    assert found == emulator
    info = json.loads(ask(emulator, "GET", "/_local/info").body)
    assert info["pid"] == emulator.pid
    assert launcher.stop(emulator.data_dir)
