"""A distributed training job, its data, its package and its bucket: one program for both clouds.

On the stack `local` everything below runs on this machine; on the stack `vertex` it runs on Google Cloud, and
`google_cloud.py` adds what a project there needs first. Copy this folder and edit it.
"""

import pulumi

import google_cloud
import pulumi_vertex_training as vt

config = pulumi.Config()
workers = config.get_int("workers", 2)
epochs = config.get_int("epochs", 30)
machine = vt.MachineSpecArgs(machine_type=config.get("machineType") or "n1-standard-4")

cloud = google_cloud.prepare() if vt.on_google() else None

bucket = vt.StagingBucket(
    "staging",
    name=f"{vt.project()}-{pulumi.get_project()}-{pulumi.get_stack()}",
    lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": 30, "matches_prefix": ["train/"]}}],
    force_destroy=True,
    opts=pulumi.ResourceOptions(depends_on=cloud.services if cloud else None),
)
digits = vt.StagedFile("digits", bucket=bucket, source="../examples/digits/data/digits.csv.gz")
package = vt.StagedPackage(
    "trainer",
    bucket=bucket,
    source="../examples/digits",
    extra_files={"vertex_cluster": "../providers/vertex_cluster"},
    exclude=["data", "README.md"],
)


def pool(replica_count: int) -> vt.WorkerPoolSpecArgs:
    """Replicas that run the same module; their place in the cluster decides what each of them does."""
    return vt.WorkerPoolSpecArgs(
        machine_spec=machine,
        replica_count=replica_count,
        python_package_spec=vt.PythonPackageSpecArgs(
            executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
            package_uris=[package.uri],
            python_module="digits_trainer.task",
            args=[digits.path.apply(lambda path: f"--data={path}"), f"--epochs={epochs}"],
        ),
    )


job = vt.CustomJob(
    "train",
    worker_pool_specs=vt.topology(chief=pool(1), workers=pool(workers), evaluator=pool(1)),
    staging_bucket=bucket,
    service_account=google_cloud.trainer(cloud, bucket) if cloud else None,
    scheduling=vt.SchedulingArgs(timeout="3600s"),
    wait="done",
)

pulumi.export("state", job.completion["state"])
pulumi.export("accuracy", job.completion["metrics"]["accuracy"])
pulumi.export("model", job.completion["model_directory"])
pulumi.export("logs", job.logs_command)
