"""An emulator whose proxy the programs of a module use, and a shell that leads to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.emulated.clients.google_hosts import shell_of
from support.emulated.emulator import running
from vertex_emulator.daemon.daemon import Daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture(scope="module")
def shell(daemon: Daemon) -> dict[str, str]:
    """Return the environment of a shell after `emulator env --proxy`."""
    return shell_of(daemon)
