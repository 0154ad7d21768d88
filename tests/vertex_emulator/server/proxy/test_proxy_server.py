"""The proxy: its secret, its bounds, and its connections to the emulator and to others."""

from __future__ import annotations

import base64
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from google.cloud import aiplatform_v1
from google.oauth2.credentials import Credentials

from support.emulated.clients.door import Door
from support.emulated.emulator import ask, running
from support.waiting import TIMEOUT, eventually
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.server.http.auth import Access
from vertex_emulator.server.http.server import listen
from vertex_emulator.server.proxy.authority import Authority
from vertex_emulator.server.proxy.first_call import FirstCall
from vertex_emulator.server.proxy.server import ProxyLimits, ProxyServer
from vertex_emulator.server.proxy.tunnel_requests import RefusedError

TARGET = "CONNECT storage.googleapis.com:443 HTTP/1.1\r\n"


def word(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "field",
    [
        "",
        "Proxy-Authorization: Basic\r\n",
        "Proxy-Authorization: Basic !!!\r\n",
        f"Proxy-Authorization: Basic {word('emulator:wrong')}\r\n",
        f"Proxy-Authorization: Basic {word('emulator:')}\r\n",
        f"Proxy-Authorization: Basic {word('')}\r\n",
        "Proxy-Authorization: Basic \xe4\r\n",
        "Authorization: Basic SECRET\r\n",
        "Proxy-Authorization: Bearer SECRET\r\n",
        "Proxy-Authorization: Basic TOKEN\r\n",
    ],
)
def test_nobody_gets_in_without_the_secret(door: Door, field: str) -> None:
    field = field.replace("SECRET", word(f"emulator:{door.secret}"))
    answer = door.knock(f"{TARGET}{field.replace('TOKEN', word(f'emulator:{door.daemon.token}'))}\r\n")
    assert answer.startswith(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic ")
    assert b"emulator env --proxy" in answer
    assert door.secret.encode() not in answer


def test_replicas_have_a_secret_of_their_own(door: Door) -> None:
    secret = data_folder.replica_proxy_secret(door.daemon.token)
    assert secret != door.secret
    credentials = f"Proxy-Authorization: Basic {word(f'emulator:{secret}')}"
    with door.open() as connection:
        connection.sendall(f"{TARGET}{credentials}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET http://storage.googleapis.com/ HTTP/1.1\r\nCREDENTIALS\r\n\r\n", 405),
        ("GET /_local/info HTTP/1.1\r\nCREDENTIALS\r\n\r\n", 405),
        ("CONNECT storage.googleapis.com:443 HTTP/2.0\r\nCREDENTIALS\r\n\r\n", 400),
        ("hello\r\n\r\n", 400),
        ("\r\n\r\n", 400),
        (f"{TARGET}X: {'a' * 20_000}\r\n\r\n", 431),
        ("CONNECT storage.googleapis.com:80 HTTP/1.1\r\nCREDENTIALS\r\n\r\n", 403),
        ("CONNECT 127.0.0.1:443 HTTP/1.1\r\nCREDENTIALS\r\n\r\n", 403),
        ("CONNECT storage.googleapis.com HTTP/1.1\r\nCREDENTIALS\r\n\r\n", 400),
    ],
)
def test_other_requests_are_refused(door: Door, head: str, status: int) -> None:
    with door.open() as connection:
        connection.sendall(door.with_credentials(head).encode())
        assert connection.recv(12) == f"HTTP/1.1 {status}".encode()


def test_a_service_over_http(door: Door) -> None:
    url, bundle = door.url, str(door.certificates / "bundle.pem")
    session = requests.Session()
    session.trust_env = False
    session.proxies, session.verify = {"https": url}, bundle
    session.headers["Authorization"] = f"Bearer {data_folder.service_token(door.daemon.token)}"
    made = session.post("https://storage.googleapis.com/storage/v1/b?project=local", json={"name": "things"})
    assert made.status_code == 200
    content = bytes(range(256)) * 9000
    url = "https://storage.googleapis.com/upload/storage/v1/b/things/o?uploadType=media&name=a/b"
    assert session.post(url, data=content).json()["name"] == "a/b"
    assert session.get("https://things.storage.googleapis.com/a/b").content == content
    assert session.get("https://storage.googleapis.com/things/a/b", stream=True).raw.read(3) == b"\0\1\2"
    listed = session.get(
        "https://us-central1-aiplatform.googleapis.com/v1/projects/local/locations/us-central1/customJobs"
    )
    assert (listed.status_code, listed.json()) == (200, {})
    session.close()


