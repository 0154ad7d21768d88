"""The real CLI: previews of many unchanged jobs from YAML and Python, by the package and dynamic resources.

Each is measured in turns with the floor: as many resources of a dynamic provider that does nothing.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from client import previews
from figure import Figure

from scripts.layout import layout
from scripts.tools import client_tools
from support.client.engine import Engine
from support.client.package_plugin import install_plugin
from vertex_emulator.client import launcher

_POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": 1,
    "containerSpec": {"imageUri": previews.IMAGE, "command": ["true"]},
}
_LONGEST = 25.0
"""The most seconds of a preview of 1,000 jobs in YAML."""


def figures(counts: list[int]) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        floor = previews.prepared(folder / "nothing", previews.NOTHING)
        (floor.folder / "infra" / "nothing.py").write_text(previews.NOTHING_PROVIDER)
        forms = {
            name: previews.prepared(folder / name, previews.JOBS) for name in ("dynamic", "package", "yaml")
        }
        try:
            for engine in forms.values():
                launcher.ensure(engine.data_dir)
                engine.environment["PATH"] = client_tools.path(layout(), engine.environment["PATH"])
            for name in ("package", "yaml"):
                install_plugin(forms[name].environment)
            forms["package"].set("vertex-training:form", "package")
            yield from _of_forms(forms, floor, counts)
        finally:
            for engine in forms.values():
                launcher.stop(engine.data_dir)


def _of_forms(forms: dict[str, Engine], floor: Engine, counts: list[int]) -> Iterator[Figure]:
    first: dict[str, list[dict[str, Any]]] = {}
    for name, engine in [*forms.items(), ("", floor)]:
        _declare(engine, name, 1)
        if not name:
            previews.record(forms["dynamic"], floor)
        engine.up().ok()
        first[name] = previews.resources_of_first_job(engine)
    for count in counts:
        for name, engine in [*forms.items(), ("", floor)]:
            _declare(engine, name, count)
            previews.multiply(engine, count, first[name])
        for name, engine in forms.items():
            keys = 1 if name == "dynamic" else 0
            turns = [
                (previews.preview(engine, count + keys), previews.preview(floor, count))
                for _ in range(3 if count < 1000 else 1)
            ]
            seconds = [statistics.median(column) for column in zip(*turns, strict=True)]
            title = {"dynamic": "Python, dynamic", "package": "Python, package", "yaml": "YAML"}[name]
            yield Figure(
                name=f"preview of {count} unchanged jobs, {title}, against the floor",
                value=statistics.median(mine / nothing for mine, nothing in turns),
                unit="x",
                budget=1.25,
                note=f"{seconds[0]:.1f} s against {seconds[1]:.1f} s",
            )
            if name == "yaml" and count == 1000:
                yield Figure(
                    name=f"preview of {count} unchanged jobs, {title}",
                    value=seconds[0],
                    unit="s",
                    budget=_LONGEST,
                )


def _declare(engine: Engine, name: str, count: int) -> None:
    engine.set("count", str(count))
    if name != "yaml":
        return
    properties = {"displayName": "bench", "workerPoolSpecs": [_POOL], "wait": "none"}
    job = {"type": "vertex-training:CustomJob", "properties": properties}
    document = {
        "name": "engine-test",
        "runtime": "yaml",
        "resources": {f"job-{number}": job for number in range(count)},
    }
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(document))
