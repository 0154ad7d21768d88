"""Run pip for a job's virtual environment."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from vertex_emulator.replicas.preparation.interpreters import Interpreter, own

_KEPT_LINES = 15
_OPTIONS = (
    "--disable-pip-version-check",
    "--no-input",
    "--progress-bar=off",
)


class InstallError(Exception):
    """The packages cannot be installed; the message is for the user."""


class PipError(Exception):
    """pip failed; the message has its last lines, indented."""


def check_pip(interpreter: Interpreter, names: str) -> None:
    """Raise InstallError if there is no pip for an interpreter. `names` are the packages, for messages."""
    if _command(interpreter, Path()) is None:
        raise InstallError(
            f"The packages {names} cannot be installed: {interpreter.executable} has neither "
            "pip nor ensurepip. The packages are not at fault. Install pip there (on Debian and Ubuntu: "
            "`apt install python3-venv`; with uv: `uv pip install pip`), and create the job again."
        )


def run_pip(path: Path, interpreter: Interpreter, subcommand: str, arguments: Sequence[str]) -> None:
    """Run pip for the environment at `path` and print its lines. Raises PipError."""
    pip = _command(interpreter, path) or ()
    more = ("--root-user-action=ignore",) if subcommand == "install" else ()
    last: deque[str] = deque(maxlen=_KEPT_LINES)
    # Some build backends of source archives import from their own folder, which PYTHONSAFEPATH forbids.
    with subprocess.Popen(  # noqa: S603 - pip with archives from the emulator's own buckets
        [*pip, subcommand, *_OPTIONS, *more, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
    ) as process:
        assert process.stdout is not None  # noqa: S101 - what PIPE means, said to the type checker
        for line in process.stdout:
            last.append(line.rstrip())
            print_line(f"pip: {line.rstrip()}")
    if process.returncode != 0:
        raise PipError("".join(f"\n    {line}" for line in last))


def print_line(line: str) -> None:
    """Print a line for the service's log at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _command(interpreter: Interpreter, path: Path) -> tuple[str, ...] | None:
    """Return the command of pip for an environment: the emulator's pip, or the one that `ensurepip` bundles.

    Another interpreter always gets its own pip, which supports its version.
    """
    python = str(path / "bin" / "python")
    if interpreter == own() and any(importlib.metadata.distributions(name="pip")):
        return (sys.executable, "-m", "pip", "--python", python)
    if interpreter.bundled_pip is not None:
        return (python, str(interpreter.bundled_pip / "pip"))
    return None
