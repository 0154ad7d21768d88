"""The real CLI: `vertex-training plan` of many jobs, unchanged and changed, next to a preview of the stack.

The plan of changed jobs looks up which of them are live, draws them for a comment, and is saved.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from client.previews import POOL, live_jobs, multiply, prepared, resources_of_first_job
from figure import Figure

from support.client.engine import Engine
from vertex_emulator.client import launcher

JOBS = f"""
{POOL}
workers = config.get_int("workers")
pools = [pool, {{**pool, "replica_count": workers}}] if workers else [pool]
for number in range(config.get_int("count")):
    vt.CustomJob(f"job-{{number}}", display_name="bench", worker_pool_specs=pools, wait="none")
"""
_TURNS = 3


def figures(counts: list[int]) -> Iterator[Figure]:
    """Measure plans and previews in turns, since a machine's speed changes."""
    with tempfile.TemporaryDirectory() as name:
        engine = prepared(Path(name, "jobs"), JOBS)
        try:
            launcher.ensure(engine.data_dir)
            engine.set("count", "1")
            engine.set("workers", "0")
            engine.up().ok()
            one = resources_of_first_job(engine)
            for count in counts:
                multiply(engine, count, one, jobs=live_jobs(engine, count))
                yield _figure(
                    engine, f"plan of {count} unchanged jobs, live", f"No changes, {count} unchanged."
                )
                engine.set("workers", "2")
                yield _figure(engine, f"plan of {count} changed jobs, live", f"{count} to replace.")
                engine.set("workers", "0")
        finally:
            launcher.stop(engine.data_dir)


def _figure(engine: Engine, name: str, summary: str) -> Figure:
    turns = [(_plan(engine, summary), _preview(engine)) for _ in range(_TURNS)]
    seconds = [statistics.median(column) for column in zip(*turns, strict=True)]
    return Figure(
        name=f"{name}, as a comment and saved, against a preview",
        value=statistics.median(mine / theirs for mine, theirs in turns),
        unit="x",
        budget=1.5,
        note=f"{seconds[0]:.1f} s against {seconds[1]:.1f} s",
    )


def _plan(engine: Engine, summary: str) -> float:
    saved = engine.folder / "plan.json"
    seconds, output = _timed(engine, "vertex-training", "plan", "--markdown", "--save-plan", str(saved))
    assert summary in output, output
    assert saved.exists()
    return seconds


def _preview(engine: Engine) -> float:
    return _timed(engine, "pulumi", "preview", "--non-interactive")[0]


def _timed(engine: Engine, *command: str) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=engine.folder,
        env={**os.environ, **engine.environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stdout + done.stderr
    return seconds, done.stdout
