"""HTTP as clients really speak it: connections used again, chunks, early refusals, slow clients."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.emulated.emulator import call, send_bytes
from support.waiting import TIMEOUT, eventually
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.server.http.auth import Authenticator
from vertex_emulator.server.http.deadlines import Limits
from vertex_emulator.server.http.messages import (
    ANY_METHOD,
    HttpError,
    Request,
    Response,
    Route,
    Router,
    json_response,
)
from vertex_emulator.server.http.request_log import RequestLog
from vertex_emulator.server.http.server import EmulatorServer, listen

TOKEN = "a-token"
AUTH = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"

JSON = {"Content-Type": "application/json"}


class Service:
    """A few handlers that show what the server does for them."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()
        self.closed = threading.Event()

    def routes(self) -> list[Route]:
        return [
            Route("POST", "/upload/storage/v1/echo", lambda r, _: Response(200, r.body.read(), "text/plain")),
            Route("POST", "/json", lambda r, _: json_response(r.body.json())),
            Route("POST", "/ignore", lambda r, _: json_response({"ignored": True})),
            Route(
                "GET", "/items/([^/]+)", lambda r, m: json_response({"item": m[1], "query": dict(r.query)})
            ),
            Route("GET", "/slow", self.slow),
            Route("GET", "/stream", self.stream),
            Route("GET", "/crash", self.crash),
            Route("GET", "/refuse", self.refuse),
            Route("GET", "/header", lambda r, _: Response(headers={"X-Name": "a\r\nX-Evil: 1"})),
            Route("DELETE", "/items/([^/]+)", lambda r, m: Response(204)),
            Route(ANY_METHOD, "/any", lambda r, _: json_response(r.method)),
        ]

    def slow(self, _: Request, _match: re.Match[str]) -> Response:
        self.entered.set()
        assert self.leave.wait(TIMEOUT)
        return json_response("done")

    def stream(self, _: Request, _match: re.Match[str]) -> Response:
        def parts() -> Iterator[bytes]:
            try:
                yield b"first"
                self.entered.set()
                self.leave.wait(TIMEOUT)
                while True:
                    yield b"x" * 100_000
            finally:
                self.closed.set()

        return Response(200, parts(), "text/plain")

    def crash(self, _: Request, _match: re.Match[str]) -> Response:
        raise RuntimeError("with a secret in it")

    def refuse(self, _: Request, _match: re.Match[str]) -> Response:
        raise HttpError(409, "", "There is one already.", details=({"@type": "x"},))


@contextmanager
def serving(service: Service, limits: Limits | None = None) -> Iterator[EmulatorServer]:
    server = EmulatorServer(
        listen(0),
        authenticator=Authenticator(token=TOKEN, storage_secret="s3cret"),
        router=Router(service.routes()),
        requests=RequestLog(),
        data_dir=Path("/data/folder"),
        limits=limits,
    )
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        service.leave.set()
        server.stop()
        thread.join()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[EmulatorServer]:
    with serving(service) as made:
        yield made


def ask(server: EmulatorServer, method: str, path: str, **options: Any) -> Any:
    return call(server.url, method, path, token=TOKEN, **options)


def connect(server: EmulatorServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=TIMEOUT)


def headers(**more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}", **{k.replace("_", "-"): v for k, v in more.items()}}


def test_one_connection_serves_all_kinds_in_a_row(server: EmulatorServer) -> None:
    connection = connect(server)
    connection.connect()
    first_socket = connection.sock
    for method, path, body, status in (
        ("GET", "/items/a%2Fb?x=1&x=2&y=", None, 200),
        ("POST", "/ignore", b'{"big": "' + b"x" * 5_000_000 + b'"}', 200),
        ("POST", "/json", b'{"a": 1}', 200),
        ("GET", "/refuse", None, 409),
        ("GET", "/nowhere", None, 404),
        ("PUT", "/items/a", b"{}", 405),
        ("POST", "/json", b"{", 400),
        ("DELETE", "/items/a", None, 204),
        ("GET", "/crash", None, 500),
        ("GET", "/items/last", None, 200),
    ):
        connection.request(method, path, body=body, headers=headers(Content_Type="application/json"))
        response = connection.getresponse()
        answer = response.read()
        assert response.status == status, path
        if path.startswith("/items/a%2F"):
            assert json.loads(answer) == {"item": "a%2Fb", "query": {"x": ["1", "2"], "y": [""]}}
    assert connection.sock is first_socket
    connection.close()


