"""The places to which the proxy connects, and those that it refuses."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.clients.forged_certificates import of_this_machine
from support.waiting import TIMEOUT
from vertex_emulator.server.http.auth import Access
from vertex_emulator.server.http.server import listen
from vertex_emulator.server.proxy.authority import Authority
from vertex_emulator.server.proxy.destinations import Address, check_address, connect
from vertex_emulator.server.proxy.hosts import is_emulated
from vertex_emulator.server.proxy.server import ProxyServer
from vertex_emulator.server.proxy.tunnel_requests import RefusedError, parse, read_head
from vertex_emulator.server.proxy.upstream import upstream_of


def refusal(target: str) -> str:
    with pytest.raises(RefusedError) as caught:
        parse(target)
    return f"{caught.value.status} {caught.value}"


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("storage.googleapis.com:443", "storage.googleapis.com"),
        ("Storage.GoogleAPIs.com.:443", "storage.googleapis.com"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("192.0.2.1:443", "192.0.2.1"),
    ],
)
def test_targets(target: str, host: str) -> None:
    assert parse(target) == host


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("169.254.169.254:80", "403 The proxy connects to port 443 only"),
        ("storage.googleapis.com:80", "403 The proxy connects to port 443 only"),
        ("storage.googleapis.com", "400 The target of CONNECT must be HOST:PORT"),
        ("storage.googleapis.com:", "400 The target of CONNECT must be HOST:PORT"),
        ("storage.googleapis.com:443443", "400 The target of CONNECT must be HOST:PORT"),
        ("storage.googleapis.com:４４３", "400 The target of CONNECT must be HOST:PORT"),
        (":443", "400 The target of CONNECT is not the name of a host"),
        ("a b:443", "400 The target of CONNECT is not the name of a host"),
        ("user@gcr.io:443", "400 The target of CONNECT is not the name of a host"),
        ("gcr.io/x:443", "400 The target of CONNECT is not the name of a host"),
        ("gcr.io\x00.example.com:443", "400 The target of CONNECT is not the name of a host"),
        ("http://gcr.io:443", "400 The target of CONNECT is not the name of a host"),
    ],
)
def test_targets_that_are_refused(target: str, why: str) -> None:
    assert refusal(target).startswith(why)


@pytest.mark.parametrize(
    ("host", "emulated"),
    [
        ("storage.googleapis.com", True),
        ("www.googleapis.com", True),
        ("my-bucket.storage.googleapis.com", True),
        ("europe-west4-aiplatform.googleapis.com", True),
        ("aiplatform.us-central1.rep.googleapis.com", True),
        ("us-central1-prediction-aiplatform.googleapis.com", True),
        ("cloudresourcemanager.googleapis.com", True),
        ("serviceusage.googleapis.com", True),
        ("cloudquotas.googleapis.com", True),
        ("us-docker.pkg.dev", True),
        ("eu.gcr.io", True),
        ("oauth2.googleapis.com", True),
        ("bigquery.googleapis.com", False),
        ("us-central1-python.pkg.dev", False),
        ("example.com", False),
        ("storage.googleapis.com.example.com", False),
        ("xstorage.googleapis.com", False),
    ],
)
def test_hosts_of_the_emulator(host: str, emulated: bool) -> None:
    assert is_emulated(host) is emulated


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(RefusedError) as caught:
        check_address(address, "example.com")
    assert caught.value.status == 403


@pytest.mark.parametrize("address", ["8.8.8.8", "2607:f8b0::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses(address: str) -> None:
    check_address(address, "example.com")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "x.localhost",
        "metadata.google.internal",
        "printer.local",
        "intranet",
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "example.0177",
    ],
)
@pytest.mark.parametrize("environment", [{}, {"https_proxy": "http://127.0.0.1:9"}], ids=["direct", "proxy"])
def test_hosts_that_are_refused_without_a_look_up(host: str, environment: dict[str, str]) -> None:
    with pytest.raises(RefusedError) as caught:
        connect(host, Access.OWNER, environment)
    assert caught.value.status == 403


@pytest.mark.parametrize("environment", [{}, {"https_proxy": "http://127.0.0.1:9"}], ids=["direct", "proxy"])
def test_a_name_of_a_private_address_is_refused(environment: dict[str, str]) -> None:
    """Expect no connection to its public address either: the resolver is a stand-in of a hostile one."""

    def resolve(_host: str) -> list[Address]:
        return [(socket.AF_INET, ("8.8.8.8", 443)), (socket.AF_INET, ("127.0.0.1", 443))]

    with pytest.raises(RefusedError, match=r"public addresses only; rebinding.example.com has 127.0.0.1"):
        connect("rebinding.example.com", Access.OWNER, environment, resolve=resolve)


@dataclass
class OtherProxy:
    """The proxy of a company: it records the requests, and answers `answer`."""

    listener: socket.socket
    answer: bytes = b"HTTP/1.1 200 OK\r\n\r\nhello"
    tls: ssl.SSLContext | None = None
    heads: list[bytes] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    if self.tls is None:
                        self.respond(connection)
                        continue
                    with self.tls.wrap_socket(connection, server_side=True) as secured:
                        self.respond(secured)
                except OSError:
                    continue

    def respond(self, connection: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1000)
        self.heads.append(head)
        connection.sendall(self.answer)
        while data := connection.recv(1000):
            connection.sendall(data.upper())


@pytest.fixture
def company() -> Iterator[OtherProxy]:
    found = OtherProxy(listen(0))
    thread = threading.Thread(target=found.serve)
    thread.start()
    yield found
    found.listener.shutdown(socket.SHUT_RDWR)
    found.listener.close()
    thread.join()


HOST = "host-of-nobody.invalid"


def test_other_hosts_are_reached_through_the_callers_own_proxy(company: OtherProxy) -> None:
    url = f"http://me:p%40ss@127.0.0.1:{company.port}"
    with connect(HOST, Access.OWNER, {"https_proxy": url}) as connection:
        assert connection.recv(100) == b"hello", "nothing after the head is lost"
    line, host, credentials, *_ = company.heads[0].split(b"\r\n")
    assert (line, host) == (f"CONNECT {HOST}:443 HTTP/1.1".encode(), f"Host: {HOST}:443".encode())
    assert credentials == b"Proxy-Authorization: Basic " + base64.b64encode(b"me:p@ss")


def test_jobs_reach_no_name_without_a_checked_address_there(company: OtherProxy) -> None:
    environment = {"https_proxy": f"http://127.0.0.1:{company.port}"}
    with pytest.raises(RefusedError) as caught:
        connect(HOST, Access.SERVICES, environment)
    assert str(caught.value) == (
        f"This machine cannot resolve {HOST}, so its address cannot be checked before your own proxy "
        "connects to it for a job. To allow it, add the host with its public address to /etc/hosts."
    )
    assert company.heads == []
    public: list[Address] = [(socket.AF_INET, ("93.184.216.34", 443))]
    with connect("example.com", Access.SERVICES, environment, resolve=lambda _: public) as connection:
        assert connection.recv(100) == b"hello"


@pytest.fixture
def authority(company: OtherProxy, tmp_path: Path) -> Path:
    """Give the company's proxy TLS. Return its authority."""
    company.tls = of_this_machine(tmp_path / "company.pem")
    return tmp_path / "company.pem"