@pytest.fixture
def _proxied(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", door.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(door.certificates / "bundle.pem"))


@pytest.mark.usefixtures("_proxied")
def test_a_service_over_grpc(door: Door) -> None:
    credentials: Any = Credentials(token=data_folder.service_token(door.daemon.token))  # type: ignore[no-untyped-call]
    client = aiplatform_v1.JobServiceClient(
        credentials=credentials,
        client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"},
    )
    assert client.transport.kind == "grpc"
    assert list(client.list_custom_jobs(parent="projects/local/locations/us-central1")) == []
    client.transport.close()  # type: ignore[no-untyped-call]


def test_the_addresses_are_known_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        record = data_folder.read_record(daemon.folder)
        assert record is not None and record.grpc and record.proxy
        found = ask(daemon, "GET", "/_local/info").json()
        assert (found["grpc"], found["proxy"]) == (record.grpc, record.proxy)
        assert daemon.proxy_url == (
            f"http://emulator:{data_folder.proxy_secret(daemon.token)}@{record.proxy}"
        )
        answer = socket.create_connection(("127.0.0.1", int(record.proxy.partition(":")[2])), timeout=60)
        answer.sendall(f"{TARGET}\r\n".encode())
        assert answer.recv(12) == b"HTTP/1.1 407"
        answer.close()


def test_a_start_with_taken_ports_uses_others(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        assert daemon.grpc_address and daemon.proxy_url
        record = data_folder.read_record(daemon.folder)
    assert record is not None and record.grpc and record.proxy
    taken = [listen(int(each.partition(":")[2])) for each in (record.grpc, record.proxy)]
    with running(tmp_path) as daemon:
        again = data_folder.read_record(daemon.folder)
        assert again is not None
        assert daemon.grpc_address == again.grpc != record.grpc
        assert again.proxy != record.proxy
        assert again.proxy is not None and again.proxy in str(daemon.proxy_url)
    for each in taken:
        each.close()


# A proxy of its own, with other bounds or other places


@contextmanager
def proxy(
    folder: Path,
    *,
    connect: Callable[[str, Access], socket.socket] | None = None,
    connections: int = 256,
    idle_seconds: float = 600.0,
    tunnel_head: float = DAEMON.tunnel_head,
    grpc_address: str | None = None,
) -> Iterator[tuple[ProxyServer, Callable[[str], socket.socket]]]:
    def refuse(host: str, _: Access) -> socket.socket:
        raise RefusedError(403, f"not to {host}")

    server = ProxyServer(
        listen(0),
        secrets={"s": Access.OWNER, "r": Access.SERVICES},
        authority=Authority(folder),
        serve_http=lambda connection, host: connection.close(),
        grpc_address=lambda: grpc_address,
        connect=connect or refuse,
        limits=ProxyLimits(
            connections=connections,
            idle_seconds=idle_seconds,
            timeouts=DaemonTimeouts(tunnel_head=tunnel_head),
        ),
    )

    def knock(head: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        head = head.replace("CREDENTIALS", f"Proxy-Authorization: Basic {word('emulator:s')}")
        connection.sendall(head.encode())
        return connection

    try:
        yield server, knock
    finally:
        server.stop()


OTHER = "CONNECT example.com:443 HTTP/1.1\r\nCREDENTIALS\r\n\r\n"


def read_all(connection: socket.socket) -> bytes:
    data = b""
    with connection:
        try:
            while part := connection.recv(65536):
                data += part
        except ConnectionResetError:
            return data
    return data


@pytest.mark.parametrize("sent", ["", "CONNECT stor", f"{TARGET}CREDENTIALS\r\n"])
def test_a_slow_head_is_cut_off(tmp_path: Path, sent: str) -> None:
    with proxy(tmp_path, tunnel_head=0.2) as (server, knock):
        assert read_all(knock(sent)) == b""
        eventually(lambda: len(server.connections) == 0)


def test_a_head_of_single_bytes_has_one_deadline(tmp_path: Path) -> None:
    """Expect the end although each byte comes in time."""
    with proxy(tmp_path, tunnel_head=0.5) as (server, knock):
        connection = knock("C")
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.05):
                try:
                    connection.send(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            eventually(lambda: len(server.connections) == 0)
        finally:
            stop.set()
            thread.join()
            connection.close()


def test_a_handshake_that_never_comes_is_cut_off(tmp_path: Path) -> None:
    with proxy(tmp_path, tunnel_head=0.2) as (server, knock):

        def is_answered() -> bool:
            with suppress(OSError):  # a slow test may have been cut off before its head
                return read_all(knock(f"{TARGET}CREDENTIALS\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            return False

        eventually(is_answered)
        eventually(lambda: len(server.connections) == 0)


def test_strangers_cannot_take_all_connections(tmp_path: Path) -> None:
    with proxy(tmp_path, connections=4) as (server, knock):
        strangers = [knock("CONNECT") for _ in range(4)]
        eventually(lambda: len(server.connections) == 4)
        assert read_all(knock(OTHER)).startswith(b"HTTP/1.1 403 ")
        for each in strangers:
            each.close()


def joined(ends: list[socket.socket]) -> Callable[[str, Access], socket.socket]:
    """Return a way to connect whose other ends are added to a list."""

    def connect(_host: str, _: Access) -> socket.socket:
        here, there = socket.socketpair()
        ends.append(there)
        return here

    return connect


def test_those_with_the_secret_keep_their_connections(tmp_path: Path) -> None:
    ends: list[socket.socket] = []
    with proxy(tmp_path, connections=2, connect=joined(ends)) as (server, knock):
        tunnels = [knock(OTHER) for _ in range(2)]
        for each in tunnels:
            assert each.recv(100).startswith(b"HTTP/1.1 200 ")
        answer = read_all(knock(OTHER))
        assert answer == b"" or answer.startswith(b"HTTP/1.1 503 ")
        for each in (*tunnels, *ends):
            each.sendall(b"x")
        assert [each.recv(1) for each in (*tunnels, *ends)] == [b"x"] * 4
        for each in (*tunnels, *ends):
            each.close()
        eventually(lambda: len(server.connections) == 0)


def test_hundreds_of_idle_clients_leave_room_for_another(door: Door) -> None:
    """Keep more connections to hosts of Google open than the proxy or the server has."""
    head = "GET /storage/v1/b?project=local HTTP/1.1\r\nHost: storage.googleapis.com\r\n"
    request = f"{head}Authorization: Bearer {door.daemon.token}\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(300):

            def another() -> bool:
                try:
                    client = stack.enter_context(door.secured("storage.googleapis.com"))
                    client.sendall(request.encode())
                    return client.recv(12) == b"HTTP/1.1 200"
                except (AssertionError, OSError):  # none has been idle for long enough yet
                    return False

            eventually(another)


def test_a_tunnel_passes_bytes_on_unchanged_and_half_closed(tmp_path: Path) -> None:
    ends: list[socket.socket] = []
    with proxy(tmp_path, connect=joined(ends)) as (server, knock):
        tunnel = knock(OTHER)
        assert tunnel.recv(100).startswith(b"HTTP/1.1 200 ")
        (end,) = ends
        content = bytes(range(256)) * 8192

        def send() -> None:
            tunnel.sendall(content)
            tunnel.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        received = b""
        while part := end.recv(65536):
            received += part
        sender.join()
        assert received == content
        end.sendall(b"the answer after the end of the question")
        end.close()
        assert read_all(tunnel) == b"the answer after the end of the question"
        eventually(lambda: len(server.connections) == 0)


def test_a_silent_tunnel_ends(tmp_path: Path) -> None:
    ends: list[socket.socket] = []
    with proxy(tmp_path, connect=joined(ends), idle_seconds=0.2) as (server, knock):
        tunnel = knock(OTHER)
        assert tunnel.recv(100).startswith(b"HTTP/1.1 200 ")
        tunnel.sendall(b"x")
        assert read_all(tunnel) == b""
        assert [ends[0].recv(1), ends[0].recv(1)] == [b"x", b""]
        ends[0].close()
        eventually(lambda: len(server.connections) == 0)


def test_a_tunnel_whose_client_does_not_begin_ends(tmp_path: Path) -> None:
    ends: list[socket.socket] = []
    with proxy(tmp_path, connect=joined(ends), tunnel_head=0.5) as (server, knock):

        def is_open_then_closed() -> bool:
            return read_all(knock(OTHER)).startswith(b"HTTP/1.1 200 ")

        eventually(is_open_then_closed)  # a slow test may be cut off before its head
        eventually(lambda: len(server.connections) == 0)
        for each in ends:
            each.close()


FRAME = struct.Struct(">BHBBI")
"""The head of an HTTP/2 frame, with its length in one byte and two."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, CALL = FRAME.pack(0, 6, 4, 0, 0) + bytes(6), FRAME.pack(0, 1, 1, 4, 1) + b"x"


@pytest.mark.parametrize("sent", [b"", PREFACE, PREFACE + SETTINGS, PREFACE + SETTINGS + CALL[:8]])
def test_a_tunnel_to_grpc_without_a_call_ends(tmp_path: Path, sent: bytes) -> None:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as grpc_server:
        address = f"127.0.0.1:{grpc_server.getsockname()[1]}"
        with proxy(tmp_path, tunnel_head=2.0, grpc_address=address) as (_, knock):
            context.load_verify_locations(tmp_path / "proxy" / "certificates" / "root.pem")

            def passes_and_ends() -> bool:
                with suppress(OSError), knock(f"{TARGET}CREDENTIALS\r\n\r\n") as tunnel:
                    assert tunnel.recv(100).startswith(b"HTTP/1.1 200 ")
                    with context.wrap_socket(tunnel, server_hostname="storage.googleapis.com") as secured:
                        secured.sendall(sent)
                        end, _ = grpc_server.accept()
                        end.settimeout(TIMEOUT)
                        return read_all(end) == sent
                return False  # a slow test may be cut off in its handshake

            eventually(passes_and_ends)


@pytest.mark.parametrize("size", [1, 2, 7, 9, 30, 1000])
def test_the_first_call_is_found_in_pieces_of_any_size(size: int) -> None:
    before, first = PREFACE + SETTINGS + SETTINGS, FirstCall(seconds=0)
    for data, has_come in ((before, False), (CALL, True), (b"anything", True)):
        for start in range(0, len(data), size):
            first.watch(data[start : start + size])
        assert first.has_come is has_come
        assert first.seconds_left(9.0) == (9.0 if has_come else 0.0)


def test_replicas_leave_room_for_the_owner(tmp_path: Path) -> None:
    ends: list[socket.socket] = []
    with proxy(tmp_path, connections=8, connect=joined(ends)) as (_, knock), ExitStack() as stack:
        replica = OTHER.replace("CREDENTIALS", f"Proxy-Authorization: Basic {word('emulator:r')}")
        for _ in range(7):
            assert stack.enter_context(knock(replica)).recv(100).startswith(b"HTTP/1.1 200 ")
        refused = read_all(knock(replica))
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Replicas have 7 connections through the proxy, which is the most. Close some" in refused
        assert stack.enter_context(knock(OTHER)).recv(100).startswith(b"HTTP/1.1 200 ")
        for each in ends:
            stack.enter_context(each)


def test_a_place_that_does_not_answer_is_a_bad_gateway(tmp_path: Path) -> None:
    def connect(host: str, _: Access) -> socket.socket:
        raise ConnectionRefusedError(111, "Connection refused")

    with proxy(tmp_path, connect=connect) as (_, knock):
        answer = read_all(knock(OTHER))
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert answer.endswith(b"example.com cannot be reached: Connection refused.\n")


def test_its_end_ends_all_connections(tmp_path: Path) -> None:
    ends: list[socket.socket] = []
    with proxy(tmp_path, connect=joined(ends)) as (server, knock):
        tunnel, waiting, secured = knock(OTHER), knock("CONN"), knock(f"{TARGET}CREDENTIALS\r\n\r\n")
        assert tunnel.recv(100).startswith(b"HTTP/1.1 200 ")
        assert secured.recv(100).startswith(b"HTTP/1.1 200 ")
        eventually(lambda: len(server.connections) == 3)
        server.stop()
        for each in (tunnel, waiting, secured):
            assert read_all(each) == b""
        ends[0].close()
        with pytest.raises(ConnectionRefusedError):
            knock("")
