from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.job_emulator import SLEEP, running_jobs
from support.pipelines import Pipelines, pipeline
from vertex_training.emulator.jobs.probe import probe
from vertex_training.emulator.jobs.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The best that this machine allows."""
    return probe()


@pytest.fixture
def pipelines(tmp_path: Path, sandbox: Sandbox) -> Iterator[Pipelines]:
    """An emulator of its own; what a test left running is ended."""
    with running_jobs(tmp_path / "data", sandbox=sandbox, restart_seconds=0.0) as emulator:
        yield Pipelines(emulator)
        assert emulator.call("POST", "/_local/reset", {}).status == 200


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Pipelines]:
    """An emulator for tests that create nothing."""
    with running_jobs(tmp_path_factory.mktemp("idle"), sandbox=sandbox) as emulator:
        yield Pipelines(emulator)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Pipelines]:
    """An emulator with a pipeline that has succeeded and one that runs."""
    with running_jobs(tmp_path_factory.mktemp("listed"), sandbox=sandbox) as emulator:
        found = Pipelines(emulator)
        found.wait(found.create(pipeline("", name="one", labels={"kind": "x"})))
        found.create(pipeline(SLEEP, name="two"))
        yield found
        assert emulator.call("POST", "/_local/reset", {}).status == 200
