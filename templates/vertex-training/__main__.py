"""A distributed training job, on the emulator or on Google Cloud: see `vertex-training:endpoint`."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
task = vt.PythonPackageSpecArgs(args=["--epochs=50"])

training = vt.DistributedTraining(
    "train",
    chief=vt.WorkerPoolSpecArgs(machine_spec=machine, python_package_spec=task),
    workers=vt.WorkerPoolSpecArgs(
        machine_spec=machine, python_package_spec=task, replica_count=config.get_int("workers", 2)
    ),
    bucket={"force_destroy": True},  # `pulumi destroy` deletes the models as well
    package={"source": "train.py", "vertex_cluster": True},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
    wait="done",
)

pulumi.export("state", training.completion.state)
pulumi.export("accuracy", training.completion.metrics["accuracy"])
pulumi.export("model", training.completion.model_directory)
pulumi.export("logs", training.logs_command)
