"""A training with reduction servers in the third pool. The trainer is that of ../jax."""

import pulumi

import pulumi_vertex_training as vt

bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "jax-trainer",
    repository=repository,
    source="../jax/trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="../jax/requirements.txt",
    vertex_cluster=True,
)

machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
task = vt.ContainerSpecArgs(
    image_uri=image.uri, args=["task.py", pulumi.Output.concat("--data=", digits.path)]
)
job = vt.CustomJob(
    "reduced",
    framework="jax",
    worker_pool_specs=vt.topology(
        chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
        workers=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
        reduction_servers="auto",
    ),
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion.state)
pulumi.export("metrics", job.completion.metrics)
pulumi.export("job", job.id)
pulumi.export("logs", job.logs_command)
