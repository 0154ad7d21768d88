"""`vertex-training explain` of 1,000 replicas, as the process that a user starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figure import Figure, median_seconds

REPLICAS = 1_000


def figures() -> Iterator[Figure]:
    task = {"imageUri": "gcr.io/project/image", "env": [{"name": "MODE", "value": "fast"}]}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "containerSpec": task}
    job = {"workerPoolSpecs": [{**pool, "replicaCount": 1}, {**pool, "replicaCount": REPLICAS - 1}]}
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "job.json", Path(folder) / "out"
        file.write_text(json.dumps(job))
        for switches in (["--json"], []):
            command = [sys.executable, "-m", "pulumi_vertex_training.cli", "explain", str(file), *switches]
            seconds = median_seconds(lambda command=command: _run(command, out))  # type: ignore[misc]
            size = out.stat().st_size
            if switches:
                assert len(json.loads(out.read_bytes())["replicas"]) == REPLICAS
            yield Figure(
                name=" ".join(["vertex-training explain", *switches, f"of {REPLICAS:,} replicas"]),
                value=seconds,
                unit="s",
                budget=0.5,
                note=f"{size / 1e6:,.1f} MB" if size > 100_000 else f"{size:,} bytes",
            )


def _run(command: list[str], out: Path) -> None:
    with out.open("wb") as file:
        subprocess.run(command, stdout=file, check=True)
