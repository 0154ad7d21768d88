"""Check and diff of a job, in the real provider process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from figure import Figure, median_seconds

from pulumi_vertex_training.providers.custom_job import CustomJobProvider
from support.plugin import PluginProcess

POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 2,
    "python_package_spec": {
        "executor_image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
        "package_uris": ["gs://a-bucket/trainer.tar.gz"],
        "python_module": "trainer.task",
        "args": ["--epochs=10"],
        "env": [{"name": f"NAME_{number}", "value": "value"} for number in range(10)],
    },
}
JOB = {
    "display_name": "train",
    "worker_pool_specs": [{**POOL, "replica_count": 1}, POOL, {}, {**POOL, "replica_count": 1}],
    "staging_bucket": "a-bucket",
    "run": "abc-1",
    "endpoint": "emulator",
    "project": "local",
    "location": "us-central1",
    "marks": {"project": "p", "stack": "s", "resource": "train"},
}


def figures() -> Iterator[Figure]:
    provider = CustomJobProvider()
    with tempfile.TemporaryDirectory() as folder, PluginProcess(Path(folder)) as plugin:
        inputs, _ = plugin.check(provider, JOB)

        def both() -> None:
            plugin.check(provider, JOB)
            plugin.diff(provider, inputs, inputs)

        seconds = median_seconds(both, runs=100)
    yield Figure(
        name="check + diff of a job of 4 pools, over gRPC", value=seconds * 1000, unit="ms", budget=5
    )
