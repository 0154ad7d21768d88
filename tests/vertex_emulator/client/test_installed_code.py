"""An emulator whose code was changed after its start is replaced, like one of another version."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.emulated.emulator import running
from vertex_emulator.client import launcher
from vertex_emulator.client.lookup import (
    FOLDER,
    PACKAGES,
    code_has_changed,
    code_of_this_process,
    source_hash,
)

OLD = f"0123456789abcdef {FOLDER}"
ELSEWHERE = "0123456789abcdef /another/installation/vertex_training"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Create the packages and return the folder of the first."""
    for name in PACKAGES:
        (tmp_path / name / "jobs").mkdir(parents=True)
        for file in ("a.py", "jobs/b.py", "jobs/notes.txt"):
            (tmp_path / name / file).write_text("x = 1\n")
    return tmp_path / PACKAGES[0]


def edit(package: Path) -> None:
    (package / "jobs" / "b.py").write_text("x = 12\n")


def touch(package: Path) -> None:
    os.utime(package / "a.py", ns=(1, 1))


def add(package: Path) -> None:
    (package / "jobs" / "c.py").write_text("")


def remove(package: Path) -> None:
    (package / "a.py").unlink()


def rename(package: Path) -> None:
    (package / "a.py").rename(package / "z.py")


@pytest.mark.parametrize("change", [edit, touch, add, remove, rename])
def test_a_change_of_code_is_seen(package: Path, change: Callable[[Path], None]) -> None:
    before = source_hash(package.parent / name for name in PACKAGES)
    change(package)
    assert source_hash(package.parent / name for name in PACKAGES) != before


def compile_(package: Path) -> None:
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.py").write_text("")


def note(package: Path) -> None:
    (package / "jobs" / "notes.txt").write_text("more")


@pytest.mark.parametrize("change", [compile_, note])
def test_what_is_no_code_is_no_change(package: Path, change: Callable[[Path], None]) -> None:
    before = source_hash(package.parent / name for name in PACKAGES)
    change(package)
    assert source_hash(package.parent / name for name in PACKAGES) == before


@pytest.mark.parametrize(
    ("recorded", "changed"),
    [
        pytest.param(OLD, True, id="other code of this installation"),
        pytest.param(None, True, id="before there were such records"),
        pytest.param(code_of_this_process(), False, id="this code"),
        pytest.param(ELSEWHERE, False, id="another installation"),
        pytest.param("", False, id="none"),
    ],
)
def test_a_record(recorded: str | None, changed: bool) -> None:
    assert code_has_changed(recorded) is changed


def test_a_process_older_than_the_emulator_does_not_take_that_for_old() -> None:
    assert not code_has_changed(code_of_this_process(), own=OLD)


@pytest.mark.parametrize(
    "recorded", [pytest.param({"code": OLD}, id="older code"), pytest.param({}, id="nothing of its code")]
)
def test_an_emulator_that_records(start: Callable[..., launcher.Emulator], recorded: dict[str, str]) -> None:
    """Check that the emulator is replaced."""
    first = start()
    path = first.data_dir / "emulator.json"
    record = json.loads(path.read_text())
    del record["code"]
    path.write_text(json.dumps({**record, **recorded}))
    second = start()
    assert second.pid != first.pid
    assert second.code == code_of_this_process()


@pytest.mark.parametrize(
    "code", [code_of_this_process(), ELSEWHERE], ids=["this code", "another installation"]
)
def test_another_is_left_alone(tmp_path: Path, code: str) -> None:
    with running(tmp_path, code=code) as daemon:
        assert launcher.ensure(tmp_path).url == daemon.url
