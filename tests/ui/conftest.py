"""A real emulator with jobs, and a dashboard that shows it, for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.emulated.ui.dashboard import Dashboard, running
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
from vertex_emulator.client import launcher
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.daemon import reset as emulator_reset


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("emulator")
    launcher.ensure(made)
    yield made
    emulator_reset.reset(made)


@pytest.fixture(scope="module")
def emulator(data_dir: Path) -> Emulator:
    return launcher.ensure(data_dir)


@pytest.fixture(scope="module")
def dashboard(data_dir: Path, emulator: Emulator) -> Iterator[Dashboard]:
    with running("--data-dir", str(data_dir)) as found:
        yield found
