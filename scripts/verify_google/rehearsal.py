"""Run the command while an emulator answers at Google's addresses, through its proxy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

_COMMAND = Path(sys.executable).with_name("vertex-training")
REDIRECTIONS = ("STORAGE_EMULATOR_HOST", "VERTEX_EMULATOR_HOST", "GCE_METADATA_HOST")
"""Variables of `vertex-training emulator env`: with them, Google's libraries call the emulator."""


@contextmanager
def emulator(folder: Path) -> Iterator[launcher.Emulator]:
    """Yield an emulator with its data in a folder, which is deleted at the end."""
    remove(folder)
    try:
        yield launcher.ensure(folder)
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """End the emulator of a folder and its jobs, and delete the folder."""
    if folder.exists():
        emulator_reset.reset(folder)
        shutil.rmtree(folder)


def google_variables(folder: Path, *, project: str, location: str) -> dict[str, str]:
    """Return the environment of a shell in which Google's addresses lead to the emulator of a folder."""
    place = ("--data-dir", str(folder), "--project", project, "--location", location)
    shown = subprocess.run(  # noqa: S603  our own command
        [str(_COMMAND), "emulator", "env", "--proxy", "--json", *place],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(shown.stdout)
    kept = {name: value for name, value in os.environ.items() if name not in found["unset"]}
    return {**kept, **found["environment"]}


def run_again(arguments: list[str], folder: Path, *, project: str, location: str) -> int:
    """Run the command where an emulator answers for Google Cloud. Return its exit code."""
    with emulator(folder / "google"):
        environment = google_variables(folder / "google", project=project, location=location)
        command = [sys.executable, "-m", "scripts.verify_google", *arguments]
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603  ourselves