def test_errors_are_googles_envelope(server: EmulatorServer) -> None:
    assert ask(server, "GET", "/refuse").json() == {
        "error": {
            "code": 409,
            "message": "There is one already.",
            "status": "ALREADY_EXISTS",
            "details": [{"@type": "x"}],
        }
    }
    wrong_method = ask(server, "PUT", "/items/a")
    assert wrong_method.headers["Allow"] == "DELETE, GET"
    assert wrong_method.message == "/items/a answers DELETE, GET, not PUT."
    assert ask(server, "GET", "/nowhere").message.startswith("The emulator has no GET /nowhere.")
    assert ask(server, "BREW", "/any").status in (200, 501)


def test_an_error_inside_tells_no_details(server: EmulatorServer, caplog: pytest.LogCaptureFixture) -> None:
    answer = ask(server, "GET", "/crash")
    assert answer.status == 500
    assert "secret" not in answer.body.decode()
    assert "emulator.log" in answer.message
    assert "GET /crash failed" in caplog.text


def test_no_header_is_smuggled_out(server: EmulatorServer) -> None:
    answer = ask(server, "GET", "/header")
    assert answer.headers["X-Name"] == "a??X-Evil: 1"
    assert "X-Evil" not in answer.headers


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET /items/a HTTP/1.1\r\n" + AUTH + "Content-Length: x\r\n\r\n", 400),
        ("GET /items/a HTTP/1.1\r\n" + AUTH + "Content-Length: -1\r\n\r\n", 400),
        ("GET /items/a HTTP/1.1\r\n" + AUTH + "Content-Length: 5\r\n\r\nhello", 400),
        ("POST /json HTTP/1.1\r\n" + AUTH + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        ("POST /json HTTP/1.1\r\n" + AUTH + "Transfer-Encoding: gzip, chunked\r\n\r\n{}", 501),
        ("GET /" + "x" * 70_000 + " HTTP/1.1\r\n" + AUTH + "\r\n", 414),
        ("GET / HTTP/1.1\r\n" + AUTH + "X: " + "y" * 70_000 + "\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\n" + AUTH + "X: y\r\n" * 200 + "\r\n", 431),
        ("GET /items/a HTTP/3.0\r\n" + AUTH + "\r\n", 505),
        ("nonsense\r\n\r\n", 400),
        ("GET /items/a\r\n\r\n", 400),
        ("GET /items/a HTTP/1.1\r\nAuthorization: Bearer a-token\r\n\r\n", 400),
        ("GET /items/a?" + "&".join(f"k{n}=" for n in range(300)) + " HTTP/1.1\r\n" + AUTH + "\r\n", 400),
        ("GET /items/a?x=%ff HTTP/1.1\r\n" + AUTH + "\r\n", 400),
        ("GET /items/a HTTP/1.0\r\n" + AUTH + "\r\n", 200),
    ],
)
def test_malformed_requests(server: EmulatorServer, request_: str, status: int) -> None:
    received = send_bytes(server.url, request_.encode("latin-1"))
    assert received.split(b" ")[1] == str(status).encode()
    assert json.loads(received.partition(b"\r\n\r\n")[2])
    assert ask(server, "GET", "/items/still-there").status == 200


@pytest.mark.parametrize(
    ("chunks", "status"),
    [
        *((chunks, 400) for chunks in (b"zz\r\nhello\r\n", b"-5\r\nhello\r\n", b"5" * 2000)),
        *((chunks, 400) for chunks in (b"5\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n", b" 5\r\nhello\r\n")),
        *(
            (chunks, 400)
            for chunks in (
                b"5 ;x\r\nhello\r\n",
                b"5\x0b\r\nhello\r\n",
                b"5;\x00\r\nhello\r\n",
                b"5 x\r\nhello\r\n",
            )
        ),
        *((chunks, 400) for chunks in (b"5\r\nhello\n0\r\n\r\n", b"5\r\nhello  \r\n", b"5\r\nhelloXY")),
        *((chunks, 400) for chunks in (b"0\r\nno colon\r\n\r\n", b"0\r\nA : b\r\n\r\n", b"0\r\n\n")),
        *((chunks, None) for chunks in (b"5\r\nhelloX", b"5\r\nhel", b"5\r\nhello\r\n", b"0\r\nA: b\r\n")),
    ],
)
def test_broken_chunks_end_the_connection(server: EmulatorServer, chunks: bytes, status: int | None) -> None:
    """Send a second request after the chunks: it is never answered."""
    head = f"POST /upload/storage/v1/echo HTTP/1.1\r\n{AUTH}Transfer-Encoding: chunked\r\n\r\n"
    behind = b"" if status is None else f"GET /items/behind HTTP/1.1\r\n{AUTH}\r\n".encode()
    received = send_bytes(server.url, head.encode() + chunks + behind)
    assert received.startswith(b"" if status is None else f"HTTP/1.1 {status} ".encode())
    assert received.count(b"HTTP/1.1") == (0 if status is None else 1)
    assert b"behind" not in received
    assert ask(server, "GET", "/items/still-there").status == 200


