"""PyTorch for the tests of an example: Debian's, if it is for the Python of the examples."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.report import Report
from scripts.tools import pytorch_client

_APT = '#!/bin/sh\necho "$@" >> "{log}"\nmkdir -p "{folder}/torch"\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the file with the arguments of the machine's apt-get."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apt-get").write_text(_APT.format(log=tmp_path / "log", folder=tmp_path / "packages"))
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    (tmp_path / "python3.11").touch()
    return tmp_path / "log"


def ensure(layout: Layout, report: Report, log: Path, *, is_root: bool = True) -> None:
    pytorch_client.ensure(
        layout,
        report,
        environ={"PATH": f"{log.parent / 'bin'}:/bin:/usr/bin"},
        is_root=is_root,
        folder=log.parent / "packages",
        python=log.parent / "python3.11",
    )


def test_it_is_installed_once(layout: Layout, report: Report, log: Path, printed: io.StringIO) -> None:
    ensure(layout, report, log)
    ensure(layout, report, log)
    assert [line.split()[-1] for line in log.read_text().splitlines()] == ["python3-torch"]
    assert "installed" in printed.getvalue()


def test_without_root_it_is_reported(layout: Layout, report: Report, log: Path, printed: io.StringIO) -> None:
    ensure(layout, report, log, is_root=False)
    assert "Install as root: apt-get install python3-torch" in printed.getvalue()
    assert not log.exists()


def test_another_python_is_reported(layout: Layout, report: Report, log: Path, printed: io.StringIO) -> None:
    (log.parent / "python3.11").unlink()
    ensure(layout, report, log)
    assert "Debian's Python 3.11 is missing" in printed.getvalue()
    assert not log.exists()
