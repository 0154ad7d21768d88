"""An emulator, and a channel to its gRPC server."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import running
from vertex_emulator.daemon.daemon import Daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture(scope="module")
def channel(daemon: Daemon) -> Iterator[grpc.Channel]:
    with connected(daemon, daemon.token) as found:
        yield found
