"""The real CLI: `vertex-training drift` of many unchanged jobs, next to a preview of the same stack."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from client.previews import JOBS, live_jobs, multiply, prepared, preview, resources_of_first_job
from figure import Figure

from support.client.engine import Engine
from vertex_emulator.client import launcher

_TURNS = 3


def figures(counts: list[int]) -> Iterator[Figure]:
    """Measure live jobs, each of which is read; in turns, since a machine's speed changes."""
    with tempfile.TemporaryDirectory() as name:
        engine = prepared(Path(name, "jobs"), JOBS)
        try:
            launcher.ensure(engine.data_dir)
            engine.set("count", "1")
            engine.up().ok()
            one = resources_of_first_job(engine)
            for count in counts:
                multiply(engine, count, one, jobs=live_jobs(engine, count))
                turns = [(_drift(engine, count), preview(engine, count + 1)) for _ in range(_TURNS)]
                seconds = [statistics.median(column) for column in zip(*turns, strict=True)]
                yield Figure(
                    name=f"drift of {count} unchanged jobs, live, against a preview",
                    value=statistics.median(mine / theirs for mine, theirs in turns),
                    unit="x",
                    budget=1.5,
                    note=f"{seconds[0]:.1f} s against {seconds[1]:.1f} s",
                )
        finally:
            launcher.stop(engine.data_dir)


def _drift(engine: Engine, jobs: int) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        ["vertex-training", "drift", "--exit-code"],
        cwd=engine.folder,
        env={**os.environ, **engine.environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"none, {jobs} unchanged" in done.stdout, done.stdout
    return seconds
