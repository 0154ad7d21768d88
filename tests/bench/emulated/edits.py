"""Edits of one line of a program: until all replicas have imported it again, and the disk that they take."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from figure import Figure

from support.client import engine as support
from support.client.engine import Engine
from vertex_emulator.client import launcher
from vertex_emulator.daemon import disk_use
from vertex_emulator.kernel.timeouts import ClientTimeouts

_LOCK = Path(__file__).with_name("tensorflow.txt")
_EDITS = 10
_REPLICAS = 3
_LIMIT = 1800.0
_TASK = """
import json, os, time
EDIT = {edit}
began = time.time()
import tensorflow
ended = time.time()
with open(f"/gcs/bench-edits/{{EDIT}}-{{os.environ['RANK']}}.json", "w") as file:
    json.dump({{"ended": ended, "took": ended - began}}, file)
import glob
while os.environ["RANK"] == "0" and len(glob.glob(f"/gcs/bench-edits/{{EDIT}}-*.json")) < {replicas}:
    time.sleep(0.05)  # the job ends with its chief
"""
_PROGRAM = """
bucket = vt.StagingBucket("edits", name="bench-edits", force_destroy=True)
repository = vt.ImageRepository("edits", repository_id="edits", force_destroy=True)

def image(name, base):
    return vt.TrainingImage(
        name, repository=repository, source="trainer", base_image=base,
        entrypoint=["python3", "task.py"], requirements="tensorflow.txt", python_version="3.11",
    )

one = image("one", "python:3.11-slim")
pulumi.export("first", one.sent_bytes)
if {second}:
    pulumi.export("second", image("two", "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-15.py310").sent_bytes)

def pool(count):
    return {{
        "machine_spec": {{"machine_type": "n1-standard-4"}},
        "replica_count": count,
        "container_spec": {{"image_uri": one}},
    }}

vt.CustomJob(
    "job", worker_pool_specs=[pool(1), pool({workers})], wait="done",
    opts=pulumi.ResourceOptions(depends_on=[bucket]),
)
"""

_PACKAGE = """
bucket = vt.StagingBucket("edits", name="bench-edits", force_destroy=True)
package = vt.StagedPackage("trainer", bucket=bucket, source="task.py", requirements=["numpy"])

def pool(count):
    return {{
        "machine_spec": {{"machine_type": "n1-standard-4"}},
        "replica_count": count,
        "python_package_spec": {{
            "executor_image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
            "package_uris": [package.uri],
            "python_module": "trainer.task",
        }},
    }}

vt.CustomJob("job", worker_pool_specs=[pool(1), pool({workers})], wait="done")
"""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        engine = support.make(Path(folder) / "packages")
        try:
            yield from _package_edits(engine)
            engine.destroy()
        finally:
            launcher.stop(engine.data_dir, timeouts=ClientTimeouts(stop=_LIMIT))
    with tempfile.TemporaryDirectory() as folder:
        engine = support.make(Path(folder) / "project")
        (engine.folder / "infra" / "tensorflow.txt").write_bytes(_LOCK.read_bytes())
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        engine.environment["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        try:
            yield from _edits(engine)
            engine.destroy()
        finally:
            launcher.stop(engine.data_dir, timeouts=ClientTimeouts(stop=_LIMIT))


def _package_edits(engine: Engine) -> Iterator[Figure]:
    """Measure edits of a package whose requirement is installed once."""
    _edit_package(engine, 0)
    before = _disk(engine.data_dir)
    overs = [_edit_package(engine, number) for number in range(1, _EDITS + 1)]
    least, took = min(overs)
    yield Figure(
        name="package with NumPy, 1 + 2: an edit until all replicas have imported it, over the import",
        value=least,
        unit="s",
        note=f"the import itself: {took:.1f} s; all edits: {', '.join(f'{over:.1f}' for over, _ in overs)} s",
    )
    installed = disk_use.installed_packages(engine.data_dir)
    yield Figure(
        name=f"package with NumPy: disk after {_EDITS} edits, more than before them",
        value=(_disk(engine.data_dir) - before) / 1e6,
        unit="MB",
        budget=5.0 * _EDITS,
        note=f"{before / 1e6:.0f} MB before them; {installed}",
    )


def _edit_package(engine: Engine, number: int) -> tuple[float, float]:
    """Deploy an edit of the package. Return what `_measured` returns."""
    task = _TASK.format(edit=number, replicas=_REPLICAS).replace("tensorflow", "numpy")
    (engine.folder / "infra" / "task.py").write_text(task)
    return _measured(engine, _PACKAGE.format(workers=_REPLICAS - 1), number)


def _edits(engine: Engine) -> Iterator[Figure]:
    began = time.perf_counter()
    _edit(engine, 0)
    first = time.perf_counter() - began
    sent = engine.outputs()["first"]
    before = _disk(engine.data_dir)
    overs = [_edit(engine, number) for number in range(1, _EDITS + 1)]
    least, took = min(overs)
    yield Figure(
        name="TensorFlow 1 + 2: an edit until all replicas have imported it, over the import",
        value=least,
        unit="s",
        budget=5.0,
        note=f"the import itself: {took:.1f} s; all edits: {', '.join(f'{over:.1f}' for over, _ in overs)} s",
    )
    yield Figure(
        name="TensorFlow 1 + 2: the first deployment",
        value=first,
        unit="s",
        note=f"{sent / 1e6:.0f} MB sent, wheels fetched and compiled",
    )
    yield Figure(
        name=f"TensorFlow 1 + 2: disk after {_EDITS} edits, more than before them",
        value=(_disk(engine.data_dir) - before) / 1e6,
        unit="MB",
        budget=5.0 * _EDITS,
        note=f"{before / 1e6:.0f} MB before them",
    )
    _edit(engine, _EDITS + 1, second=True)
    yield Figure(
        name="a second image on the same requirements: bytes sent",
        value=engine.outputs()["second"],
        unit="B",
        budget=50_000,
        note="its code and configuration",
    )


def _edit(engine: Engine, number: int, *, second: bool = False) -> tuple[float, float]:
    """Deploy an edit of the image. Return what `_measured` returns."""
    trainer = engine.folder / "infra" / "trainer"
    trainer.mkdir(exist_ok=True)
    (trainer / "task.py").write_text(_TASK.format(edit=number, replicas=_REPLICAS))
    return _measured(engine, _PROGRAM.format(second=second, workers=_REPLICAS - 1), number)


def _measured(engine: Engine, program: str, number: int) -> tuple[float, float]:
    """Deploy an edit. Return the seconds to the end of the last import less the longest one, and that one."""
    engine.write(program)
    began = time.time()
    engine.run("up", "--yes", "--skip-preview", "--non-interactive", timeout=_LIMIT).ok()
    written = sorted((engine.data_dir / "buckets" / "bench-edits").glob(f"{number}-*.json"))
    assert len(written) == _REPLICAS, written
    imports = [json.loads(path.read_text()) for path in written]
    took = max(each["took"] for each in imports)
    return max(each["ended"] for each in imports) - began - took, took


def _disk(folder: Path) -> int:
    """Return the bytes that a folder takes on the disk."""
    return sum(
        os.lstat(os.path.join(path, name)).st_blocks * 512  # noqa: PTH118 - many files
        for path, _, names in os.walk(folder)
        for name in names
    )
