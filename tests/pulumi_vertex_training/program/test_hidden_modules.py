"""Files beside a program with the name of a module that the package needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pulumi_vertex_training.hidden_modules import OF_PYTHON

LOAD = (
    "import sys; sys.path.insert(0, '.'); import pulumi; {first}import pulumi_vertex_training as vt;"
    " vt.CustomJob"
)


def run(folder: Path, name: str, *, first: str = "") -> str:
    """Import the package in a folder with a file of this name. Return the last line of its errors."""
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("X = 1\n")
    command = [sys.executable, "-c", LOAD.format(first=first)]
    done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
    return done.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize("name", ["vertex_training.py", "vertex_emulator/__init__.py", "types.py", "test.py"])
def test_a_file_with_the_name_of_our_package_hides_it_from_nobody(name: str, tmp_path: Path) -> None:
    assert run(tmp_path, name) == ""


def test_a_file_that_hides_a_needed_module_is_named(tmp_path: Path) -> None:
    said = run(tmp_path, "secrets.py")
    hides = f"{tmp_path / 'secrets.py'} hides the module secrets of Python, which a deployment needs."
    assert said == f"pulumi.errors.RunError: {hides} Rename it."
    own = tmp_path / "own"
    own.mkdir()
    said = run(own, "vertex_training.py", first="import vertex_training; ")
    assert f"{own / 'vertex_training.py'} hides the module vertex_training of pulumi-vertex-training" in said


def test_the_listed_modules_are_of_python() -> None:
    assert set(OF_PYTHON) <= sys.stdlib_module_names
