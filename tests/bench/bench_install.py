"""Size and time of installing the package with each of its extras, and of a first project by the template."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from figure import Figure

from scripts import pulumi_cli, release
from scripts.layout import layout
from scripts.report import Report

EXTRAS = ("", "images", "emulator")
"""The sets of extras that are installed, each into an environment of its own; "" is the base."""


def figures() -> Iterator[Figure]:
    """Measure with pip's cache as it is: a download from the index takes as long as the network does."""
    here, report = layout(), Report(sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        with report.step("Distributions") as step:
            built = release.build(here, Path(temporary, "dist"), step)
        wheel = next(path for path in built if path.name.startswith("pulumi_") and path.suffix == ".whl")
        for extras in EXTRAS:
            yield from _installed(wheel, extras, Path(temporary, extras or "base"))
        cli = pulumi_cli.ensure(here, report)
        with release.trial(cli, wheel) as trial:
            began = time.perf_counter()
            trial.create()
            created = time.perf_counter()
            outcome = trial.train()
            ended = time.perf_counter()
            trial.remove()
            yield Figure(
                name="from `pulumi new` to a trained model",
                value=ended - began,
                unit="s",
                note=f"{created - began:.0f} s of it are `pulumi new`; {outcome}",
            )


def _installed(wheel: Path, extras: str, folder: Path) -> Iterator[Figure]:
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    before = _size(folder)
    began = time.perf_counter()
    requirement = f"{wheel}[{extras}]" if extras else str(wheel)
    subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
    seconds = time.perf_counter() - began
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    ours = [line for line in listed.stdout.splitlines() if not line.startswith(("pip=", "setuptools="))]
    name = f"with [{extras}]" if extras else "the base"
    yield Figure(
        name=f"installed size of {name}",
        value=(_size(folder) - before) / 1e6,
        unit="MB",
        note=f"{len(ours)} packages",
    )
    yield Figure(name=f"installation of {name}", value=seconds, unit="s")


def _size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
