from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.job_emulator import JobEmulator, running_jobs
from support.tuning import end_tuning
from vertex_emulator.custom_jobs.sandbox.probe import probe
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The best that this machine allows."""
    return probe()


@pytest.fixture
def emulator(tmp_path: Path, sandbox: Sandbox) -> Iterator[JobEmulator]:
    """An emulator with a data folder of its own; what a test left running is cancelled."""
    with running_jobs(tmp_path / "data", sandbox=sandbox, restart_seconds=0.0) as found:
        yield found
        end_tuning(found)
