from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.emulated.job_emulator import JobEmulator
from support.emulated.services.pipelines import Pipelines, emptied, emulating


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobEmulator]:
    """Yield an emulator for all tests of a module."""
    with emulating(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture
def data(emulator: JobEmulator) -> Iterator[Pipelines]:
    """Yield a client of the emptied emulator."""
    with emptied(emulator) as found:
        yield found
