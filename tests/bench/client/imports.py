"""The time of importing the package, beyond Pulumi's own import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from figure import Figure, median_seconds


def figures() -> Iterator[Figure]:
    pulumi = median_seconds(lambda: _python("import pulumi"))
    job = median_seconds(lambda: _python("from pulumi_vertex_training import CustomJob"))
    yield Figure(
        name="import of CustomJob, over import pulumi",
        value=job - pulumi,
        unit="s",
        budget=0.15,
        note=f"{pulumi:.2f} s of import pulumi",
    )
    every_name = median_seconds(lambda: _python("from pulumi_vertex_training import *"))
    yield Figure(name="import of every public name, over import pulumi", value=every_name - pulumi, unit="s")
    command = [sys.executable, "-m", "pulumi_vertex_training.cli", "--help"]
    help_ = median_seconds(lambda: subprocess.run(command, check=True, capture_output=True))
    yield Figure(name="vertex-training --help", value=help_, unit="s")


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
