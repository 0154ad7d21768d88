"""Install the environment of the policy pack, venv/ beside this file: `python policies/install.py`.

Run it with the Python that has pulumi-vertex-training. The new environment has the locked packages, and of
that package only what is pure: Pulumi's SDK for policies pins an older protobuf than Google's clients need.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACK = Path(__file__).resolve().parent
VENV, LOCK = PACK / "venv", PACK / "requirements.txt"
PYTHON, STAMP = VENV / "bin" / "python", VENV / "installed"
PURE = ("vertex_training", "vertex_cluster")
_PIP = ("-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet")
_OFFLINE = "If PyPI cannot be reached, name another index in PIP_INDEX_URL or in pip's configuration."


def main() -> int:
    """Make the environment, unless it is up to date. Return the exit code."""
    packages = dict(_packages())
    missing = [name for name in PURE if name not in packages]
    if missing:
        return _fail(
            f"{sys.executable} has no {' and no '.join(missing)}. Run this script with the Python in which "
            "pulumi-vertex-training is installed."
        )
    stamp = _stamp(packages)
    if STAMP.exists() and STAMP.read_text() == stamp and PYTHON.exists():
        _say(f"{VENV} is up to date.")
        return 0
    shutil.rmtree(VENV, ignore_errors=True)
    _say(f"Installing packages into {VENV} ...")
    base = getattr(sys, "_base_executable", None) or sys.executable
    if _run(base, "-I", "-m", "venv", str(VENV)):
        return _fail(f"{base} could not make {VENV}. On Debian and Ubuntu: apt install python3-venv")
    if _run(str(PYTHON), *_PIP, "--require-hashes", "--no-deps", "-r", str(LOCK)):
        return _fail(f"The packages of {LOCK} could not be installed. {_OFFLINE}")
    (folder,) = VENV.glob("lib/python*/site-packages")
    for name, source in packages.items():
        (folder / name).symlink_to(source)
    (VENV / ".gitignore").write_text("*\n")
    STAMP.write_text(stamp)
    _say("The policy pack is installed.")
    return 0


def _packages() -> Iterator[tuple[str, Path]]:
    """Yield the name and folder of each pure package that this Python has."""
    for name in PURE:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            yield name, Path(spec.origin).parent


def _stamp(packages: Mapping[str, Path]) -> str:
    """Return a text that differs if the environment has to be made again."""
    lock = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    return "".join(f"{line}\n" for line in (lock, VENV, *packages.values()))


def _run(*command: str) -> int:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    return subprocess.run(command, env=env, check=False).returncode  # noqa: S603


def _fail(message: str) -> int:
    """Print why there is no environment. Remove an unfinished one, which would hide that it is missing."""
    if not STAMP.exists():
        shutil.rmtree(VENV, ignore_errors=True)
    sys.stderr.write(f"{message}\n")
    return 1


def _say(message: str) -> None:
    sys.stdout.write(f"{message}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
