"""Sources of suites: only the part that is asked for leaves the archive."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from suites.catalog import SUITES
from suites.installing import unpack
from suites.suite import PythonSuite


def archive(folder: Path, *names: str) -> Path:
    file = folder / "d-1.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
    return file


def test_only_the_part_is_unpacked(tmp_path: Path) -> None:
    file = archive(tmp_path, "d-1/tests/test_a.py", "d-1/google/cloud/d.py", "d-1/tests_of_others/b.py")
    unpack(file, "tests", tmp_path / "source")
    found = [path.relative_to(tmp_path / "source") for path in (tmp_path / "source").rglob("*.py")]
    assert found == [Path("tests/test_a.py")]


def test_no_file_lands_outside(tmp_path: Path) -> None:
    file = archive(tmp_path, "d-1/tests/../../../outside.py")
    with pytest.raises(tarfile.OutsideDestinationError):
        unpack(file, "tests", tmp_path / "source")
    assert not (tmp_path.parent / "outside.py").exists()


def test_every_requirement_of_every_suite_is_pinned() -> None:
    suites = [suite for suite in SUITES if isinstance(suite, PythonSuite)]
    assert [each for suite in suites for each in suite.requirements if "==" not in each] == []
