"""A project that the engine in the test's process deploys."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.client.in_process.project import Project


@pytest.fixture(scope="module")
def project(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project without resources, on the emulator of the module."""
    return Project(tmp_path_factory.mktemp("project"), data_dir)
