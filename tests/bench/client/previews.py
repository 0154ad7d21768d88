"""The real CLI: previews of many unchanged jobs, finished and live, next to the unavoidable time.

The comparisons are an empty program; as many resources, with the same inputs and outputs in the state, of a
dynamic provider that does nothing (the baseline); and `terraform plan` of as many built-in resources, if
terraform is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from figure import Figure

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.runs.identity import identity_of
from support.client import engine as support
from support.client.engine import Engine
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
POOL = f"""
pool = {{
    "machine_spec": {{"machine_type": "n1-standard-4"}},
    "replica_count": 1,
    "container_spec": {{"image_uri": "{IMAGE}", "command": ["true"]}},
}}
"""
EMPTY = ""
JOBS = f"""
{POOL}
for number in range(config.get_int("count")):
    vt.CustomJob(f"job-{{number}}", display_name="bench", worker_pool_specs=[pool], wait="none")
"""
NOTHING = f"""
from pulumi.dynamic import Resource
from nothing import Nothing

{POOL}
Job = type("Job", (Resource,), {{}}, module="bench", name="Job")
place = {{"endpoint": "emulator", "project": "local", "location": "us-central1"}}
for number in range(config.get_int("count")):
    marks = {{"project": "engine-test", "stack": "test", "resource": f"job-{{number}}"}}
    props = {{"display_name": "bench", "worker_pool_specs": [pool], "marks": marks, **place}}
    Job(Nothing(), f"job-{{number}}", props)
"""
NOTHING_PROVIDER = """
import json
from pathlib import Path

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ResourceProvider

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())


class Nothing(ResourceProvider):
    serialize_as_secret_always = False

    def check(self, olds, news):
        return CheckResult({**RECORDED["inputs"], **news}, [])

    def diff(self, id, olds, news):
        return DiffResult(changes=False)

    def create(self, props):
        return CreateResult("id", {**RECORDED["outputs"], **props})
"""
TERRAFORM = """
variable "jobs" { type = number }
resource "terraform_data" "job" {
  count = var.jobs
  input = {
    display_name      = "bench"
    worker_pool_specs = jsonencode([{
      machine_spec   = { machine_type = "n1-standard-4" }
      replica_count  = 1
      container_spec = { image_uri = "IMAGE", command = ["true"] }
    }])
  }
}
""".replace("IMAGE", IMAGE)


def figures(counts: list[int]) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        empty = prepared(folder / "empty", EMPTY)
        ours, nothing = prepared(folder / "ours", JOBS), prepared(folder / "nothing", NOTHING)
        (nothing.folder / "infra" / "nothing.py").write_text(NOTHING_PROVIDER)
        try:
            launcher.ensure(ours.data_dir)
            for engine in (ours, nothing, empty):
                engine.set("count", "1")
                engine.up().ok()
                if engine is ours:
                    record(ours, nothing)
            one = {engine.folder: resources_of_first_job(engine) for engine in (ours, nothing)}
            for count in counts:
                multiply(nothing, count, one[nothing.folder])
                yield from _of_jobs(ours, nothing, empty, count, one[ours.folder])
                yield from _of_terraform(folder / f"terraform-{count}", count)
        finally:
            launcher.stop(ours.data_dir)


def record(ours: Engine, nothing: Engine) -> None:
    """Let the provider that does nothing record what a job's state has."""
    (job,) = resources_of_first_job(ours)
    recorded = {
        part: {name: value for name, value in job[part].items() if name != "__provider"}
        for part in ("inputs", "outputs")
    }
    (nothing.folder / "infra" / "recorded.json").write_text(json.dumps(recorded))


def _of_jobs(
    ours: Engine, nothing: Engine, empty: Engine, count: int, one: list[dict[str, Any]]
) -> Iterator[Figure]:
    """Measure finished, then live jobs, in turns with the other two, since a machine's speed changes."""
    baselines: list[Callable[[], float]] = [lambda: preview(nothing, count), lambda: preview(empty, 0)]
    for state, jobs in (("finished", None), ("live", live_jobs(ours, count))):
        multiply(ours, count, one, jobs=jobs)
        turns = [
            (preview(ours, count + 1), *(baseline() for baseline in baselines))
            for _ in range(3 if count < 1000 else 1)
        ]
        seconds = [statistics.median(column) for column in zip(*turns, strict=True)]
        yield Figure(
            name=f"preview of {count} unchanged jobs, {state}, against the baseline",
            value=statistics.median(mine / baseline for mine, baseline, _ in turns),
            unit="x",
            budget=1.25,
            note=f"{seconds[0]:.1f} s against {seconds[1]:.1f} s of {count} resources that do nothing, "
            f"{seconds[2]:.1f} s of an empty program",
        )
        if count >= 100:
            yield _with_limits(ours, count, state=state)


