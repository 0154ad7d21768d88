"""Fixtures of the setup tests: a silent report, and a layout of the test's own folders."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.report import Report
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root() -> Path:
    """Return the clone that the tests run in; they only read it."""
    return ROOT


@pytest.fixture
def printed() -> io.StringIO:
    """Return the output of `report`."""
    return io.StringIO()


@pytest.fixture
def report(printed: io.StringIO) -> Report:
    return Report(printed)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Return the layout of an empty clone with the modules of tools/ of the real one."""
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "tools").symlink_to(ROOT / "tools")
    return Layout(root=tmp_path / "clone", local=tmp_path / "clone" / ".local", cache=tmp_path / "cache")
