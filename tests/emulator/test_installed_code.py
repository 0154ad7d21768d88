"""An emulator whose code was changed after it started is replaced, as one of another version."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.emulator import running
from vertex_training.cli import emulator_commands
from vertex_training.cli.output import Output
from vertex_training.emulator import installed_code, launcher
from vertex_training.emulator.installed_code import PACKAGE, has_changed, look, of_this_process

OLD = f"0123456789abcdef {PACKAGE}"
ELSEWHERE = "0123456789abcdef /another/installation/vertex_training"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "package" / "jobs").mkdir(parents=True)
    for name in ("a.py", "jobs/b.py", "jobs/notes.txt"):
        (tmp_path / "package" / name).write_text("x = 1\n")
    return tmp_path / "package"


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
    before = look(package)
    change(package)
    assert look(package) != before


def compile_(package: Path) -> None:
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.py").write_text("")


def note(package: Path) -> None:
    (package / "jobs" / "notes.txt").write_text("more")


@pytest.mark.parametrize("change", [compile_, note])
def test_what_is_no_code_is_no_change(package: Path, change: Callable[[Path], None]) -> None:
    before = look(package)
    change(package)
    assert look(package) == before


@pytest.mark.parametrize(
    ("recorded", "changed"),
    [
        pytest.param(OLD, True, id="other code of this installation"),
        pytest.param(None, True, id="before there were such records"),
        pytest.param(of_this_process(), False, id="this code"),
        pytest.param(ELSEWHERE, False, id="another installation"),
        pytest.param("", False, id="none"),
    ],
)
def test_a_record(recorded: str | None, changed: bool) -> None:
    assert has_changed(recorded) is changed


def test_a_process_older_than_the_emulator_does_not_take_that_for_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = of_this_process()
    monkeypatch.setattr(installed_code, "of_this_process", lambda: OLD)
    assert not has_changed(now)


def test_a_package_that_is_no_folder_has_no_record(package: Path) -> None:
    (package / "a.py").write_text("")
    assert not has_changed(f"0123456789abcdef {package}", package / "a.py")


def test_to_look_at_this_package_takes_little() -> None:
    """It is 5 ms; every call of the launcher has it. The bound is for a busy machine."""
    started = time.process_time()
    look(PACKAGE)
    assert time.process_time() - started < 0.2


class ReplacedError(Exception):
    pass


@pytest.fixture
def replacing(monkeypatch: pytest.MonkeyPatch) -> None:
    def shut_down(*_: object, **__: object) -> None:
        raise ReplacedError

    monkeypatch.setattr(launcher, "_shut_down", shut_down)


@pytest.mark.usefixtures("replacing")
def test_an_emulator_of_older_code_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, code=OLD), pytest.raises(ReplacedError):
        launcher.ensure(tmp_path)


@pytest.mark.usefixtures("replacing")
def test_an_emulator_that_says_nothing_of_its_code_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path):
        record = json.loads((tmp_path / "emulator.json").read_text())
        del record["code"]
        (tmp_path / "emulator.json").write_text(json.dumps(record))
        with pytest.raises(ReplacedError):
            launcher.ensure(tmp_path)


@pytest.mark.usefixtures("replacing")
@pytest.mark.parametrize("code", [of_this_process(), ELSEWHERE], ids=["this code", "another installation"])
def test_another_is_left_alone(tmp_path: Path, code: str) -> None:
    with running(tmp_path, code=code) as daemon:
        assert launcher.ensure(tmp_path).url == daemon.url


def status(data_dir: Path, *, as_json: bool = False) -> None:
    output = Output(as_json=as_json, terminal=False)
    emulator_commands.status(argparse.Namespace(data_dir=data_dir), output)


@pytest.mark.parametrize(("code", "lines"), [(OLD, 2), (of_this_process(), 1)], ids=["older", "this code"])
def test_the_status_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, lines: int
) -> None:
    with running(tmp_path, code=code):
        status(tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == lines
    assert ("`vertex-training emulator start` replaces it" in said[-1]) == (lines == 2)


def test_the_status_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(tmp_path, code=OLD):
        status(tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out)["outdated"] is True
