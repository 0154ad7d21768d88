"""Check and diff of a job: our own work, and the round trip next to that of a provider that does nothing."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from client.previews import NOTHING_PROVIDER
from figure import Figure, median_seconds
from pulumi.dynamic import ResourceProvider

from pulumi_vertex_training.providers import CustomJobProvider
from support.client.plugin import PluginProcess

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
    "__run": {},
    "endpoint": "emulator",
    "project": "local",
    "location": "us-central1",
    "marks": {"project": "p", "stack": "s", "resource": "train"},
}


def recorded(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a job with these inputs, which has ended."""
    run = inputs["__run"]
    key = f"{run.get('identity', 'ab')}-1"
    return {**inputs, "state": "JOB_STATE_SUCCEEDED", "__run": {**run, "key": key, "reruns": 0}}


def figures() -> Iterator[Figure]:
    provider = CustomJobProvider()
    inputs = provider.check({}, JOB).inputs

    def own_work() -> None:
        provider.check(inputs, JOB)
        provider.diff("id", recorded(inputs), inputs)

    yield Figure(
        name="check + diff of a job of 4 pools",
        value=median_seconds(own_work, runs=200) * 1000,
        unit="ms",
        budget=5,
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nothing.py").write_text(NOTHING_PROVIDER)
        (Path(folder) / "recorded.json").write_text(json.dumps({"inputs": {}, "outputs": {}}))
        sys.path.insert(0, folder)
        with PluginProcess(Path(folder), is_cold=True) as plugin:
            ours = median_seconds(lambda: _round_trip(plugin, provider), runs=100)
            baseline = median_seconds(
                lambda: _round_trip(plugin, import_module("nothing").Nothing()), runs=100
            )
    yield Figure(
        name="the same in the provider process, over gRPC",
        value=ours * 1000,
        unit="ms",
        note=f"of which {baseline * 1000:.1f} ms with a provider that does nothing",
    )


def _round_trip(plugin: PluginProcess, provider: ResourceProvider) -> None:
    inputs, _ = plugin.check(provider, JOB)
    plugin.diff(provider, recorded(inputs), inputs)
