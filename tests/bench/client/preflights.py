"""`vertex-training preflight` of a job against the emulator, next to `explain`, which asks nobody."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from figure import Figure

from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

_TURNS = 5
_JOB = """
workerPoolSpecs:
- machineSpec: {machineType: g2-standard-4, acceleratorType: NVIDIA_L4, acceleratorCount: 1}
  replicaCount: 1
  containerSpec: {imageUri: us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest}
- machineSpec: {machineType: g2-standard-4, acceleratorType: NVIDIA_L4, acceleratorCount: 1}
  replicaCount: 15
  containerSpec: {imageUri: us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest}
"""


def figures() -> Iterator[Figure]:
    """Measure both commands in turns, since a machine's speed changes."""
    with tempfile.TemporaryDirectory() as name:
        data_dir, file = Path(name, "emulator"), Path(name, "job.yaml")
        file.write_text(_JOB)
        environment = {**os.environ, "VERTEX_TRAINING_DATA_DIR": str(data_dir)}
        launcher.ensure(data_dir)
        try:
            turns = [
                (_seconds("preflight", file, environment), _seconds("explain", file, environment))
                for _ in range(_TURNS)
            ]
        finally:
            emulator_reset.reset(data_dir)
        mine, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
        yield Figure(
            name="preflight of a job against the emulator, over `explain` of it",
            value=mine - theirs,
            unit="s",
            budget=1.0,
            note=f"{mine:.2f} s against {theirs:.2f} s",
        )


def _seconds(command: str, file: Path, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        ["vertex-training", command, str(file), "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stdout + done.stderr
    assert "errors" not in json.loads(done.stdout) or not json.loads(done.stdout)["errors"], done.stdout
    return seconds
