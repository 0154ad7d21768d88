"""`scripts/chore` and its errors on an incomplete machine. Each test has a PATH of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASE = getattr(sys, "_base_executable", sys.executable)
SHELL = shutil.which("sh") or "/bin/sh"


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Path:
    """Make a clone whose only chore prints its Python and its arguments."""
    clone = tmp_path / "a clone"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(root / "scripts" / "chore", clone / "scripts")
    (clone / "scripts" / "__main__.py").write_text(
        "import os, sys; print(os.environ.get('WRAPPER', sys.executable), sys.argv[1:], os.getcwd())\n"
    )
    return clone


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """Make the only folder on PATH, with the programs of the shell script and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("dirname", "uname"):
        (folder / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    return folder


def python(folder: Path, name: str, *, refuses: str = "", version: str = "3.11") -> Path:
    """Make a Python called `name`: the real one, or one that fails on code that contains `refuses`."""
    file = folder / name
    refusal = f'case "$*" in *"{refuses}"*) exit 1;; esac\n' if refuses else ""
    version_case = f'case "$*" in *%d.%d*) echo {version}; exit;; -V) echo Python {version}.0; exit;; esac\n'
    file.write_text(f"#!{SHELL}\n{refusal}{version_case}export WRAPPER={name}\nexec '{BASE}' \"$@\"\n")
    file.chmod(0o755)
    return file


def chore(clone: Path, bin_folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SHELL, clone / "scripts" / "chore", "up", "--args=a b"],
        env={"PATH": str(bin_folder), **environ},
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )


def ran_with(done: subprocess.CompletedProcess[str], clone: Path) -> str:
    """Return the Python that ran the chore; check its arguments and its folder."""
    assert done.returncode == 0, done.stderr
    name, _, rest = done.stdout.partition(" ")
    assert rest == f"['up', '--args=a b'] {clone.resolve()}\n"
    return name


def test_the_python_of_the_system_is_used_first(clone: Path, bin_folder: Path) -> None:
    python(bin_folder, "python3")
    python(bin_folder, "python3.13")
    assert ran_with(chore(clone, bin_folder), clone) == "python3"


@pytest.mark.parametrize("lacks", ["3, 10", "ensurepip"])
def test_another_python_is_used_if_the_first_is_too_old_or_incomplete(
    clone: Path, bin_folder: Path, lacks: str
) -> None:
    python(bin_folder, "python3", refuses=lacks)
    python(bin_folder, "python3.10")
    python(bin_folder, "python3.12")
    assert ran_with(chore(clone, bin_folder), clone) == "python3.12"


def test_the_environment_of_the_clone_comes_first(clone: Path, bin_folder: Path) -> None:
    python(bin_folder, "python3")
    (clone / ".venv" / "bin").mkdir(parents=True)
    python(clone / ".venv" / "bin", "python")
    assert ran_with(chore(clone, bin_folder), clone) == "python"


def test_a_broken_environment_is_not_used(clone: Path, bin_folder: Path) -> None:
    python(bin_folder, "python3")
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to("/gone/python3")
    assert ran_with(chore(clone, bin_folder), clone) == "python3"


def test_PYTHON_decides(clone: Path, bin_folder: Path) -> None:  # noqa: N802
    python(bin_folder, "python3")
    chosen = python(bin_folder, "my-python")
    assert ran_with(chore(clone, bin_folder, PYTHON=str(chosen)), clone) == "my-python"
    assert ran_with(chore(clone, bin_folder, PYTHON="my-python"), clone) == "my-python"


def test_an_unusable_PYTHON_is_reported(clone: Path, bin_folder: Path) -> None:  # noqa: N802
    python(bin_folder, "python3")
    done = chore(clone, bin_folder, PYTHON="python2.7")
    assert done.returncode == 1
    assert "PYTHON is set to python2.7" in done.stderr


def test_a_missing_python_is_reported_with_the_remedy(clone: Path, bin_folder: Path) -> None:
    done = chore(clone, bin_folder)
    assert done.returncode == 1
    assert "Python 3.10 or newer is needed; there is no python3 on PATH." in done.stderr
    assert "install python" in done.stderr


def test_an_old_python_is_reported_with_the_remedy(clone: Path, bin_folder: Path) -> None:
    python(bin_folder, "python3", refuses="3, 10", version="3.9")
    done = chore(clone, bin_folder)
    assert done.returncode == 1
    assert "python3 here is Python 3.9.0" in done.stderr
    assert "install python" in done.stderr


def test_a_python_without_venv_is_reported_with_the_remedy(clone: Path, bin_folder: Path) -> None:
    python(bin_folder, "python3", refuses="ensurepip")
    done = chore(clone, bin_folder)
    assert done.returncode == 1
    assert f"Python 3.11 ({bin_folder}/python3) lacks the modules venv and ensurepip" in done.stderr
    assert "install python" in done.stderr
