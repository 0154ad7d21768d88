"""The real CLI: a preview of many unchanged jobs, against as many resources of a provider of nothing."""

from __future__ import annotations

import copy
import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figure import Figure

from support import engine as support
from support.engine import Engine
from vertex_training.cloud import custom_jobs
from vertex_training.emulator import launcher

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
JOBS = f"""
pool = {{
    "machine_spec": {{"machine_type": "n1-standard-4"}},
    "replica_count": 1,
    "container_spec": {{"image_uri": "{IMAGE}", "command": ["true"]}},
}}
for number in range(config.get_int("count")):
    vt.CustomJob(f"job-{{number}}", display_name="bench", worker_pool_specs=[pool], wait="none")
"""
NOTHING = """
from pulumi.dynamic import Resource
from nothing import Nothing

for number in range(config.get_int("count")):
    Thing = type("Thing", (Resource,), {}, module="bench", name="Thing")
    Thing(Nothing(), f"thing-{number}", {"worker_pool_specs": [{"replica_count": 1}]})
    Thing(Nothing(), f"run-{number}", {"spec": "v1-0"})
"""
NOTHING_PROVIDER = """
from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ResourceProvider


class Nothing(ResourceProvider):
    serialize_as_secret_always = False

    def check(self, olds, news):
        return CheckResult(news, [])

    def diff(self, id, olds, news):
        return DiffResult(changes=False)

    def create(self, props):
        return CreateResult("id", props)
"""
WAITING = """
pool = {{
    "machine_spec": {{"machine_type": "n1-standard-4"}},
    "replica_count": 1,
    "container_spec": {{
        "image_uri": "{image}", "command": ["python3", "-c", "import time; time.sleep(20)"]
    }},
}}
jobs = [vt.CustomJob(f"job-{{number}}", worker_pool_specs=[pool], wait="done") for number in range({count})]
vt.StagingBucket(
    "unrelated", name="bench-unrelated", opts=pulumi.ResourceOptions(depends_on=jobs)
)
"""


def figures(counts: list[int]) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        ours, nothing = _prepared(Path(folder) / "ours", JOBS), _prepared(Path(folder) / "nothing", NOTHING)
        (nothing.folder / "infra" / "nothing.py").write_text(NOTHING_PROVIDER)
        try:
            ours.set("count", "1")
            nothing.set("count", "1")
            ours.up().ok()
            nothing.up().ok()
            for count in counts:
                _multiply(ours, count)
                _multiply(nothing, count)
                pairs = [(_preview(ours, count), _preview(nothing, count)) for _ in range(3)]
                ratio = sorted(mine / floor for mine, floor in pairs)[1]
                mine, floor = sorted(mine for mine, _ in pairs)[1], sorted(floor for _, floor in pairs)[1]
                yield Figure(
                    name=f"preview of {count} unchanged jobs, against the floor",
                    value=ratio,
                    unit="x",
                    budget=1.25,
                    note=f"{mine:.1f} s against {floor:.1f} s of {2 * count} resources that do nothing",
                )
        finally:
            launcher.stop(ours.data_dir)


def waiting_figures() -> Iterator[Figure]:
    """How long a bucket takes beside 16 jobs that are waited for."""
    with tempfile.TemporaryDirectory() as folder:
        engine = _prepared(Path(folder) / "project", WAITING.format(image=IMAGE, count=16))
        try:
            process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
            assert process.stdout is not None
            created: dict[str, float] = {}
            for line in process.stdout:
                for name in ("unrelated", "job-"):
                    # later lines of a job's row carry its progress as well
                    if f" {name}" in line and re.search(r" created \([\d.]+s\)\s*$", line):
                        created[name] = time.monotonic()
            process.wait()
            endpoint = engine.endpoint()
            ended = [job for job in custom_jobs.list_jobs(endpoint) if job.state.is_terminal]
            yield Figure(
                name="a bucket beside 16 jobs being waited for, after the last job's creation",
                value=created["unrelated"] - created["job-"],
                unit="s",
                budget=1.0,
                note=f"the {len(ended)} jobs ran for 20 s meanwhile",
            )
            engine.destroy()
        finally:
            launcher.stop(engine.data_dir)


def _prepared(folder: Path, program: str) -> Engine:
    engine = support.make(folder)
    engine.write(program)
    return engine


def _preview(engine: Engine, count: int) -> float:
    started = time.perf_counter()
    output = engine.preview("--expect-no-changes").ok().output
    seconds = time.perf_counter() - started
    assert f"{2 * count + 1} unchanged" in output, output
    return seconds


def _multiply(engine: Engine, count: int) -> None:
    """Give the stack `count` of what it has one of: as if each had been deployed."""
    engine.set("count", str(count))
    exported = json.loads(engine.run("stack", "export").ok().output)
    deployment = exported["deployment"]
    ones = [one for one in deployment["resources"] if one["urn"].endswith("-0")]
    rest = [one for one in deployment["resources"] if not one["urn"].rpartition("-")[2].isdigit()]
    deployment["resources"] = rest + [_renamed(one, number) for number in range(count) for one in ones]
    target = engine.folder / "state.json"
    target.write_text(json.dumps(exported))
    engine.run("stack", "import", "--file", str(target)).ok()


def _renamed(resource: dict[str, Any], number: int) -> dict[str, Any]:
    text = json.dumps(copy.deepcopy(resource)).replace("job-0", f"job-{number}")
    text = text.replace("thing-0", f"thing-{number}").replace("run-0", f"run-{number}")
    renamed: dict[str, Any] = json.loads(text)
    return renamed