def test_chunked_bodies(server: EmulatorServer) -> None:
    answer = ask(
        server,
        "POST",
        "/upload/storage/v1/echo",
        body=b"5\r\nhello\r\n6;name=value\r\n world\r\n0\r\nTrailer: x\r\n\r\n",
        headers={"Transfer-Encoding": "chunked"},
    )
    assert answer.body == b"hello world"


@pytest.mark.parametrize(("length", "status"), [(5, 200), (4, 400), (6, 400), (0, 400)])
def test_chunks_with_a_length_are_the_last_request(server: EmulatorServer, length: int, status: int) -> None:
    """Read the chunks, which must be as long as Content-Length says, and answer nothing behind them."""
    head = f"POST /upload/storage/v1/echo HTTP/1.1\r\n{AUTH}Transfer-Encoding: chunked\r\n"
    head += f"Content-Length: {length}\r\n\r\n"
    behind = f"GET /items/behind HTTP/1.1\r\n{AUTH}\r\n"
    received = send_bytes(server.url, f"{head}5\r\nhello\r\n0\r\n\r\n{behind}".encode())
    assert received.startswith(f"HTTP/1.1 {status} ".encode())
    assert received.count(b"HTTP/1.1") == 1
    assert b"\r\nConnection: close\r\n" in received
    assert received.endswith(b"\r\n\r\nhello") is (status == 200)
    assert b"behind" not in received


def test_two_requests_in_one_packet(server: EmulatorServer) -> None:
    one = f"POST /json HTTP/1.1\r\n{AUTH}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n1"
    two = f"GET /items/b HTTP/1.1\r\n{AUTH}Connection: close\r\n\r\n"
    received = send_bytes(server.url, (one + two).encode())
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.endswith(b'{"item":"b","query":{}}')


def test_a_document_that_is_too_long(server: EmulatorServer) -> None:
    body = b'"' + b"x" * (11 * 1024 * 1024) + b'"'
    answer = ask(server, "POST", "/json", body=body, headers={"Content-Type": "application/json"})
    assert answer.status == 413
    deep = ask(server, "POST", "/json", body=b"[" * 90_000, headers={"Content-Type": "application/json"})
    assert deep.status == 400
    for text in (b"NaN", b"{'a': 1}", b"\xff\xfe", b'{"a": Infinity}'):
        answer = ask(server, "POST", "/json", body=text, headers={"Content-Type": "application/json"})
        assert answer.status == 400, text


def test_a_refused_upload_hears_why(server: EmulatorServer) -> None:
    """Answer early: the response arrives although the client is still sending."""
    connection = connect(server)
    connection.request("POST", "/upload/storage/v1/echo", body=b"x" * 40_000_000)
    response = connection.getresponse()
    assert response.status == 401
    assert json.loads(response.read())["error"]["status"] == "UNAUTHENTICATED"
    connection.close()


def test_continue_is_said_only_when_the_body_is_wanted(server: EmulatorServer) -> None:
    def expect(path: str, token: str) -> tuple[bytes, bytes]:
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            client.sendall(f"{head}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n".encode())
            first = client.recv(65536)
            if first.startswith(b"HTTP/1.1 100"):
                client.sendall(b"hello")
                return first, client.recv(65536)
            assert client.recv(65536) == b"", "the connection cannot be used again"
            return first, b""

    first, second = expect("/upload/storage/v1/echo", TOKEN)
    assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert second.endswith(b"hello")
    first, _ = expect("/upload/storage/v1/echo", "wrong")
    assert first.startswith(b"HTTP/1.1 401")


def test_head_has_no_body(server: EmulatorServer) -> None:
    received = send_bytes(server.url, f"HEAD /any HTTP/1.1\r\n{AUTH}Connection: close\r\n\r\n".encode())
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"Content-Length: 6" in head
    assert body == b""


