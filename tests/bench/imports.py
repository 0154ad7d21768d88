"""What importing the package costs a program, over Pulumi's own import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from figure import Figure, median_seconds


def figures() -> Iterator[Figure]:
    pulumi = median_seconds(lambda: _python("import pulumi"))
    ours = median_seconds(lambda: _python("import pulumi_vertex_training"))
    yield Figure(
        name="import pulumi_vertex_training, over import pulumi",
        value=ours - pulumi,
        unit="s",
        budget=0.15,
        note=f"{pulumi:.2f} s of import pulumi",
    )
    command = [sys.executable, "-m", "vertex_training.cli", "--help"]
    help_ = median_seconds(lambda: subprocess.run(command, check=True, capture_output=True))
    yield Figure(name="vertex-training --help", value=help_, unit="s")


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
