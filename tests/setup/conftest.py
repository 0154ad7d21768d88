"""What the tests of the set-up share: a silent report, a layout of folders that belong to the test."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.report import Report

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root() -> Path:
    """The clone that the tests run in; they only read it."""
    return ROOT


@pytest.fixture
def printed() -> io.StringIO:
    """What `report` has printed."""
    return io.StringIO()


@pytest.fixture
def report(printed: io.StringIO) -> Report:
    return Report(printed)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A clone that is not there: empty folders, with the modules of tools/ from the real one."""
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "tools").symlink_to(ROOT / "tools")
    return Layout(root=tmp_path / "clone", local=tmp_path / "clone" / ".local", cache=tmp_path / "cache")
