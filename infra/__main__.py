"""A distributed training job, its image, its package and its data: one program for both clouds.

On the stack `local`, everything below runs on this machine. The stacks `dev`, `staging` and `prod` train on
Google Cloud, in the environment that environment/ has made there. Copy this folder and edit it.
"""

import pulumi

import pulumi_vertex_training as vt
from training_settings import Settings

settings = vt.read_configuration(Settings)
machine = vt.MachineSpecArgs(machine_type=settings.machine_type)

environment = (
    vt.get_training_environment(settings.environment)
    if settings.environment
    else vt.TrainingEnvironment(
        "training",
        bucket={
            "lifecycle_rules": [
                {"action": {"type": "Delete"}, "condition": {"age": 30, "matches_prefixes": ["train/"]}}
            ],
            "force_destroy": True,
        },
        repository={
            "cleanup_policies": [{"id": "old", "action": "DELETE", "condition": {"older_than": "30d"}}],
            "force_destroy": True,
        },
        deployer_account=False,
    )
)
digits = vt.StagedFile("digits", bucket=environment.bucket, source="../examples/digits/data/digits.csv.gz")
arguments: list[pulumi.Input[str]] = [
    digits.path.apply(lambda path: f"--data={path}"),
    f"--epochs={settings.epochs}",
]


def trainers(replica_count: int) -> vt.WorkerPoolSpecArgs:
    """Return a pool that runs the image. The position of each replica in the cluster decides its work."""
    return vt.WorkerPoolSpecArgs(
        machine_spec=machine,
        replica_count=replica_count,
        container_spec=vt.ContainerSpecArgs(args=arguments),
    )


training = vt.DistributedTraining(
    "train",
    chief=trainers(1),
    workers=trainers(settings.workers),
    evaluator=vt.WorkerPoolSpecArgs(
        machine_spec=machine, python_package_spec=vt.PythonPackageSpecArgs(args=arguments)
    ),
    bucket=environment.bucket,
    repository=environment.repository,
    image={"source": "../examples/digits", "vertex_cluster": True},
    package={"source": "../examples/digits", "vertex_cluster": True},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
    scheduling=vt.SchedulingArgs(timeout="3600s"),
    wait="done",
    **environment.job_options(),
)

pulumi.export("image", training.image_uri)
pulumi.export("state", training.completion.state)
pulumi.export("metrics", training.completion.metrics)
pulumi.export("model", training.completion.model_directory)
pulumi.export("logs", training.logs_command)
pulumi.export("console", training.console_url)
