"""`DistributedTraining` on the real Pulumi CLI: one call makes all that a job needs, and nothing else."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cloud import logs
from support.client.engine import Engine

PROGRAM = """
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
training = vt.DistributedTraining(
    "train",
    chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=vt.ContainerSpecArgs(args=["chief"])),
    workers={"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2},
    evaluator={"machine_spec": machine, "python_package_spec": {"args": ["score"]}},
    bucket={"force_destroy": True},
    image={"source": "trainer"},
    package={"source": "evaluator"},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
    wait="done",
)
pulumi.export("image", training.image.uri)
pulumi.export("bucket", training.bucket.name)
pulumi.export("package", training.package.uri)
pulumi.export("state", training.completion.state)
pulumi.export("job", training.job.id)
"""
FLAG = """
import json, os, pathlib, sys, time
flags = pathlib.Path("/gcs/local-engine-test-test-train/flags")
task = json.loads(os.environ["CLUSTER_SPEC"])["task"]
flags.mkdir(exist_ok=True)
(flags / f"{task['type']}-{task['index']}").touch()
"""
TRAINER = f"""
import sys
print("image:", *sys.argv[1:], flush=True)
{FLAG}
while "chief" in sys.argv and len(list(flags.iterdir())) < 4:
    time.sleep(0.05)
"""
"""The chief waits for what the others print: they are ended with it."""
EVALUATOR = f"""
import sys
print("package:", *sys.argv[1:], flush=True)
{FLAG}
"""
DOCKERFILE = """\
FROM python:3.11-slim
WORKDIR /
COPY trainer /trainer
ENTRYPOINT ["python", "-m", "trainer.task"]
"""


@pytest.fixture
def project(engine: Engine) -> Engine:
    folder = engine.folder / "infra"
    (folder / "trainer" / "trainer").mkdir(parents=True)
    (folder / "trainer" / "Dockerfile").write_text(DOCKERFILE)
    (folder / "trainer" / "trainer" / "task.py").write_text(TRAINER)
    (folder / "evaluator").mkdir()
    (folder / "evaluator" / "task.py").write_text(EVALUATOR)
    engine.write(PROGRAM)
    return engine


def kinds(engine: Engine) -> list[str]:
    return sorted(one["type"].rpartition(":")[2] for one in engine.state())


def printed(engine: Engine, job: str) -> list[str]:
    entries = logs.newest(engine.endpoint(), job.rpartition("/")[2], count=100)
    return sorted(entry.message for entry in entries if entry.message.startswith(("image:", "package:")))


def test_one_call_makes_all_that_the_job_needs_and_nothing_twice(project: Engine) -> None:
    first = project.up().ok().output
    outputs = project.outputs()
    assert outputs["state"] == "SUCCEEDED", first
    assert kinds(project) == [
        "CustomJob",
        "ImageRepository",
        "StagedPackage",
        "StagingBucket",
        "TrainingImage",
    ]
    parents = {one.get("parent", "").rpartition("::")[2] for one in project.state()}
    assert parents == {"train"}
    assert outputs["bucket"] == "local-engine-test-test-train"
    assert outputs["image"].startswith(
        "us-central1-docker.pkg.dev/local/engine-test-test-train/train@sha256:"
    )
    assert printed(project, outputs["job"]) == ["image:", "image:", "image: chief", "package: score"]

    assert "8 unchanged" in project.up().ok().output

    (project.folder / "infra" / "evaluator" / "task.py").write_text("print('package: changed')\n")
    preview = project.preview("--diff").ok().output
    assert "evaluator" in preview
    assert "TrainingImage" not in preview
