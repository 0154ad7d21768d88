"""A Pulumi project of its own for each test, taken down with everything it started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.client import engine as support
from support.client.kills.stage import Stage
from support.client.shared_engine import shared_engine as shared_engine
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
from support.warm import warm_python
from vertex_emulator import reset as emulator_reset


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


@dataclass
class _Stages:
    """One stage for as long as every test leaves it as it should be."""

    stage: Stage | None = None

    def end(self) -> None:
        if self.stage is None:
            return
        stage, self.stage = self.stage, None
        try:
            if stage.is_sound:
                stage.destroy()
        finally:
            stage.settle()
            emulator_reset.stop_and_end_jobs(stage.data_dir)


@pytest.fixture(scope="module")
def stages() -> Iterator[_Stages]:
    made = _Stages()
    yield made
    made.end()


@pytest.fixture
def stage(stages: _Stages, template: Path, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Return a stack with an emulator that the tests of a module use one after the other."""
    if stages.stage is not None and not stages.stage.is_sound:
        stages.end()
    if stages.stage is None:
        stages.stage = Stage(
            support.copy(template, tmp_path_factory.mktemp("stage") / "project", python=python)
        )
    return stages.stage
