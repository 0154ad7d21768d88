"""A Pulumi project of its own for each test, taken down with everything it started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.client import engine as support
from support.client.kills.stage import Stage
from support.client.shared_engine import shared_engine as shared_engine
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
from support.warm import warm_python
from vertex_emulator.daemon import reset as emulator_reset


@pytest.fixture(scope="session")
def python() -> Path:
    """Return the interpreter that Pulumi starts."""
    return warm_python.shared()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project whose stack exists already: making one takes a second or two."""
    folder = tmp_path_factory.mktemp("template") / "project"
    support.make_template(folder)
    return folder


@pytest.fixture
def engine(tmp_path: Path, template: Path, python: Path) -> Iterator[support.Engine]:
    made = support.copy(template, tmp_path / "project", python=python)
    try:
        yield made
    finally:
        if made.data_dir.exists():
            emulator_reset.stop_and_end_jobs(made.data_dir)


@pytest.fixture(scope="module")
def stage_of_module(
    template: Path, python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    made = Stage(support.copy(template, tmp_path_factory.mktemp("stage") / "project", python=python))
    yield made
    made.settle()
    emulator_reset.stop_and_end_jobs(made.data_dir)


@pytest.fixture
def stage(stage_of_module: Stage) -> Stage:
    """Return the module's stage, with an empty stack and a new emulator."""
    stage_of_module.clear()
    return stage_of_module
