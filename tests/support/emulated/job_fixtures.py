"""Fixtures for tests of jobs and their replicas: an emulator that runs jobs, and its sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.emulated.emulator import found_sandbox
from support.emulated.job_emulator import JobEmulator, running_jobs, wait_until_gone
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """Return the best sandbox that this machine allows."""
    return found_sandbox()


@pytest.fixture
def emulator(tmp_path: Path, sandbox: Sandbox) -> Iterator[JobEmulator]:
    """Yield an emulator with a data folder of its own; cancel jobs that a test left running."""
    with running_jobs(tmp_path / "data", sandbox=sandbox, grace=5.0, restart_seconds=0.0) as found:
        yield found
        end_all(found)


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[JobEmulator]:
    """Yield an emulator for tests that create no job."""
    with running_jobs(tmp_path_factory.mktemp("idle"), sandbox=sandbox) as found:
        yield found
        assert found.call("GET", "/_local/jobs").json() == {"jobs": []}


def end_all(emulator: JobEmulator) -> None:
    jobs = emulator.call("GET", "/_local/jobs").json()["jobs"]
    for each in jobs:
        emulator.cancel(each["name"])
    for each in jobs:
        emulator.wait(each["name"])
        assert emulator.delete(each["name"]).status == 200
        wait_until_gone(each["name"])