def _with_limits(ours: Engine, count: int, *, state: str) -> Figure:
    """Measure a preview that sums up the cost of its jobs, in turns with one that does not."""

    def measured(limit: str | None) -> float:
        ours.set("vertex-training:maxHourlyCost", limit)
        return preview(ours, count + 1)

    turns = [(measured("1000000"), measured(None)) for _ in range(5 if count < 1000 else 1)]
    seconds = [statistics.median(column) for column in zip(*turns, strict=True)]
    return Figure(
        name=f"preview of {count} unchanged jobs, {state}, with a limit of cost, against one without",
        value=statistics.median(limited / free for limited, free in turns),
        unit="x",
        budget=1.05,
        note=f"{seconds[0]:.1f} s against {seconds[1]:.1f} s",
    )


def live_jobs(engine: Engine, count: int) -> list[str]:
    """Create so many live jobs, which wait for their machines. Return their names."""
    emulator = launcher.ensure(engine.data_dir)
    Control(url=emulator.url, token=emulator.token).set_start_delay(24 * 3600.0)
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {"imageUri": IMAGE, "command": ["true"]},
    }
    return [
        custom_jobs.create(
            engine.endpoint(),
            {
                "displayName": "bench",
                "jobSpec": {"workerPoolSpecs": [pool]},
                "labels": {"vertex-training-run": _key(number)},
            },
        ).name
        for number in range(count)
    ]


def _of_terraform(folder: Path, count: int) -> Iterator[Figure]:
    terraform = shutil.which("terraform")
    if terraform is None:
        return
    folder.mkdir()
    (folder / "main.tf").write_text(TERRAFORM)
    environment = {**os.environ, "TF_VAR_jobs": str(count), "CHECKPOINT_DISABLE": "1"}

    def run(*arguments: str) -> float:
        began = time.perf_counter()
        command = [terraform, *arguments, "-no-color"]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=600)
        return time.perf_counter() - began

    run("init")
    run("apply", "-auto-approve")
    yield Figure(
        name=f"terraform plan of {count} unchanged built-in resources",
        value=statistics.median(run("plan", "-detailed-exitcode") for _ in range(3)),
        unit="s",
        note="for comparison; without a call to any cloud",
    )


def prepared(folder: Path, program: str) -> Engine:
    engine = support.make(folder)
    engine.write(program)
    return engine


def preview(engine: Engine, resources: int) -> float:
    """Preview a stack of so many unchanged resources, its key among them. Return the seconds."""
    started = time.perf_counter()
    output = engine.preview("--expect-no-changes").ok().output
    seconds = time.perf_counter() - started
    assert f"{resources + 1} unchanged" in output, output
    return seconds


def resources_of_first_job(engine: Engine) -> list[dict[str, Any]]:
    """Return the recorded resources of the first job."""
    deployment = json.loads(engine.run("stack", "export").ok().output)["deployment"]
    return [one for one in deployment["resources"] if one["urn"].endswith("-0")]


def multiply(
    engine: Engine, count: int, ones: list[dict[str, Any]], *, jobs: list[str] | None = None
) -> None:
    """Copy the stack's one job `count` times in its state, as `jobs` or as finished ones."""
    engine.set("count", str(count))
    exported = json.loads(engine.run("stack", "export").ok().output)
    deployment = exported["deployment"]
    rest = [one for one in deployment["resources"] if not re.search(r"-\d+$", one["urn"])]
    copies = [_copied(one, number, jobs[number] if jobs else None) for number in range(count) for one in ones]
    deployment["resources"] = rest + copies
    target = engine.folder / "state.json"
    target.write_text(json.dumps(exported))
    engine.run("stack", "import", "--file", str(target)).ok()


def _copied(resource: dict[str, Any], number: int, job: str | None) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(resource).replace("job-0", f"job-{number}"))
    outputs = copy["outputs"]
    if copy["type"].endswith(":CustomJob"):
        outputs["__run"]["key"] = _key(number)
        if "__run" in copy["inputs"]:
            copy["inputs"]["__run"]["identity"] = identity_of(_key(number))
        prefix = "JOB_STATE_" if outputs["state"].startswith("JOB_STATE_") else ""
        outputs["state"] = prefix + ("PENDING" if job else "SUCCEEDED")
        copy["id"] = outputs["name"] = job or f"{copy['id'][:-6]}{number:06}"
    return copy


def _key(number: int) -> str:
    return f"{number:016x}-1"
