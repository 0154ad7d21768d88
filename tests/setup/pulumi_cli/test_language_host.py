"""The script before the language host that was built: it reads the option `virtualenv` of the project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.pulumi_cli import building
from scripts.pulumi_cli.download import POLICIES
from support.tables import every_row

HOST = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


def write_host(folder: Path) -> Path:
    """Return a program in a folder of its own that prints its arguments, as a build leaves the host."""
    folder.mkdir()
    host = folder / building.LANGUAGE_HOST
    host.write_text(HOST)
    host.chmod(0o755)
    return host


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Return the completed host."""
    program = write_host(tmp_path / "bin with space")
    building.complete(program.parent)
    return program


def arguments(host: Path, folder: Path) -> list[str]:
    """Return the arguments that the built host gets when the CLI starts it in a folder.

    The first two name the program that runs Pulumi programs, which the host would look for beside itself.
    """
    command = [host, "127.0.0.1:7"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    flag, executor, *rest = ran.stdout.splitlines()
    assert (flag, executor) == ("-use-executor", f"{host.resolve()}-exec")
    return rest


def built(host: Path) -> Path:
    return host.parent / "built" / host.name


@every_row(
    ("project", "virtualenv"),
    [
        pytest.param("runtime:\n  name: python\n  options:\n    virtualenv: venv\n", "venv", id="a block"),
        pytest.param("    virtualenv: 'my venv' # ours\n", "my venv", id="quotes, a space and a comment"),
        pytest.param("runtime: {name: python, options: {virtualenv: venv}}\n", "venv", id="in one line"),
        pytest.param('{"options": {"virtualenv": "venv", "toolchain": "pip"}}\n', "venv", id="JSON"),
        pytest.param("    virtualenv: ../shared/venv/\n", "../shared/venv/", id="a path"),
        pytest.param("runtime: python # without virtualenv: the user's own\n", "", id="only in a comment"),
        pytest.param("# virtualenv: venv\nruntime: python\n", "", id="a line that is a comment"),
        pytest.param("runtime: python\n", "", id="no option"),
        pytest.param("", "", id="an empty file"),
    ],
)
def test_the_option_becomes_a_flag(host: Path, tmp_path: Path, project: str, virtualenv: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(project)
    flags = ["-root", str(tmp_path), "-virtualenv", virtualenv] if virtualenv else []
    assert arguments(host, tmp_path) == [*flags, "127.0.0.1:7"]


def test_the_project_is_above_the_folder_of_the_program(host: Path, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yml").write_text("main: infra\nruntime: {options: {virtualenv: venv}}\n")
    (tmp_path / "infra").mkdir()
    assert arguments(host, tmp_path / "infra")[:4] == ["-root", str(tmp_path), "-virtualenv", "venv"]


def test_a_link_to_the_host(host: Path, tmp_path: Path) -> None:
    link = tmp_path / host.name
    link.symlink_to(host)
    assert arguments(link, tmp_path) == ["127.0.0.1:7"]


def test_a_folder_without_project(host: Path, tmp_path: Path) -> None:
    assert arguments(host, tmp_path) == ["127.0.0.1:7"]


def test_an_older_build_is_completed_once(host: Path, tmp_path: Path) -> None:
    """Replace the script of another version, and keep the built host."""
    assert built(host).read_text() == HOST
    host.write_text("#!/bin/sh\nexit 1\n")
    building.complete(host.parent)
    first = host.stat().st_ino
    building.complete(host.parent)
    assert (host.stat().st_ino, built(host).read_text()) == (first, HOST)
    assert arguments(host, tmp_path) == ["127.0.0.1:7"]
    assert sorted(path.name for path in host.parent.iterdir()) == ["built", host.name]


def test_a_completion_that_was_killed_is_repeated(tmp_path: Path) -> None:
    host = write_host(tmp_path / "bin")
    built(host).parent.mkdir()
    built(host).hardlink_to(host)
    building.complete(host.parent)
    (tmp_path / "Pulumi.yaml").write_text("virtualenv: venv\n")
    assert arguments(host, tmp_path)[2:] == ["-virtualenv", "venv", "127.0.0.1:7"]


def test_a_downloaded_release_stays_as_it_is(tmp_path: Path) -> None:
    host = write_host(tmp_path / "bin")
    (host.parent / POLICIES).touch()
    building.complete(host.parent)
    assert host.read_text() == HOST
