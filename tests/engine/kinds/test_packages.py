"""Several packages of one job, wheels and source distributions, on the real engine and in real replicas."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from support.builds import built_packages
from support.builds.wheels import installed_wheel
from support.client.engine import Engine, Result

PROGRAM = """
bucket = vt.StagingBucket("staging", name="packages-bucket", force_destroy=True)
helper = vt.StagedPackage("helper", bucket=bucket, source="helper")
trainer = vt.StagedPackage(
    "trainer",
    bucket=bucket,
    source="trainer",
    requirements=["helper"],
    format=config.get("format"),
    vertex_cluster=True,
)
finished = vt.StagedPackage("finished", bucket=bucket, source="net-1.0-py3-none-any.whl")
retained = vt.StagedPackage(
    "retained", bucket=bucket, source="task.py",
    opts=pulumi.ResourceOptions(retain_on_delete=True),
)
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
pulumi.export("retained", retained.uri)
"""
TASK = """
import os
import helper.text, net, vertex_cluster
assert (helper.text.WORD, net.__name__) == ('trained', 'net')
beside = os.path.dirname(net.__file__)
assert vertex_cluster.__file__.startswith(beside), 'not the copy in the package'
"""


def gc(engine: Engine, *words: str) -> Any:
    """Return what the command prints of objects, by their addresses."""
    command = ["vertex-training", "gc", "--json", *words]
    done = subprocess.run(
        command, cwd=engine.folder, env=engine.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return {one["uri"]: one["is"] for one in json.loads(done.stdout)["objects"]}


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, its outputs, and the objects in the bucket."""

    outputs: list[dict[str, Any]]
    objects: list[set[str]]
    """The addresses: after the last deployment, and after the orphans were deleted."""
    orphans: dict[str, str]
    refreshed: Result


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    outputs: list[dict[str, Any]] = []

    def listed() -> set[str]:
        return {one.uri for one in objects.list_objects(engine.endpoint(), "packages-bucket")}

    infra = engine.folder / "infra"
    texts = {"helper/text.py": "WORD = 'trained'\n", "trainer/task.py": TASK, "task.py": "print(1)\n"}
    for name, text in texts.items():
        (infra / name).parent.mkdir(exist_ok=True)
        (infra / name).write_text(text)
    built_packages.wheel(infra)
    installed_wheel(engine.folder / "index", "setuptools")
    engine.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(engine.folder / "index")}
    engine.write(PROGRAM)
    engine.up("--config", "format=sdist").ok()
    outputs.append(engine.outputs())

    (infra / "task.py").write_text("print(2)\n")
    engine.set("format", None)
    engine.up().ok()
    outputs.append(engine.outputs())
    found = [listed()]
    orphans = gc(engine)
    gc(engine, "--yes")
    found.append(listed())
    refresh = ("refresh", "--non-interactive", "--preview-only", "--expect-no-changes")
    return Steps(
        outputs=outputs,
        objects=found,
        orphans=orphans,
        refreshed=engine.run(*refresh),
    )


def test_a_job_of_a_wheel_an_sdist_and_a_finished_wheel_in_any_order(steps: Steps) -> None:
    first, second = steps.outputs
    assert first["state"] == "SUCCEEDED"
    assert first["helper"].endswith("/helper-0.1.0-py3-none-any.whl")
    assert first["trainer"].endswith("/trainer-0.1.0.tar.gz")
    assert second["trainer"].endswith("/trainer-0.1.0-py3-none-any.whl")
    assert second["state"] == "SUCCEEDED"


def test_a_package_of_another_format_takes_the_place_of_the_one_before(steps: Steps) -> None:
    names = steps.objects[0]
    assert any(name.endswith("/trainer-0.1.0-py3-none-any.whl") for name in names)
    assert [name for name in names if name.endswith(".tar.gz")] == []


def test_a_package_that_no_state_knows_any_more_is_collected(steps: Steps) -> None:
    old, new = (each["retained"] for each in steps.outputs)
    assert steps.orphans == {old: "orphan"}
    before, after = steps.objects
    assert before - after == {old}
    assert new in after
    steps.refreshed.ok()
