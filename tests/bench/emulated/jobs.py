"""Custom jobs on the emulator: the time until replicas run, and until their end is reported."""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from figure import Figure

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SLEEPS = "import time; time.sleep(300)"
PRINTS_TIME = "import time; time.sleep(1); print(time.time(), flush=True); raise SystemExit(3)"


def figures(runs: int = 5) -> Iterator[Figure]:
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
            yield Figure(
                name="emulator: 5 replicas, from create to all running",
                value=statistics.median(_until_running(endpoint) for _ in range(runs)),
                unit="s",
                budget=1.0,
            )
            Control(url=emulator.url, token=emulator.token).set_network("namespace")
            yield Figure(
                name="emulator: 5 replicas with a network of their own, from create to all running",
                value=statistics.median(_until_running(endpoint) for _ in range(runs)),
                unit="s",
                budget=1.4,
            )
            Control(url=emulator.url, token=emulator.token).set_network("host")
            yield Figure(
                name="emulator: from the end of a replica to the job's final state",
                value=statistics.median(_until_seen(endpoint) for _ in range(runs)),
                unit="s",
                budget=0.2,
            )
            yield Figure(
                name="emulator: processor time of a job of one replica that does nothing",
                value=_processor_time(endpoint, emulator.pid),
                unit="ms",
                budget=100.0,
            )
        finally:
            launcher.stop(Path(folder))


def _job(*command: str, workers: int = 0) -> dict[str, Any]:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {"imageUri": IMAGE, "command": list(command)},
    }
    pools = [pool] + ([{**pool, "replicaCount": str(workers)}] if workers else [])
    return {"displayName": "bench", "jobSpec": {"workerPoolSpecs": pools}}


def _until_running(endpoint: Endpoint) -> float:
    began = time.perf_counter()
    job = custom_jobs.create(endpoint, _job("python3", "-c", SLEEPS, workers=4))
    _until(endpoint, job, lambda state: state is JobState.JOB_STATE_RUNNING)
    seconds = time.perf_counter() - began
    custom_jobs.cancel(endpoint, job.name)
    _until(endpoint, job, lambda state: state.is_terminal)
    return seconds


def _until_seen(endpoint: Endpoint) -> float:
    """Return the seconds from the end of a replica, which prints the time, to the job's final state."""
    job = custom_jobs.create(endpoint, _job("python3", "-c", PRINTS_TIME))
    _until(endpoint, job, lambda state: state.is_terminal)
    seen = time.time()
    error = custom_jobs.get(endpoint, job.name).error
    assert error is not None
    printed = re.search(r"\d{10}\.\d+", error.message)
    assert printed is not None, error.message
    return seen - float(printed.group())


def _processor_time(endpoint: Endpoint, pid: int, *, jobs: int = 30) -> float:
    """Return the milliseconds of a job in all processes: the emulator, the fork server, and those reaped."""

    def used() -> float:
        time.sleep(1.0)  # the supervisor of the last job ends after the job
        emulator = psutil.Process(pid)
        return sum(sum(one.cpu_times()[:4]) for one in (emulator, *emulator.children()))

    def run() -> None:
        job = custom_jobs.create(endpoint, _job("true"))
        _until(endpoint, job, lambda state: state.is_terminal, every=0.05)

    run()  # the first one starts the fork server
    before = used()
    for _ in range(jobs):
        run()
    return (used() - before) / jobs * 1000


def _until(
    endpoint: Endpoint, job: JobRecord, reached: Callable[[JobState], bool], *, every: float = 0.005
) -> None:
    deadline = time.monotonic() + 60
    while not reached(custom_jobs.get(endpoint, job.name).state):
        assert time.monotonic() < deadline, "the job did not reach the state in 60 s"
        time.sleep(every)
