"""A second deployment of an unchanged image and package: the real provider process and its uploads."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comparison import seconds
from figure import Figure
from pulumi.dynamic import ResourceProvider

from pulumi_vertex_training.providers import (
    ImageRepositoryProvider,
    StagedPackageProvider,
    StagingBucketProvider,
    TrainingImageProvider,
)
from support.client.plugin import PluginProcess
from support.emulated.emulator import call
from vertex_emulator.client import launcher
from vertex_emulator.client.launcher import Emulator

_PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
_MARKS = {"marks": {"project": "bench", "stack": "test", "resource": "unchanged"}}
_RUNS = 5


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as temporary:
        folder, data = Path(temporary, "program"), Path(temporary, "data")
        _trainer(folder / "trainer")
        own = launcher.ensure(data)
        try:
            config = {"vertex-training:dataDir": str(data)}
            with PluginProcess(folder, config=config, is_cold=True) as plugin:
                yield from _rows(plugin, own)
        finally:
            launcher.stop(data)


def _trainer(folder: Path) -> None:
    """Write a program with enough data for an upload to take noticeable time."""
    folder.mkdir(parents=True)
    (folder / "task.py").write_text("print('trained')\n")
    (folder / "__init__.py").touch()
    for number in range(20):
        (folder / f"data_{number}.bin").write_bytes(bytes(range(256)) * 4096)


def _rows(plugin: PluginProcess, own: Emulator) -> Iterator[Figure]:
    _, repository = _made(plugin, ImageRepositoryProvider(), {"repository_id": "bench", **_PLACE, **_MARKS})
    _made(plugin, StagingBucketProvider(), {"name": "bench-staging", **_PLACE, **_MARKS})
    image = {
        "repository": repository["url"],
        "name": "digits",
        "source": "trainer",
        "base_image": "python:3.11-slim",
        **_PLACE,
    }
    package = {"bucket": "bench-staging", "source": "trainer", **_PLACE}
    declared: list[tuple[str, ResourceProvider, dict[str, Any]]] = [
        ("image", TrainingImageProvider(), image),
        ("package", StagedPackageProvider(), package),
    ]
    for name, provider, inputs in declared:
        yield from _unchanged(plugin, own, name, provider, inputs)


def _unchanged(
    plugin: PluginProcess, own: Emulator, name: str, provider: ResourceProvider, declared: dict[str, Any]
) -> Iterator[Figure]:
    _uploaded(own)
    first = seconds(lambda: _made(plugin, provider, declared))
    sent_first = _uploaded(own)
    assert sent_first > 10_000_000, sent_first
    inputs, failures = plugin.check(provider, declared)
    assert not failures, failures
    assert not plugin.diff(provider, inputs, inputs)[0]
    seen = [seconds(lambda: _second_up(plugin, provider, declared, inputs)) for _ in range(_RUNS)]
    again = [seconds(lambda: plugin.create(provider, inputs)) for _ in range(_RUNS)]
    yield Figure(
        name=f"an unchanged {name}: bytes of content sent",
        value=_uploaded(own),
        unit="B",
        budget=0,
        note=f"{sent_first:,} B the first time; {_RUNS} more deployments, {_RUNS} more creations",
    )
    yield Figure(
        name=f"an unchanged {name}: check + diff of a second deployment",
        value=statistics.median(seen),
        unit="s",
        note=f"{first:.2f} s to create it",
    )
    yield Figure(
        name=f"an unchanged {name}: created again with existing content",
        value=statistics.median(again),
        unit="s",
    )


def _made(
    plugin: PluginProcess, provider: ResourceProvider, declared: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    inputs, failures = plugin.check(provider, declared)
    assert not failures, failures
    return plugin.create(provider, inputs)


def _second_up(
    plugin: PluginProcess, provider: ResourceProvider, declared: dict[str, Any], olds: dict[str, Any]
) -> None:
    checked, _ = plugin.check(provider, declared, olds)
    plugin.diff(provider, olds, checked)


def _uploaded(own: Emulator) -> int:
    """Return the bytes of uploads of objects and blobs since the last call, as the emulator counts them."""
    entries = call(own.url, "GET", "/_local/requests", token=own.token).json()["requests"]
    call(own.url, "DELETE", "/_local/requests", token=own.token)
    uploads = [one for one in entries if "/upload" in one["target"]]
    return sum(int(one["received"]) for one in uploads)
