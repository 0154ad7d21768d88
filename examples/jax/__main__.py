"""JAX trains on a chief and its workers, and continues from a checkpoint after a failure."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "jax-trainer",
    repository=repository,
    source="trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="requirements.txt",
    vertex_cluster=True,
)

machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
task = vt.ContainerSpecArgs(
    image_uri=image.uri,
    args=[
        "task.py",
        pulumi.Output.concat("--data=", digits.path),
        f"--epochs={config.require_int('epochs')}",
    ],
)
job = vt.CustomJob(
    "jax",
    framework="jax",
    worker_pool_specs=vt.topology(
        chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
        workers=vt.WorkerPoolSpecArgs(
            machine_spec=machine, container_spec=task, replica_count=config.require_int("workers")
        ),
    ),
    scheduling=vt.SchedulingArgs(restart_job_on_worker_restart=True),
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion.state)
pulumi.export("metrics", job.completion.metrics)
pulumi.export("model", job.completion.model_directory)
pulumi.export("logs", job.logs_command)
