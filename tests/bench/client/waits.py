"""The real CLI: a deployment that waits for the end of many jobs, at the default `--parallel`.

One deployment submits the jobs and is interrupted; another joins them and is killed; a third one sees them
end.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from figure import Figure

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client import engine as support
from support.client.engine import Engine
from vertex_emulator.client import launcher

JOBS = 100
PROGRAM = f"""
script = "until test -e /gcs/bench-flags/go; do sleep 1; done"
pool = {{
    "machine_spec": {{"machine_type": "n1-standard-4"}},
    "container_spec": {{
        "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "command": ["sh", "-c", script],
    }},
}}
for number in range({JOBS}):
    vt.CustomJob(f"job-{{number}}", worker_pool_specs=[pool], wait="done")
"""
_PAUSE = 0.1
_LIMIT = 300.0


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        engine = support.make(Path(folder) / "project")
        engine.write(PROGRAM)
        try:
            launcher.ensure(engine.data_dir)
            buckets.create(engine.endpoint(), {"name": "bench-flags", "location": "us-central1"})
            yield from _of_jobs(engine)
        finally:
            launcher.stop(engine.data_dir)


def _of_jobs(engine: Engine) -> Iterator[Figure]:
    began = time.perf_counter()
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive", "--suppress-progress")
    submitted: dict[str, float] = {}
    recorded: dict[str, float] = {}

    def all_are_recorded() -> bool:
        now = time.perf_counter() - began
        for job in _jobs(engine):
            submitted.setdefault(job.name, now)
        for one in engine.state():
            recorded.setdefault(one["id"], now)
        return len(submitted) == JOBS and all(name in recorded for name in submitted)

    _until(all_are_recorded)
    yield Figure(
        name=f"{JOBS} jobs with wait=done, until the last one is submitted",
        value=max(submitted.values()),
        unit="s",
        budget=30.0,
        note=f"from the start of `pulumi up`; the first after {min(submitted.values()):.1f} s",
    )
    yield Figure(
        name="from the submission of a job until its id is in the state, the longest",
        value=max(recorded[name] - submitted[name] for name in submitted),
        unit="s",
        budget=1.0,
    )
    began = time.perf_counter()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=_LIMIT)
    yield Figure(
        name=f"from Ctrl-C in a wait for {JOBS} jobs to the end of `pulumi up`",
        value=time.perf_counter() - began,
        unit="s",
        budget=5.0,
    )
    pending = [len(engine.checkpoint().get("pending_operations", []))]
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    support.read_output_until(process, "Ctrl-C leaves it running")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=_LIMIT)
    pending.append(len(engine.checkpoint().get("pending_operations", [])))
    engine.unlock()
    yield Figure(
        name="pending operations in the state after Ctrl-C and after a SIGKILL in a wait",
        value=sum(pending),
        unit="",
        budget=0,
    )
    objects.upload(engine.endpoint(), "bench-flags", "go", b"")
    began = time.perf_counter()
    engine.up().ok()
    assert len(_jobs(engine)) == JOBS
    yield Figure(
        name=f"`pulumi up` that sees the end of {JOBS} jobs",
        value=time.perf_counter() - began,
        unit="s",
        note="the jobs end within a second or two of its start",
    )


def _jobs(engine: Engine) -> list[JobRecord]:
    return custom_jobs.list_jobs(engine.endpoint())


def _until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"not reached in {_LIMIT:g} s")
        time.sleep(_PAUSE)
