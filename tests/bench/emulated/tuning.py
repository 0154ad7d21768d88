"""Tuning jobs on the emulator: a trial's time beyond its program, next to a custom job's."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emulated.jobs import IMAGE
from figure import Figure

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from vertex_emulator.client import launcher

TRIALS = 10
SECONDS = 0.1
PROGRAM = (
    f"import json, os, time; time.sleep({SECONDS})\n"
    "path = os.environ.get('CLOUD_ML_HP_METRIC_FILE', '/dev/null')\n"
    "open(path, 'w').write(json.dumps({'accuracy': '0.5', 'global_step': '1'}) + '\\n')\n"
)


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
            _tuned(endpoint, trials=1, parallel=1)  # warm up: probe the sandbox, load libraries
            alone = _custom_jobs(endpoint) / TRIALS - SECONDS
            for algorithm in ("RANDOM_SEARCH", "ALGORITHM_UNSPECIFIED"):
                name = {"RANDOM_SEARCH": "random"}.get(algorithm, "Bayesian")
                seconds = _tuned(endpoint, trials=TRIALS, parallel=1, algorithm=algorithm)
                yield Figure(
                    name=f"emulator: a trial of a {SECONDS} s program, {name} search, over the program",
                    value=seconds / TRIALS - SECONDS,
                    unit="s",
                    note=f"{alone:.2f} s for a custom job alone",
                )
            together = _tuned(endpoint, trials=4 * TRIALS, parallel=4)
            yield Figure(
                name=f"emulator: {4 * TRIALS} trials of {SECONDS} s, 4 at a time, for each",
                value=together / (4 * TRIALS),
                unit="s",
            )
        finally:
            launcher.stop(Path(folder))


def _job_spec() -> dict[str, Any]:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {"imageUri": IMAGE, "command": ["python3", "-c", PROGRAM]},
    }
    return {"workerPoolSpecs": [pool]}


def _tuned(endpoint: Endpoint, *, trials: int, parallel: int, algorithm: str = "RANDOM_SEARCH") -> float:
    body = {
        "displayName": "bench",
        "maxTrialCount": trials,
        "parallelTrialCount": parallel,
        "studySpec": {
            "metrics": [{"metricId": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": [{"parameterId": "x", "doubleValueSpec": {"minValue": 0.0, "maxValue": 1.0}}],
            "algorithm": algorithm,
        },
        "trialJobSpec": _job_spec(),
    }
    began = time.perf_counter()
    job = tuning_jobs.GATEWAY.create(endpoint, body)
    while not (found := tuning_jobs.GATEWAY.get(endpoint, job.name)).state.is_terminal:
        time.sleep(0.02)
    assert found.state.name == "JOB_STATE_SUCCEEDED", found.error
    return time.perf_counter() - began


def _custom_jobs(endpoint: Endpoint) -> float:
    """Return the seconds of as many custom jobs of the same program, one after the other."""
    began = time.perf_counter()
    for _ in range(TRIALS):
        job = custom_jobs.create(endpoint, {"displayName": "bench", "jobSpec": _job_spec()})
        while not custom_jobs.get(endpoint, job.name).state.is_terminal:
            time.sleep(0.02)
    return time.perf_counter() - began
