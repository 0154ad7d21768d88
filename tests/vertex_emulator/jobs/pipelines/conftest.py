from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.emulated.emulator import found_sandbox
from support.emulated.job_emulator import SLEEP, JobEmulator
from support.emulated.services.pipelines import Pipelines, emptied, emulating, pipeline
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """Return the strongest sandbox that this machine supports."""
    return found_sandbox()


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobEmulator]:
    """Yield an emulator for all tests of a module."""
    with emulating(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture
def pipelines(emulator: JobEmulator) -> Iterator[Pipelines]:
    """Yield a client of the emptied emulator. At the end, everything that still runs is ended."""
    with emptied(emulator) as found:
        yield found


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """Yield an emulator for tests that create nothing."""
    with emulating(tmp_path_factory.mktemp("idle")) as found:
        yield Pipelines(found)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """Yield an emulator with a succeeded and a running pipeline."""
    with emulating(tmp_path_factory.mktemp("listed")) as emulator, emptied(emulator) as found:
        found.wait(found.create(pipeline("", name="one")))
        found.create(pipeline(SLEEP, name="two"))
        yield found
