"""A real emulator, in a process of its own, for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.operation import OPERATION
from support.client.plugin import PluginProcess
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
from support.scripted_service import Service
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("emulator")
    launcher.ensure(made)
    yield made
    emulator_reset.reset(made)


@pytest.fixture(scope="module")
def endpoint(data_dir: Path) -> Endpoint:
    running = launcher.ensure(data_dir)
    return Endpoint(
        kind="emulator", project="local", location="us-central1", url=running.url, token=running.token
    )


@pytest.fixture
def service() -> Iterator[Service]:
    """Yield a service whose answers the test writes."""
    made = Service()
    yield made
    made.close()


@pytest.fixture
def plugin(tmp_path: Path, data_dir: Path) -> Iterator[PluginProcess]:
    """Yield a provider process, as for one preview or update."""
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as process:
        yield process


@pytest.fixture(autouse=True)
def _own_operation() -> None:
    """Begin a new operation for each test: none may live on what the checks of another one noted."""
    OPERATION.begin()
