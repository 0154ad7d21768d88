"""A Pulumi project of its own for each test, taken down with everything it started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import engine as support
from vertex_training.emulator import launcher


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose stack exists already: making one takes a second or two."""
    folder = tmp_path_factory.mktemp("template") / "project"
    support.make(folder)
    return folder


@pytest.fixture
def engine(tmp_path: Path, template: Path) -> Iterator[support.Engine]:
    made = support.copy(template, tmp_path / "project")
    try:
        yield made
    finally:
        if made.data_dir.exists():
            made.run("cancel", "--yes")
            made.destroy()
            launcher.stop(made.data_dir)
