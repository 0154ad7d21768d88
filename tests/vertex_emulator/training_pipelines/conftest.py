from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.job_emulator import SLEEP, JobEmulator
from support.pipelines import Pipelines, emptied, emulating, pipeline


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobEmulator]:
    """One for all tests of a file."""
    with emulating(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture
def pipelines(emulator: JobEmulator) -> Iterator[Pipelines]:
    """It is empty; what a test left running is ended."""
    with emptied(emulator) as found:
        yield found


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """An emulator for tests that create nothing."""
    with emulating(tmp_path_factory.mktemp("idle")) as found:
        yield Pipelines(found)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """An emulator with a pipeline that has succeeded and one that runs."""
    with emulating(tmp_path_factory.mktemp("listed")) as emulator, emptied(emulator) as found:
        found.wait(found.create(pipeline("", name="one", labels={"kind": "x"})))
        found.create(pipeline(SLEEP, name="two"))
        yield found
