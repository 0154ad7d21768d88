"""Temporary folders: removed at the end of a block, and by the next one after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.temporary_folders import temporary_folder

PREFIX = "vertex-training-trial-"
HOUR = 3600.0
PROGRAM = f"""
from pulumi_vertex_training.temporary_folders import temporary_folder
with temporary_folder({PREFIX!r}) as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Yield a process that uses a folder, which is an hour old, and the folder."""
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        made_older(folder)
        yield process, folder
        process.kill()


def made_older(folder: Path) -> None:
    before = folder.stat().st_mtime - HOUR
    os.utime(folder, (before, before))


def test_a_folder_ends_with_its_block(temporary: Path) -> None:
    with temporary_folder(PREFIX) as folder:
        assert folder.parent == temporary
        (folder / "file").write_text("x")
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(
    builder: tuple[subprocess.Popen[str], Path],
) -> None:
    process, left = builder
    process.kill()
    process.wait()
    assert (left / "file").exists()
    with temporary_folder(PREFIX):
        assert not left.exists()


def test_the_folder_of_a_live_process_stays(builder: tuple[subprocess.Popen[str], Path]) -> None:
    _, used = builder
    with temporary_folder(PREFIX):
        assert (used / "file").exists()


def test_a_new_folder_stays_before_it_is_locked(temporary: Path) -> None:
    new = temporary / f"{PREFIX}new"
    new.mkdir()
    with temporary_folder(PREFIX):
        assert new.exists()
    made_older(new)
    with temporary_folder(PREFIX):
        assert not new.exists()
