"""Keeping, updating and replacing .venv."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.release import command as release
from scripts.report import ChoreError, Report
from scripts.setup import python_packages
from scripts.setup.python_packages import Stamp

BASE = getattr(sys, "_base_executable", sys.executable)
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
OTHER = "3.10" if RUNNING != "3.10" else "3.11"
LOCK = f"nothing==1.0 \\\n    --hash=sha256:{'0' * 64}\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment with this Python. Tests copy it, because making one takes 0.3 s."""
    venv = tmp_path_factory.mktemp("environment") / ".venv"
    subprocess.run([BASE, "-m", "venv", "--without-pip", venv], check=True)
    return venv


@pytest.fixture
def clone(layout: Layout, environment: Path) -> Layout:
    """Make a clone with an environment and one locked package."""
    projects = [folder / "pyproject.toml" for folder in layout.distributions]
    for path in (layout.root / "requirements.txt", layout.root / "requirements-dev.txt", *projects):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LOCK)
    shutil.copytree(environment, layout.venv, symlinks=True)
    return layout


@pytest.fixture
def stamp(clone: Layout) -> Stamp:
    """Write and return the stamp of a complete environment."""
    stamp = python_packages.wanted(clone, None, development=True)
    stamp.write(clone.venv)
    return stamp


def test_a_stamp_is_read_as_written(clone: Layout, stamp: Stamp) -> None:
    assert Stamp.read(clone.venv) == stamp
    assert python_packages.wanted(clone, stamp, development=True) == stamp


@pytest.mark.parametrize("content", ["", "{", "[]", '{"root": "x"}'])
def test_an_unreadable_stamp_is_none(clone: Layout, content: str) -> None:
    (clone.venv / "installed.json").write_text(content)
    assert Stamp.read(clone.venv) is None


def test_the_environment_of_the_tests_suffices_for_a_deployment(clone: Layout, stamp: Stamp) -> None:
    assert python_packages.wanted(clone, stamp, development=False) == stamp


def test_the_environment_of_a_deployment_does_not_suffice_for_the_tests(clone: Layout) -> None:
    runtime = python_packages.wanted(clone, None, development=False)
    assert runtime.development == ""
    assert python_packages.wanted(clone, runtime, development=True) != runtime


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-dev.txt", "providers/vertex-emulator/pyproject.toml"]
)
def test_a_changed_file_makes_the_environment_outdated(clone: Layout, stamp: Stamp, name: str) -> None:
    (clone.root / name).write_text(LOCK + "# changed\n")
    assert python_packages.wanted(clone, stamp, development=True) != stamp


def test_a_missing_lock_file_is_reported(clone: Layout) -> None:
    (clone.root / "requirements.txt").unlink()
    with pytest.raises(ChoreError, match=r"requirements\.txt cannot be read"):
        python_packages.wanted(clone, None, development=False)


def test_a_complete_environment_is_kept(
    clone: Layout, stamp: Stamp, report: Report, printed: io.StringIO
) -> None:
    inside = str(clone.venv)
    assert python_packages.obstacle(clone, stamp, {}, prefix=inside) == ""
    assert python_packages.obstacle(clone, None, {"PYTHON": sys.executable}, prefix=inside) == ""
    python_packages.ensure(clone, report, development=True, environ={}, prefix=inside)
    assert printed.getvalue() == "Python packages   up to date\n"


def test_without_an_environment_there_is_no_obstacle(clone: Layout) -> None:
    shutil.rmtree(clone.venv)
    assert python_packages.obstacle(clone, None, {}) == ""


def test_an_unusable_environment_is_reported(clone: Layout, stamp: Stamp) -> None:
    assert "does not run, or is older than 3.10" in python_packages.obstacle(clone, stamp, {})
    inside = str(clone.venv)
    moved = replace(stamp, root="/elsewhere")
    assert "moved or copied from /elsewhere" in python_packages.obstacle(clone, moved, {}, prefix=inside)
    settings = clone.venv / "pyvenv.cfg"
    settings.write_text(settings.read_text().replace(f" {RUNNING}", f" {OTHER}"))
    obstacle = python_packages.obstacle(clone, stamp, {"PYTHON": sys.executable}, prefix=inside)
    assert obstacle == f".venv has Python {OTHER}, but PYTHON asks for {RUNNING}"
    clone.python.unlink()
    clone.python.symlink_to("/gone/python3")
    assert "no longer exists" in python_packages.obstacle(clone, stamp, {}, prefix=inside)


def test_only_the_link_of_a_linked_environment_is_removed(clone: Layout) -> None:
    elsewhere = clone.root.parent / "elsewhere"
    clone.venv.rename(elsewhere)
    clone.venv.symlink_to(elsewhere)
    python_packages.remove(clone.venv)
    assert not clone.venv.is_symlink()
    python_packages.remove(elsewhere)
    assert not elsewhere.exists()


def test_a_folder_that_is_no_environment_is_not_removed(clone: Layout) -> None:
    (clone.venv / "pyvenv.cfg").unlink()
    (clone.venv / "notes.txt").write_text("mine")
    with pytest.raises(ChoreError, match=rf"{clone.venv} is not a Python environment: it has .*notes\.txt"):
        python_packages.remove(clone.venv)
    assert (clone.venv / "notes.txt").read_text() == "mine"


def test_a_release_replaces_only_its_own_files(tmp_path: Path) -> None:
    dist, out = tmp_path / "dist", tmp_path / "out"
    for folder, names in ((dist, ("ours-0.1.tar.gz", "notes.txt")), (out, ("ours-0.2.tar.gz",))):
        folder.mkdir()
        for name in names:
            (folder / name).write_text(name)
    assert release._replace(dist, sorted(out.iterdir())) == [dist / "ours-0.2.tar.gz"]
    assert sorted(path.name for path in dist.iterdir()) == ["notes.txt", "ours-0.2.tar.gz"]


def test_a_failed_installation_is_reported_and_retried(
    clone: Layout, stamp: Stamp, report: Report, printed: io.StringIO
) -> None:
    """Use the real pip without an index for a package of a new lock."""
    (packages,) = clone.venv.glob("lib/python*/site-packages")
    (packages / "pip-of-this-test.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (clone.root / "requirements.txt").write_text(LOCK + "# changed\n")
    environ = {"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    for _ in range(2):
        with pytest.raises(ChoreError) as caught:
            python_packages.ensure(clone, report, development=False, environ=environ, prefix=str(clone.venv))
        assert "The Python packages cannot be installed" in str(caught.value)
        assert "nothing==1.0" in str(caught.value)
        assert "PIP_INDEX_URL" in str(caught.value)
        assert Stamp.read(clone.venv) is None
    assert printed.getvalue().count("installing 1 packages from requirements.txt ...") == 2
