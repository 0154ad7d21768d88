from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import running, storage_client
from vertex_emulator.daemon.daemon import Daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """Run an emulator whose clock the test may set."""
    with running(tmp_path / "data") as found:
        yield found


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Any]:
    with storage_client(daemon.storage_url) as found:
        yield found