def test_the_callers_own_proxy_may_have_tls(
    company: OtherProxy, authority: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Pass bytes through both proxies, also those that come with the answer to CONNECT."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    environment = {"https_proxy": f"https://me:secret@127.0.0.1:{company.port}"}
    server = ProxyServer(
        listen(0),
        secrets={"s": Access.OWNER},
        authority=Authority(tmp_path),
        serve_http=lambda connection, host: connection.close(),
        grpc_address=lambda: None,
        connect=lambda host, access: connect(host, access, environment),
    )
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            credentials = base64.b64encode(b"emulator:s").decode()
            head = f"CONNECT {HOST}:443 HTTP/1.1\r\nProxy-Authorization: Basic {credentials}\r\n\r\n"
            client.sendall(head.encode())
            assert read_head(client, seconds=TIMEOUT)[0].startswith("HTTP/1.1 200 ")
            received = client.makefile("rb")
            client.sendall(b"and back")  # with TLS the client begins
            assert received.read(13) == b"helloAND BACK"
    finally:
        server.stop()
    assert company.heads[0].startswith(f"CONNECT {HOST}:443 HTTP/1.1\r\n".encode())


@pytest.mark.usefixtures("authority")
def test_a_proxy_with_an_unknown_certificate_gets_no_secret(company: OtherProxy) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(HOST, Access.OWNER, {"https_proxy": f"https://me:secret@127.0.0.1:{company.port}"})
    assert company.heads == []


def test_a_refusal_of_the_callers_own_proxy_is_passed_on_without_its_secret(company: OtherProxy) -> None:
    company.answer = b"HTTP/1.1 407 Who are you\r\n\r\n"
    with pytest.raises(RefusedError, match=r"does not connect to host-of-nobody.invalid: .* 407") as caught:
        connect(HOST, Access.OWNER, {"HTTPS_PROXY": f"http://me:geheim@127.0.0.1:{company.port}"})
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"https_proxy": "http://10.0.0.1:3128", "no_proxy": "invalid"},
        {"https_proxy": "http://emulator:secret@127.0.0.1:9"},
    ],
    ids=["none", "an exception", "the emulator itself"],
)
def test_no_other_proxy(environment: dict[str, str]) -> None:
    assert upstream_of(HOST, environment) is None


@pytest.mark.parametrize("url", ["ftp://me:geheim@proxy.example.com", "socks5://me:geheim@127.0.0.1:1080"])
def test_a_proxy_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(RefusedError, match="http://HOST:PORT or https://HOST:PORT") as caught:
        upstream_of(HOST, {"https_proxy": url})
    assert "geheim" not in str(caught.value)
