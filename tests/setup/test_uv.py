"""uv in the set-up: installed once by its lock file, with the settings of pip; without it, pip is used."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.layout import layout as layout_of
from scripts.report import ChoreError, Report, Step
from scripts.setup import python_packages, uv

_PIP = """#!/bin/sh
echo "$@" >>"{log}"
case "$*" in
    *"config list"*) cat "{settings}" ;;
    *--target*) [ -z "{fails}" ] || {{ echo no such index; exit 1; }}
        while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; cp "{uv}" "$2/bin/uv" ;;
esac
"""
_UV = '#!/bin/sh\necho "uv $@ index=$UV_DEFAULT_INDEX cache=$UV_CACHE_DIR" >>"{log}"\n'


@pytest.fixture
def clone(layout: Layout, tmp_path: Path) -> Layout:
    """Return a clone whose Python is a script that stands for pip, and installs a uv that stands for uv."""
    layout.python.parent.mkdir(parents=True)
    (tmp_path / "uv").write_text(_UV.format(log=tmp_path / "log"))
    (tmp_path / "uv").chmod(0o755)
    (tmp_path / "settings").write_text(
        "global.index-url='https://one/simple'\n:env:.index-url='https://two'\n"
    )
    write_pip(layout, tmp_path)
    (layout.root / "requirements.txt").write_text("nothing==1.0 \\\n    --hash=sha256:00\n")
    return layout


def write_pip(layout: Layout, folder: Path, fails: str = "") -> None:
    values = {name: folder / name for name in ("log", "settings", "uv")}
    layout.python.write_text(_PIP.format(**values, fails=fails))
    layout.python.chmod(0o755)


def install(clone: Layout, report: Report, tmp_path: Path) -> list[str]:
    """Install the lock file, and return the commands that ran."""
    (tmp_path / "log").unlink(missing_ok=True)
    environ = {"PATH": "/usr/bin:/bin"}
    lock = clone.root / "requirements.txt"
    step = Step(report, "Python packages")
    python_packages._install(clone, lock, step, environ, python_packages._uv(clone, step, environ))
    return (tmp_path / "log").read_text().splitlines()


def test_uv_is_installed_once_and_gets_the_settings_of_pip(
    clone: Layout, report: Report, tmp_path: Path
) -> None:
    first = install(clone, report, tmp_path)
    assert "--require-hashes --target" in first[0]
    lock = clone.root / "requirements.txt"
    wanted = f"uv pip install --python {clone.python} --require-hashes --no-deps -r {lock}"
    assert first[-1] == f"{wanted} index=https://two cache={clone.cache / uv.CACHE}"
    assert not any("--target" in line for line in install(clone, report, tmp_path))
    assert [path.name.rpartition("-")[0] for path in clone.cache.iterdir()] == ["uv"]


@pytest.mark.parametrize("why", ["no uv", "a setting of pip"])
def test_without_uv_pip_installs(
    clone: Layout, report: Report, printed: io.StringIO, tmp_path: Path, why: str
) -> None:
    if why == "no uv":
        write_pip(clone, tmp_path, fails="yes")
    else:
        (tmp_path / "settings").write_text("global.proxy='http://proxy'\n")
    commands = install(clone, report, tmp_path)
    assert "--require-hashes --no-deps -r" in commands[-1]
    assert "-m pip install" in commands[-1]
    assert "pip installs the packages, which takes longer: " in printed.getvalue()
    assert ("no such index" if why == "no uv" else "pip's setting proxy") in printed.getvalue()


def test_the_real_uv_installs_a_wheel_with_its_hash(layout: Layout, tmp_path: Path, report: Report) -> None:
    """Use the uv of this machine, if the chores have installed it."""
    try:
        program = uv.ensure(layout_of(), Path(sys.executable), {})
    except ChoreError as error:
        pytest.skip(str(error))
    assert re.search(r"uv-[\d.]+/bin/uv$", str(program))
    wheel = tmp_path / "one-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("one.py", "")
        archive.writestr("one-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n")
        archive.writestr(
            "one-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("one-1.0.dist-info/RECORD", "")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", layout.venv], check=True)
    for digest, code in (("0" * 64, 1), (hashlib.sha256(wheel.read_bytes()).hexdigest(), 0)):
        lock = tmp_path / "lock"
        lock.write_text(f"one==1.0 \\\n    --hash=sha256:{digest}\n")
        env = {**uv.environment(layout, Path(sys.executable), {"PATH": "/usr/bin:/bin"}), "UV_NO_INDEX": "1"}
        command = [program, "pip", "install", "--python", layout.python, "--require-hashes", "--no-deps"]
        done = subprocess.run([*command, "--find-links", tmp_path, "-r", lock], env=env, capture_output=True)
        assert (done.returncode != 0) == bool(code), done.stderr
