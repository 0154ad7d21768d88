"""The README's second command in a fresh clone, in the surroundings that people and containers have.

Makefile, chores, the order of their steps and the tests are real. A stand-in of pip installs nothing: .venv
uses the packages of the environment that runs this test.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.pulumi_cli.building import YAML_HOST
from scripts.tools.client_tools import BROWSERS, DEBIAN, GO
from support.emulated.other_user import NOBODY, command, reachable_folder

TESTS = (
    "tests/pulumi_vertex_training/packaging/test_what_is_packed.py::test_what_cannot_be_read_is_named",
    "tests/vertex_emulator/services/storage/disk/test_closed_folders.py",
    "tests/vertex_emulator/replicas/sandbox/test_job_sandbox.py::test_the_view_of_a_replica",
)
"""Some of the tests that depend on the user, the clone's folder and the folder of temporary files."""

SCRIPTS = {
    "python3": """
        [ "$1 $2 $3" = "-I -m venv" ] || exec "{folder}/base/bin/python3" "$@"
        cp -R "{folder}/environment" "$4"
        """,
    "pulumi": "echo v3.259.0",
    **dict.fromkeys(["pulumi-language-python", "pulumi-resource-pulumi-python", YAML_HOST], "exit 1"),
    **dict.fromkeys([*DEBIAN, *BROWSERS, *(each.name for each in GO)], "exit 1"),
    **dict.fromkeys(["apt-get", "go", "npm", "mvn"], "echo not in this test; exit 1"),
}
"""Programs on PATH: a Python that makes environments quickly, and no way to install anything."""

PIP = """
import pathlib, sys, sysconfig
if folders := [value for flag, value in zip(sys.argv, sys.argv[1:]) if flag == "--editable"]:
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    (packages / "clone.pth").write_text("\\n".join(f"{folder}/src" for folder in folders))
"""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The user and the folders of a run. Without a home folder, HOME is the empty text."""

    root: bool
    ci: bool
    below: str
    closed: bool
    temporary: str | None
    home: bool


SURROUNDINGS = {
    "root in a container": Surroundings(
        root=True, ci=True, below="clones", closed=True, temporary=None, home=True
    ),
    "root": Surroundings(
        root=True, ci=False, below="Läufe & Übung", closed=False, temporary="/dev/shm", home=False
    ),
    "an ordinary user in CI": Surroundings(
        root=False, ci=True, below="Läufe & Übung", closed=False, temporary=None, home=False
    ),
    "an ordinary user": Surroundings(
        root=False, ci=False, below="clones", closed=True, temporary="/dev/shm", home=True
    ),
}


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """Yield a folder of the programs in SCRIPTS, which everybody can run."""
    with reachable_folder() as folder:
        for name in ("base", "environment"):
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / name], check=True)
            (packages,) = folder.glob(f"{name}/lib/python*/site-packages")
            lines = [f"import sys; sys._base_executable = {str(folder / 'bin' / 'python3')!r}"]
            if name == "environment":
                lines.append(sysconfig.get_path("purelib"))
                (packages / "pip").mkdir()
                (packages / "pip" / "__init__.py").touch()
                (packages / "pip" / "__main__.py").write_text(PIP)
            (packages / "packages.pth").write_text("\n".join(lines))
        (folder / "bin").mkdir()
        for name, script in SCRIPTS.items():
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{script.format(folder=folder)}\n")
            (folder / "bin" / name).chmod(0o755)
        yield folder / "bin"


def copy_clone(root: Path, target: Path) -> None:
    """Copy the files of this clone that the command reads, with their bytecode, which saves time."""
    for name in ("scripts", "providers", "policies", "tools", "tests/support"):
        shutil.copytree(root / name, target / name, ignore=shutil.ignore_patterns("venv"))
    for name in (
        "Makefile",
        "pyproject.toml",
        "requirements-dev.txt",
        "requirements.txt",
        "tests/conftest.py",
    ):
        shutil.copy2(root / name, target / name)
    for name in {each.partition("::")[0] for each in TESTS}:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)
    for name in {str(each) for test in TESTS for each in Path(test.partition("::")[0]).parents}:
        if (root / name / "conftest.py").exists():
            shutil.copy2(root / name / "conftest.py", target / name)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if it.root else []) for name, it in SURROUNDINGS.items()],
)
def test_the_second_command_of_the_readme(root: Path, programs: Path, name: str) -> None:
    it = SURROUNDINGS[name]
    if it.root and os.geteuid() != 0:
        pytest.skip("only root can run this as root")
    with ExitStack() as stack:
        place = stack.enter_context(reachable_folder())
        copy_clone(root, place / it.below / "clone")
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=it.temporary or place)))
        temporary.chmod(0o1777 if it.temporary else 0o700)
        assert (temporary.stat().st_dev != place.stat().st_dev) == bool(it.temporary)
        (place / it.below).chmod(0o700 if it.closed else 0o755)
        (place / "home").mkdir()
        if os.geteuid() == 0:
            user = 0 if it.root else NOBODY
            subprocess.run(["chown", "-R", f"{user}:{user}", place, temporary], check=True)
        words = ["make", "test", f"ARGS=-q {' '.join(TESTS)}"]
        ended = subprocess.run(
            words if it.root else command(*words),
            cwd=place / it.below / "clone",
            env={
                "PATH": f"{programs}:/usr/bin:/bin",
                "HOME": str(place / "home") if it.home else "",
                "XDG_CACHE_HOME": "" if it.home else str(place / "cache"),
                "TMPDIR": str(temporary),
                "COLD_PYTHON": "1",  # the tests below start no emulator
                **({"CI": "true"} if it.ci else {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    print(ended.stdout)
    assert ended.returncode == 0
    assert "cannot be" not in ended.stdout
    assert ended.stdout.count("creating .venv") == 1
    assert ("Policy pack       installed" in ended.stdout) == it.ci
    assert re.fullmatch(r"\d+ passed in .*", ended.stdout.splitlines()[-1])
