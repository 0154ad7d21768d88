from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.emulated.emulator import found_sandbox
from support.emulated.job_emulator import JobEmulator, running_jobs
from support.emulated.services.tuning import end_tuning
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """Return the strongest sandbox that this machine supports."""
    return found_sandbox()


@pytest.fixture
def emulator(tmp_path: Path, sandbox: Sandbox) -> Iterator[JobEmulator]:
    """Yield an emulator with its own data folder.

    At the end, the tuning jobs that still run are cancelled.
    """
    with running_jobs(tmp_path / "data", sandbox=sandbox, restart_seconds=0.0) as found:
        yield found
        end_tuning(found)
