"""Emulators for tests: one in this process per test module, and real daemons that are stopped afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.emulated.emulator import is_alive, kill, running, storage_client
from support.emulated.registries.registry import RegistryClient, new_name
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
from support.emulated.warm_emulators import cold_emulators as cold_emulators
from vertex_emulator.client import launcher
from vertex_emulator.daemon.daemon import Daemon

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Yield an emulator in this process for all tests of a module."""
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def storage(emulator: Daemon) -> Iterator[Any]:
    """Google's storage client for `emulator`."""
    with storage_client(emulator.storage_url) as client:
        yield client


@pytest.fixture
def registry(emulator: Daemon) -> RegistryClient:
    """Return a repository of its own for each test."""
    return RegistryClient(emulator.url, emulator.token, new_name())


@pytest.fixture
def bucket_name() -> str:
    """Return an unused name."""
    return f"test-bucket-{next(_numbers)}"


@pytest.fixture
def bucket(storage: Any, bucket_name: str) -> Any:
    """Create a bucket with Google's client."""
    return storage.create_bucket(bucket_name, location="us-central1")


@pytest.fixture
def folder(emulator: Daemon, bucket_name: str) -> Path:
    """Return the folder that replicas see as /gcs/BUCKET for `bucket`."""
    return emulator.folder.buckets / bucket_name


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., launcher.Emulator]]:
    """Return a function that starts a real daemon, by default in the test's folder.

    All are stopped at the end.
    """
    started: list[psutil.Process] = []

    def ensure(data_dir: Path = tmp_path / "data", **options: Any) -> launcher.Emulator:
        found = launcher.ensure(data_dir, **options)
        started.append(psutil.Process(found.pid))
        return found

    yield ensure
    for process in started:
        if process.is_running() and is_alive(process):
            kill(process.pid)
