"""An emulator for clients that get only the output of `vertex-training emulator env`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask, running, shell_variables, storage_client
from vertex_emulator.daemon.daemon import Daemon

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def settings(emulator: Daemon) -> dict[str, str]:
    """Return the variables of `vertex-training emulator env`."""
    return shell_variables(emulator, os.environ)


@pytest.fixture(autouse=True)
def _environment(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def client(emulator: Daemon) -> Iterator[Any]:
    """Google's client, for what a test needs beside the client that it is about."""
    with storage_client(emulator.storage_url) as found:
        yield found


@pytest.fixture
def bucket(client: Any) -> Any:
    """Create a bucket with Google's client."""
    return client.create_bucket(f"client-bucket-{next(_numbers)}", location="us-central1")


@pytest.fixture(scope="module")
def key_file(emulator: Daemon) -> Path:
    """Return the key that signs URLs for the emulator."""
    answer = ask(emulator, "GET", "/_local/service-account")
    return Path(answer.json()["path"])
