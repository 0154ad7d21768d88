"""Size and time of installing the package with each of its extras, and of a first project by the template."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from figure import Figure

from scripts.layout import layout
from scripts.pulumi_cli import installed
from scripts.release import command as release
from scripts.report import Report

EXTRAS = ("ui", "tuning")
"""The extras that are installed besides the base, each into a copy of its environment."""


def figures() -> Iterator[Figure]:
    """Measure with pip's cache as it is: a download from the index takes as long as the network does."""
    here, report = layout(), Report(sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        with report.step("Distributions") as step:
            built = release.build(here, Path(temporary, "dist"), step)
        wheel = next(path for path in built if path.name.startswith("pulumi_") and path.suffix == ".whl")
        base = Path(temporary, "base")
        python = getattr(sys, "_base_executable", sys.executable)
        subprocess.run([python, "-m", "venv", base], check=True)
        empty = _size(base)
        with report.step("Base") as step:
            seconds = _install(base, wheel)
            step.done(f"{seconds:.0f} s")
        yield from _measured("the base", base, empty=empty, seconds=seconds)
        for extra in EXTRAS:
            folder = Path(temporary, extra)
            shutil.copytree(base, folder, symlinks=True)
            with report.step(f"[{extra}]") as step:
                more = _install(folder, wheel, f"[{extra}]")
                step.done(f"{more:.0f} s more")
            yield from _measured(f"with [{extra}]", folder, empty=empty, seconds=seconds + more)
            shutil.rmtree(folder)
        cli = installed.ensure(here, report)
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


def _install(folder: Path, wheel: Path, extra: str = "") -> float:
    """Install a wheel and those beside it into an environment, and return the seconds."""
    began = time.perf_counter()
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--find-links", wheel.parent]
    command = [*pip, f"{wheel}{extra}"]
    subprocess.run(command, check=True)
    return time.perf_counter() - began


def _measured(name: str, folder: Path, *, empty: int, seconds: float) -> Iterator[Figure]:
    command = [folder / "bin" / "python", "-m", "pip", "list", "--format=freeze"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    ours = [line for line in listed if not line.startswith(("pip=", "setuptools="))]
    yield Figure(
        name=f"installed size of {name}",
        value=(_size(folder) - empty) / 1e6,
        unit="MB",
        note=f"{len(ours)} packages",
    )
    yield Figure(name=f"installation of {name}", value=seconds, unit="s")


def _size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
