"""The command `vertex-emulator`, from a start to a stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-m", "vertex_emulator.command")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data of mine"
    run("stop", "--data-dir", tmp_path / "data of mine")


def test_from_a_start_to_a_stop(folder: Path) -> None:
    started = run("start", "--data-dir", folder)
    assert started.returncode == 0, started.stderr
    assert f"with its data in {folder}." in started.stdout
    command = started.stdout.partition("clients to it: ")[2].strip()
    assert command == f"eval \"$(vertex-emulator env --data-dir '{folder}')\""
    status = run("status", "--data-dir", folder)
    variables = run("env", "--data-dir", folder)
    shown = subprocess.run(
        ["sh", "-c", f'{variables.stdout}\necho "$VERTEX_EMULATOR_HOST"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() in status.stdout
    assert run("stop", "--data-dir", folder).stdout == "The emulator is stopped.\n"
    for name in ("status", "env"):
        missing = run(name, "--data-dir", folder)
        assert (missing.returncode, missing.stdout) == (1, "")
        assert "Start it: vertex-emulator start" in missing.stderr


def test_in_the_foreground_until_it_is_interrupted(folder: Path) -> None:
    process = subprocess.Popen([*COMMAND, "run", "--data-dir", folder], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    with process, process.stderr:
        assert "vertex-emulator env --data-dir" in process.stderr.readline()
        while "Ready" not in (line := process.stderr.readline()) and "http://" not in line:
            assert line, "it ended"
        assert run("status", "--data-dir", folder).returncode == 0
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0


def test_a_mistake_is_named(folder: Path) -> None:
    assert "invalid choice: 'begin'" in run("begin").stderr
    file = folder.parent / "file"
    file.touch()
    refused = run("start", "--data-dir", file)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert str(file) in refused.stderr
    assert "Traceback" not in refused.stderr
