"""The places to which the proxy connects, and those that it refuses."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from vertex_emulator.http.server import listen
from vertex_emulator.proxy.destinations import (
    Address,
    RefusedError,
    check_address,
    connect,
    parse,
    upstream_of,
)
from vertex_emulator.proxy.hosts import is_emulated


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
        ("cloudresourcemanager.googleapis.com", True),
        ("us-docker.pkg.dev", True),
        ("eu.gcr.io", True),
        ("oauth2.googleapis.com", False),
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
        connect(host, environment)
    assert caught.value.status == 403


@pytest.mark.parametrize("environment", [{}, {"https_proxy": "http://127.0.0.1:9"}], ids=["direct", "proxy"])
def test_a_name_of_a_private_address_is_refused(environment: dict[str, str]) -> None:
    """Expect no connection to its public address either: the resolver is a stand-in of a hostile one."""

    def resolve(_host: str) -> list[Address]:
        return [(socket.AF_INET, ("8.8.8.8", 443)), (socket.AF_INET, ("127.0.0.1", 443))]

    with pytest.raises(RefusedError, match=r"public addresses only; rebinding.example.com has 127.0.0.1"):
        connect("rebinding.example.com", environment, resolve=resolve)


@dataclass
class OtherProxy:
    """The proxy of a company: it records the requests, and answers `answer`."""

    listener: socket.socket
    answer: bytes = b"HTTP/1.1 200 OK\r\n\r\nhello"
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
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += connection.recv(1000)
                self.heads.append(head)
                connection.sendall(self.answer)


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
    with connect(HOST, {"https_proxy": url}) as connection:
        assert connection.recv(100) == b"hello", "nothing after the head is lost"
    line, host, credentials, *_ = company.heads[0].split(b"\r\n")
    assert (line, host) == (f"CONNECT {HOST}:443 HTTP/1.1".encode(), f"Host: {HOST}:443".encode())
    assert credentials == b"Proxy-Authorization: Basic " + base64.b64encode(b"me:p@ss")


def test_a_refusal_of_the_callers_own_proxy_is_passed_on_without_its_secret(company: OtherProxy) -> None:
    company.answer = b"HTTP/1.1 407 Who are you\r\n\r\n"
    with pytest.raises(RefusedError, match=r"does not connect to host-of-nobody.invalid: .* 407") as caught:
        connect(HOST, {"HTTPS_PROXY": f"http://me:geheim@127.0.0.1:{company.port}"})
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


@pytest.mark.parametrize("url", ["https://me:geheim@proxy.example.com", "socks5://me:geheim@127.0.0.1:1080"])
def test_a_proxy_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(RefusedError, match="http://HOST:PORT only") as caught:
        upstream_of(HOST, {"https_proxy": url})
    assert "geheim" not in str(caught.value)
