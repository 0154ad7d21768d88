"""Run pip for a job's virtual environment."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import venv
from collections import deque
from collections.abc import Sequence
from pathlib import Path

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


def create_environment(path: Path, names: str) -> None:
    """Create a virtual environment that the host's pip can fill, or else one with a pip of its own.

    `names` are the packages, for messages. Raises InstallError if this Python has neither pip nor ensurepip.
    """
    own_pip = not _host_has_pip()
    if own_pip and importlib.util.find_spec("ensurepip") is None:
        raise InstallError(
            f"The packages {names} cannot be installed: the emulator's Python, {sys.executable}, has neither "
            "pip nor ensurepip. The packages are not at fault. Install pip there (on Debian and Ubuntu: "
            "`apt install python3-venv`; with uv: `uv pip install pip`), and create the job again."
        )
    try:
        venv.EnvBuilder(with_pip=own_pip, symlinks=True).create(path)
    except subprocess.CalledProcessError as error:
        raise InstallError(
            f"The packages {names} cannot be installed: ensurepip of {sys.executable} failed with exit code "
            f"{error.returncode}. The packages are not at fault. Install pip there, and create the job again."
        ) from None


def run_pip(path: Path, subcommand: str, arguments: Sequence[str]) -> None:
    """Run pip for the environment and print its lines. Raises PipError."""
    python = str(path / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python] if _host_has_pip() else [python, "-m", "pip"]
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


def _host_has_pip() -> bool:
    return any(importlib.metadata.distributions(name="pip"))
