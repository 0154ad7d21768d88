"""Time and processor minutes of `make test`, by ring: `make bench ARGS="--only tests"`."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from figure import Figure

from scripts.testing.results import Reader, Results

ROOT = Path(__file__).resolve().parents[3]


def figures() -> Iterator[Figure]:
    """Run the suite once. The processor time is that of the test processes and all that they start."""
    began = time.perf_counter()
    ended = subprocess.run(["make", "test", "ARGS="], cwd=ROOT, stdout=sys.stderr)
    seconds = time.perf_counter() - began if ended.returncode == 0 else math.inf
    note = "" if ended.returncode == 0 else f"FAILED, exit code {ended.returncode}"
    yield Figure(name="tests: make test", value=seconds / 60, unit="min", budget=14, note=note)
    results = Results()
    for process, row in Reader(ROOT / ".local" / "tests" / "results").rows():
        results.take(process, row)
    minutes = {name: cost.processor / 60 for name, cost in results.rings().items()}
    yield Figure(
        name="tests: processor time", value=sum(minutes.values()), unit="min", budget=24, note=results.source
    )
    for name, value in minutes.items():
        yield Figure(name=f"tests: processor time, {name}", value=value, unit="min")
