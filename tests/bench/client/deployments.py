"""The real CLI: deployments that wait, deployments of many jobs, and destroy."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from client.previews import IMAGE
from figure import Figure

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client import engine as support
from support.client.engine import Engine
from vertex_emulator.client import launcher

JOBS = """
def pool(script):
    return {{
        "machine_spec": {{"machine_type": "n1-standard-4"}},
        "replica_count": 1,
        "container_spec": {{"image_uri": "{image}", "command": ["python3", "-c", script]}},
    }}
"""
WAITING = (
    JOBS
    + """
pools = [pool("import time; time.sleep(20)")]
jobs = [vt.CustomJob(f"job-{{number}}", worker_pool_specs=pools, wait="done") for number in range(16)]
vt.StagingBucket(
    "unrelated", name="bench-unrelated", opts=pulumi.ResourceOptions(depends_on=jobs)
)
"""
)
MANY = (
    JOBS
    + """
pools = [pool("print('trained')")]
for number in range({count}):
    wait = "done" if number < {waiting} else "none"
    vt.CustomJob(f"job-{{number}}", worker_pool_specs=pools, wait=wait)
"""
)
RUNNING = (
    JOBS
    + """
pools = [pool("import time; time.sleep(600)")]
for number in range({count}):
    vt.CustomJob(f"job-{{number}}", worker_pool_specs=pools, wait="running")
"""
)


def figures() -> Iterator[Figure]:
    yield from _while_waiting()
    yield from _many()
    yield from _destroyed()


def _while_waiting() -> Iterator[Figure]:
    """Measure the creation of a bucket during the wait for 16 jobs."""
    with _project(WAITING.format(image=IMAGE)) as engine:
        process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
        assert process.stdout is not None
        created: dict[str, float] = {}
        for line in process.stdout:
            for name in ("unrelated", "job-"):
                # later lines of a job's row carry its progress as well
                if f" {name}" in line and re.search(r" created \([\d.]+s\)\s*$", line):
                    created[name] = time.monotonic()
        process.wait()
        ended = [job for job in custom_jobs.list_jobs(engine.endpoint()) if job.state.is_terminal]
        yield Figure(
            name="a bucket during the wait for 16 jobs, after the last job's creation",
            value=created["unrelated"] - created["job-"],
            unit="s",
            budget=1.0,
            note=f"the {len(ended)} jobs ran for 20 s meanwhile",
        )
        engine.destroy()


def _many(count: int = 100, waiting: int = 16) -> Iterator[Figure]:
    with _project(MANY.format(image=IMAGE, count=count, waiting=waiting)) as engine:
        began = time.perf_counter()
        engine.up().ok()
        yield Figure(
            name=f"up of {count} new jobs, of which {waiting} are waited for to their end",
            value=time.perf_counter() - began,
            unit="s",
            note=f"{_live(engine)} of them still ran when it was done",
        )
        engine.destroy()


def _destroyed() -> Iterator[Figure]:
    seconds = {}
    for count in (1, 16):
        with _project(RUNNING.format(image=IMAGE, count=count)) as engine:
            engine.up().ok()
            assert _live(engine) == count
            began = time.perf_counter()
            engine.destroy().ok()
            seconds[count] = time.perf_counter() - began
            assert custom_jobs.list_jobs(engine.endpoint()) == []
    yield Figure(
        name="destroy of 16 running jobs, against one",
        value=seconds[16] / seconds[1],
        unit="x",
        budget=16.0,
        note=f"{seconds[16]:.1f} s against {seconds[1]:.1f} s",
    )


def _live(engine: Engine) -> int:
    return len(custom_jobs.list_live(engine.endpoint()))


@contextmanager
def _project(program: str) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory() as folder:
        engine = support.make(Path(folder) / "project")
        engine.write(program)
        try:
            yield engine
        finally:
            launcher.stop(engine.data_dir)
