"""Jobs whose replicas are one-line programs, for the real emulator."""

from __future__ import annotations

from typing import Any

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"


def pool(program: str, *, replicas: int = 1) -> dict[str, Any]:
    """Return a worker pool, in the API's JSON form, whose replicas run the Python program."""
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": str(replicas),
        "containerSpec": {"imageUri": IMAGE, "command": ["python3", "-u", "-c", program]},
    }


def job(display_name: str, *programs: str, **more: Any) -> dict[str, Any]:
    """Return a job with a pool of one replica for each program."""
    return {
        "displayName": display_name,
        "jobSpec": {"workerPoolSpecs": [pool(program) for program in programs]},
        **more,
    }


SLEEP = "import time; print('sleeping', flush=True); time.sleep(600)"
