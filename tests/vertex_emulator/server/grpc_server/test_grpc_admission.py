"""Calls whose request never comes: they hold neither the threads nor the places of other clients."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import grpc
import pytest

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import PROJECT, running
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.server.grpc_server import server
from vertex_emulator.server.grpc_server.admission import OWNER, SERVICES
from vertex_emulator.server.rpc import descriptors

GET = "/google.cloud.aiplatform.v1.JobService/GetCustomJob"
TAIL = "/google.logging.v2.LoggingServiceV2/TailLogEntries"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name: bytes, value: bytes) -> bytes:
    assert max(len(name), len(value)) < 127
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


@contextmanager
def half_open(
    daemon: Daemon, count: int, *, token: str | None = None, method: str = GET
) -> Iterator[socket.socket]:
    """Open a connection with calls that have their metadata and no request, once the server has them."""
    assert daemon.grpc_address is not None
    host, _, port = daemon.grpc_address.partition(":")
    head = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", method.encode()),
        (b":authority", daemon.grpc_address.encode()),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    ]
    if token is not None:
        head.append((b"authorization", f"Bearer {token}".encode()))
    block = b"".join(field(*pair) for pair in head)
    ping = frame(6, 0, 0, b"all sent")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        calls = b"".join(frame(1, 4, 2 * number + 1, block) for number in range(count))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + calls + ping)
        received = b""
        while b"all sent" not in received:  # the answer to the ping comes after the calls were read
            data = connection.recv(65536)
            if not data:
                raise ConnectionResetError("the server has closed the connection")
            received += data
        yield connection


def is_open(connection: socket.socket) -> bool:
    """Return whether the server has not closed the connection."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def unknown_job(daemon: Daemon, token: str) -> grpc.StatusCode:
    """Call a method, and return its status, which is NOT_FOUND for a call that was carried out."""
    name = f"projects/{PROJECT}/locations/us-central1/customJobs/1"
    request = descriptors.message("google.cloud.aiplatform.v1.GetCustomJobRequest")
    request.name = name
    with connected(daemon, token) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(GET)(request.SerializeToString(), timeout=30)
    code: grpc.StatusCode = refused.value.code()
    return code


def test_half_open_calls_hold_no_other_client(tmp_path: Path) -> None:
    with running(tmp_path) as daemon, ExitStack() as stack:
        replica = data_folder.service_token(daemon.token)
        for _ in range(5):  # 500 calls: more than the threads, and than the places of all clients
            stack.enter_context(half_open(daemon, 100))
        assert unknown_job(daemon, replica) is unknown_job(daemon, daemon.token) is grpc.StatusCode.NOT_FOUND
        for _ in range(3):
            stack.enter_context(half_open(daemon, 100, token=replica))
        assert unknown_job(daemon, daemon.token) is grpc.StatusCode.NOT_FOUND
        assert unknown_job(daemon, "") is grpc.StatusCode.UNAUTHENTICATED
        with connected(daemon, replica) as channel, pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(GET)(b"", timeout=30)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refused.value.details() == (
            f"Programs with the token of the metadata server have {SERVICES.most} calls open, which is the "
            "most. End some and retry."
        )


def test_a_call_whose_request_does_not_come_ends(tmp_path: Path) -> None:
    timeouts = DaemonTimeouts(body=0.5)
    with running(tmp_path, timeouts=timeouts) as daemon:
        for method in (GET, TAIL):
            with half_open(daemon, OWNER.most, token=daemon.token, method=method):
                eventually(lambda: unknown_job(daemon, daemon.token) is grpc.StatusCode.NOT_FOUND)
        counts = daemon._requests.counts()
        assert counts["JobService.GetCustomJob"] >= OWNER.most


@pytest.mark.parametrize("calls", [0, 1])
@pytest.mark.parametrize("is_replica", [False, True])
def test_connections_of_one_client_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, calls: int, is_replica: bool
) -> None:
    monkeypatch.setattr(server, "_CONNECTIONS", 32)
    with running(tmp_path) as daemon, ExitStack() as stack:
        token = data_folder.service_token(daemon.token) if is_replica else None
        own = stack.enter_context(half_open(daemon, 1, token=daemon.token))
        others: list[socket.socket] = []
        for _ in range(40):

            def one_more() -> bool:
                with suppress(OSError):
                    others.append(stack.enter_context(half_open(daemon, calls, token=token)))
                    return True
                return False

            eventually(one_more, what=lambda: f"connection {len(others)}")
        eventually(lambda: unknown_job(daemon, daemon.token) is grpc.StatusCode.NOT_FOUND)
        assert is_open(own) and not all(map(is_open, others))
