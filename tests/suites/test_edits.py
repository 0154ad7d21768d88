"""Edits of the source of suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.programs import edited
from suites.suite import Edit


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "module"
    (folder / "all").mkdir(parents=True)
    (folder / "main.go").write_text("package main\n\nvar fatal = true\n")
    (folder / "all" / "all.go").write_text("package all\n")
    folder.chmod(0o555)  # as Go's cache has it
    return folder


def test_edits_are_made_to_a_copy(module: Path, tmp_path: Path) -> None:
    edits = (
        Edit(path="main.go", old="fatal = true", new="fatal = false"),
        Edit(path="all/all.go", new="package few\n"),
    )
    found = edited(module, tmp_path / "copy", edits)
    assert (found / "main.go").read_text() == "package main\n\nvar fatal = false\n"
    assert (found / "all" / "all.go").read_text() == "package few\n"
    assert "true" in (module / "main.go").read_text()


@pytest.mark.parametrize("old", ["gone", "main"])
def test_text_that_a_file_does_not_have_once_is_an_error(module: Path, tmp_path: Path, old: str) -> None:
    (module / "main.go").write_text("package main\n// main\n")
    with pytest.raises(ValueError, match=r"main\.go of module has not exactly one"):
        edited(module, tmp_path / "copy", (Edit(path="main.go", old=old, new=""),))
    assert not (tmp_path / "copy").exists()
