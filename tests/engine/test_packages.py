"""Several packages of one job, wheels and source distributions, on the real engine and in real replicas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import built
from support.engine import Engine
from vertex_training.cloud import objects

PROGRAM = """
bucket = vt.StagingBucket("staging", name="packages-bucket", force_destroy=True)
helper = vt.StagedPackage("helper", bucket=bucket, source="helper", format="wheel")
trainer = vt.StagedPackage(
    "trainer", bucket=bucket, source="trainer", requirements=["helper"], format=config.get("format")
)
finished = vt.StagedPackage("finished", bucket=bucket, source="net-1.0-py3-none-any.whl")
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            python_package_spec=vt.PythonPackageSpecArgs(
                executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
                package_uris=[trainer.uri, helper.uri, finished.uri],
                python_module=trainer.python_module,
            ),
        )
    ],
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion["state"])
pulumi.export("helper", helper.object_name)
pulumi.export("trainer", trainer.object_name)
"""
TASK = "import helper.text, net\nassert (helper.text.WORD, net.__name__) == ('trained', 'net')\n"


def test_a_job_of_a_wheel_an_sdist_and_a_finished_wheel_in_any_order(engine: Engine) -> None:
    engine.write(PROGRAM)
    for name, text in {"helper/text.py": "WORD = 'trained'\n", "trainer/task.py": TASK}.items():
        path = engine.folder / "infra" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    built.wheel(engine.folder / "infra")
    engine.up().ok()
    outputs = engine.outputs()
    assert outputs["state"] == "SUCCEEDED"
    assert outputs["helper"].endswith("/helper-0.1.0-py3-none-any.whl")
    assert outputs["trainer"].endswith("/trainer-0.1.0.tar.gz")
    engine.preview("--expect-no-changes").ok()

    engine.set("format", "wheel")
    engine.up().ok()
    assert engine.outputs()["trainer"].endswith("/trainer-0.1.0-py3-none-any.whl")
    assert engine.outputs()["state"] == "SUCCEEDED"
    names = [
        one.name for one in objects.list_objects(engine.endpoint(), "packages-bucket", prefix="packages/")
    ]
    assert [name for name in names if name.endswith(".tar.gz")] == []


def test_a_format_that_does_not_exist_is_refused_in_the_preview(engine: Engine) -> None:
    engine.write('vt.StagedPackage("p", bucket="some-bucket", source=".", format="egg")\n')
    assert "format: the string 'egg' is not one of sdist, wheel" in engine.preview().failed().output


def gc(engine: Engine, *words: str) -> Any:
    """What the command says of objects, by their addresses."""
    command = [Path(sys.executable).with_name("vertex-training"), "gc", "--json", *words]
    done = subprocess.run(
        command, cwd=engine.folder, env=engine.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return {one["uri"]: one["is"] for one in json.loads(done.stdout)["objects"]}


def test_a_package_that_no_state_knows_any_more_is_collected(engine: Engine) -> None:
    package = 'vt.StagedPackage("p", bucket=bucket, source="task.py", format="wheel", opts=KEPT)\n'
    engine.write(
        "KEPT = pulumi.ResourceOptions(retain_on_delete=True)\n"
        'bucket = vt.StagingBucket("staging", name="packages-bucket", force_destroy=True)\n' + package
    )
    (engine.folder / "infra" / "task.py").write_text("print(1)\n")
    engine.up().ok()
    (old,) = objects.list_objects(engine.endpoint(), "packages-bucket")
    (engine.folder / "infra" / "task.py").write_text("print(2)\n")
    engine.up().ok()
    assert gc(engine) == {old.uri: "orphan"}
    gc(engine, "--yes")
    (left,) = objects.list_objects(engine.endpoint(), "packages-bucket")
    assert left.uri != old.uri
    engine.run("refresh", "--non-interactive", "--preview-only", "--expect-no-changes").ok()
