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
from pathlib import Path

PACK = Path(__file__).resolve().parent
VENV, LOCK = PACK / "venv", PACK / "requirements.txt"
STAMP = VENV / "installed"
PURE = ("vertex_training", "vertex_cluster")
_PIP = ("-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet")


def stamp() -> str:
    """Return a text that differs if the environment has to be made again."""
    return f"{hashlib.sha256(LOCK.read_bytes()).hexdigest()}\n{VENV}\n"


def main() -> int:
    """Make the environment, unless it is up to date. Return the exit code."""
    if STAMP.exists() and STAMP.read_text() == stamp():
        return 0
    found = {name: importlib.util.find_spec(name) for name in PURE}
    missing = [name for name, spec in found.items() if spec is None or spec.origin is None]
    if missing:
        sys.stderr.write(
            f"{sys.executable} has no {' and no '.join(missing)}. Install pulumi-vertex-training.\n"
        )
        return 1
    shutil.rmtree(VENV, ignore_errors=True)
    base = getattr(sys, "_base_executable", None) or sys.executable
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    python = VENV / "bin" / "python"
    for command in (
        [base, "-I", "-m", "venv", str(VENV)],
        [str(python), *_PIP, "--require-hashes", "--no-deps", "-r", str(LOCK)],
    ):
        code = subprocess.run(command, env=env, check=False).returncode  # noqa: S603
        if code:
            return code
    (packages,) = VENV.glob("lib/python*/site-packages")
    for name, spec in found.items():
        assert spec is not None and spec.origin is not None  # noqa: S101 (checked above)
        (packages / name).symlink_to(Path(spec.origin).parent)
    (VENV / ".gitignore").write_text("*\n")
    STAMP.write_text(stamp())
    return 0


if __name__ == "__main__":
    sys.exit(main())