def test_streams_arrive_as_they_are_made_and_end_with_the_client(
    server: EmulatorServer, service: Service
) -> None:
    connection = connect(server)
    connection.request("GET", "/stream", headers=headers())
    response = connection.getresponse()
    assert response.read(5) == b"first"
    assert service.entered.wait(TIMEOUT)
    response.close()
    connection.close()
    service.leave.set()
    assert service.closed.wait(TIMEOUT), "the generator is closed when the client is gone"


@pytest.fixture
def impatient(service: Service) -> Iterator[EmulatorServer]:
    with serving(service, Limits(timeouts=DaemonTimeouts(head=0.2, body=0.2))) as made:
        yield made


def test_a_head_that_comes_in_drops_is_not_waited_for(impatient: EmulatorServer) -> None:
    """Send a head slowly: a limit for each byte alone would never end the request."""
    with socket.create_connection(("127.0.0.1", impatient.server_port), timeout=TIMEOUT) as client:
        client.sendall(b"GET /items/a HTTP/1.1\r\nX-Slow: ")

        def is_dropped() -> bool:
            try:
                client.sendall(b"x")
            except ConnectionError:
                return True
            return False

        eventually(is_dropped, every=0.01)


def test_a_body_that_stops_is_answered(impatient: EmulatorServer) -> None:
    head = f"POST /upload/storage/v1/echo HTTP/1.1\r\n{AUTH}Content-Length: 10\r\n\r\nhalf"
    received = send_bytes(impatient.url, head.encode(), shut=False)
    assert received.startswith(b"HTTP/1.1 408")


def test_too_many_connections(service: Service) -> None:
    with serving(service, Limits(connections=4)) as server:
        held = [connect(server) for _ in range(4)]
        for connection in held:
            connection.request("GET", "/items/a", headers=headers())
            connection.getresponse().read()
        answers = {ask(server, "GET", "/items/a").status for _ in range(3)}
        assert answers == {503}
        for connection in held:
            connection.close()
        eventually(lambda: ask(server, "GET", "/items/a").status == 200)


def test_stop_lets_running_requests_finish(service: Service) -> None:
    with serving(service) as server:
        answers: list[Any] = []
        running = threading.Thread(target=lambda: answers.append(ask(server, "GET", "/slow")))
        running.start()
        assert service.entered.wait(TIMEOUT)
        idle = connect(server)
        idle.request("GET", "/items/a", headers=headers())
        idle.getresponse().read()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        eventually(lambda: server.stopping)
        service.leave.set()
        stopping.join(TIMEOUT)
        running.join(TIMEOUT)
        assert [answer.json() for answer in answers] == ["done"]
        idle.close()
        with pytest.raises(ConnectionRefusedError):
            ask(server, "GET", "/items/a")


def test_many_connections_at_once(server: EmulatorServer) -> None:
    failures: list[Any] = []

    def work(number: int) -> None:
        connection = connect(server)
        for turn in range(20):
            connection.request("GET", f"/items/{number}-{turn}", headers=headers())
            answer = json.loads(connection.getresponse().read())
            if answer["item"] != f"{number}-{turn}":
                failures.append(answer)
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert failures == []
    assert server.requests.entries()[-1]["number"] == 64 * 20


def test_the_address_is_this_machine_only(server: EmulatorServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert urlsplit(server.url).hostname == "127.0.0.1"


def test_threads_that_cannot_be_started_take_no_place(service: Service) -> None:
    """Make thread starts fail, as if a program has used up the user's limit of processes."""
    with serving(service) as server:
        before = threading.stack_size(1 << 46)
        try:
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
                    assert connection.recv(1) == b""
        finally:
            threading.stack_size(before)
        assert len(server.connections) == 0
        assert call(server.url, "POST", "/json", body=[1], token=TOKEN).json() == [1]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": "\\ud800"}', "not Unicode"),
        (b'["\\udc00\\ud800"]', "not Unicode"),
        (b'{"\\ud800": 1}', "not Unicode"),
        (b"[1e999]", "1e999 is too large a number"),
        (b"[-1e999]", "too large"),
    ],
)
def test_json_that_could_not_be_written_again(server: EmulatorServer, body: bytes, words: str) -> None:
    answer = call(server.url, "POST", "/json", body=body, token=TOKEN, headers=JSON)
    assert answer.status == 400
    assert words in answer.message


def test_whole_surrogate_pairs_are_text(server: EmulatorServer) -> None:
    answer = call(server.url, "POST", "/json", body=b'["\\ud83d\\ude00"]', token=TOKEN, headers=JSON)
    assert answer.json() == ["\U0001f600"]
