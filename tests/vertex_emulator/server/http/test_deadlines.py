"""The reader of a connection, and its acknowledgements."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from vertex_emulator.server.http.deadlines import Limits, SocketReader
from vertex_emulator.server.http.secured import SecuredSocket
from vertex_emulator.server.proxy.authority import Authority

HOST = "storage.googleapis.com"


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[SecuredSocket, ssl.SSLSocket]]:
    """Yield both ends of a TLS connection, the server's first, which is of the class that the proxy uses."""
    authority = Authority(tmp_path)
    trusting = ssl.create_default_context(cafile=str(authority.bundle))
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as listener:
        near = stack.enter_context(socket.create_connection(listener.getsockname(), timeout=60))
        far, _ = listener.accept()
        server = stack.enter_context(SecuredSocket(far, authority.context(HOST)))
        shaking = threading.Thread(target=server.do_handshake)
        shaking.start()
        client = stack.enter_context(trusting.wrap_socket(near, server_hostname=HOST))
        shaking.join()
        yield server, client


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="TCP_QUICKACK is Linux's")
def test_a_head_over_tls_is_acknowledged_at_once(secured: tuple[SecuredSocket, ssl.SSLSocket]) -> None:
    """Clients that send head and body apart would wait 40 ms for each upload."""
    server, client = secured
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    assert server.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK) == 0
    client.sendall(b"POST / HTTP/1.1\r\n")
    assert SocketReader(server, Limits()).readinto(bytearray(100)) == 17
    assert server.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK) == 1
