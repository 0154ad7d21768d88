"""The memory of the emulator's own processes while a job of 200 replicas runs.

Shared memory counts in equal parts for its processes (PSS), so that the parts add up.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from figure import Figure

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobState
from vertex_emulator.client import launcher

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
REPLICAS = 200
_MIB = 2**20


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        emulator = launcher.ensure(Path(folder))
        endpoint = Endpoint(
            kind="emulator",
            project="local",
            location="us-central1",
            url=emulator.url,
            token=emulator.token,
            storage_url=emulator.storage_url,
        )
        try:
            job = custom_jobs.create(endpoint, _job())
            _until(endpoint, job.name)
            yield from _measured(psutil.Process(emulator.pid), folder)
            custom_jobs.cancel(endpoint, job.name)
            _until(endpoint, job.name, ended=True)
        finally:
            launcher.stop(Path(folder))


def _measured(emulator: psutil.Process, folder: str) -> Iterator[Figure]:
    [supervisor] = [one for one in psutil.process_iter() if _is_supervisor(one, folder)]
    below = supervisor.children(recursive=True)
    assert len(below) >= 2 * REPLICAS, f"{len(below)} processes"
    programs = [one for one in below if one.environ().get("CLOUD_ML_JOB_ID")]
    assert len(programs) == REPLICAS, f"{len(programs)} programs"
    ours = sum(map(_pss, below)) - sum(map(_pss, programs))
    name = f"emulator with {REPLICAS} replicas: memory of"
    yield Figure(name=f"{name} the emulator", value=_pss(emulator) / _MIB, unit="MiB", budget=150.0)
    yield Figure(name=f"{name} the job's supervisor", value=_pss(supervisor) / _MIB, unit="MiB", budget=20.0)
    yield Figure(
        name=f"{name} the processes next to each program",
        value=ours / REPLICAS / _MIB,
        unit="MiB",
        budget=4.0,
        note=f"an empty Python program has {sum(map(_pss, programs)) / REPLICAS / _MIB:.1f} MiB",
    )


def _job() -> dict[str, Any]:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {
            "imageUri": IMAGE,
            "command": ["python3", "-c", "import time; time.sleep(600)"],
        },
    }
    pools = [pool, {**pool, "replicaCount": str(REPLICAS - 1)}]
    return {"displayName": "bench", "jobSpec": {"workerPoolSpecs": pools}}


def _is_supervisor(process: psutil.Process, folder: str) -> bool:
    """Return whether a process is the supervisor; its shims are forks with the same command line."""
    try:
        words = process.cmdline()
        mine = "vertex_emulator.replicas.supervisor.supervisor" in words and words[-1].startswith(folder)
        parent = process.parent()
        return mine and (parent is None or parent.cmdline() != words)
    except psutil.Error:
        return False


def _pss(process: psutil.Process) -> int:
    return int(process.memory_full_info().pss)


def _until(endpoint: Endpoint, name: str, *, ended: bool = False) -> None:
    deadline = time.monotonic() + 120
    while True:
        state = custom_jobs.get(endpoint, name).state
        if state.is_terminal if ended else state is JobState.JOB_STATE_RUNNING:
            return
        assert not state.is_terminal, "the job ended before all replicas ran"
        assert time.monotonic() < deadline, "the job did not reach the state in 120 s"
        time.sleep(0.05)
