"""A distributed training job, its image, its package, its data and its bucket: one program for both clouds.

On the stack `local`, everything below runs on this machine. On the stack `vertex`, it runs on Google Cloud,
and `google_cloud.py` first adds what the project needs. Copy this folder and edit it.
"""

import pulumi

import google_cloud
import pulumi_vertex_training as vt

config = pulumi.Config()
workers = config.get_int("workers", 2)
epochs = config.get_int("epochs", 30)
machine = vt.MachineSpecArgs(machine_type=config.get("machineType") or "n1-standard-4")

cloud = google_cloud.prepare() if vt.on_google() else None
prepared = pulumi.ResourceOptions(depends_on=cloud.services if cloud else None)

bucket = vt.StagingBucket(
    "staging",
    name=f"{vt.project()}-{pulumi.get_project()}-{pulumi.get_stack()}",
    lifecycle_rules=[
        {"action": {"type": "Delete"}, "condition": {"age": 30, "matches_prefixes": ["train/"]}}
    ],
    force_destroy=True,
    opts=prepared,
)
digits = vt.StagedFile("digits", bucket=bucket, source="../examples/digits/data/digits.csv.gz")
arguments: list[pulumi.Input[str]] = [digits.path.apply(lambda path: f"--data={path}"), f"--epochs={epochs}"]


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
    workers=trainers(workers),
    evaluator=vt.WorkerPoolSpecArgs(
        machine_spec=machine, python_package_spec=vt.PythonPackageSpecArgs(args=arguments)
    ),
    bucket=bucket,
    repository={
        "cleanup_policies": [{"id": "old", "action": "DELETE", "condition": {"older_than": "30d"}}],
        "force_destroy": True,
    },
    image={"source": "../examples/digits", "vertex_cluster": True},
    package={"source": "../examples/digits", "vertex_cluster": True},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
    service_account=google_cloud.trainer(cloud, bucket) if cloud else None,
    scheduling=vt.SchedulingArgs(timeout="3600s"),
    wait="done",
    opts=prepared,
)

pulumi.export("image", training.image_uri)
pulumi.export("state", training.completion.state)
pulumi.export("accuracy", training.completion.metrics["accuracy"])
pulumi.export("model", training.completion.model_directory)
pulumi.export("logs", training.logs_command)
pulumi.export("console", training.console_url)
