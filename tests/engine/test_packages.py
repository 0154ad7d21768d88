"""Several packages of one job, wheels and source distributions, on the real engine and in real replicas."""

from __future__ import annotations

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
