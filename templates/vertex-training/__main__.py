"""A distributed training job, on the emulator or on Google Cloud: see `vertex-training:endpoint`."""

from dataclasses import dataclass

import pulumi

import pulumi_vertex_training as vt


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The configuration of a stack: `pulumi config set workers 4`."""

    workers: int = vt.setting(2, minimum=0, maximum=1000)
    package: str | None = vt.setting(None)  # environment/stack_package.py reads it


settings = vt.read_configuration(Settings)
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
task = vt.PythonPackageSpecArgs(args=["--epochs=50"])

training = vt.DistributedTraining(
    "train",
    chief=vt.WorkerPoolSpecArgs(machine_spec=machine, python_package_spec=task),
    workers=vt.WorkerPoolSpecArgs(
        machine_spec=machine, python_package_spec=task, replica_count=settings.workers
    ),
    bucket={"force_destroy": True},  # `pulumi destroy` deletes the models as well
    package={"source": "train.py", "vertex_cluster": True},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
    wait="done",
)

pulumi.export("state", training.completion.state)
pulumi.export("metrics", training.completion.metrics)  # what the program wrote to metrics.json
pulumi.export("model", training.completion.model_directory)
pulumi.export("logs", training.logs_command)
