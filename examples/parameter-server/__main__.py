"""TensorFlow's ParameterServerStrategy on a chief, workers, a parameter server and an evaluator."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "parameter-server-trainer",
    repository=repository,
    source="trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="../tensorflow/requirements.txt",
    entrypoint=["python3", "task.py"],
)


def pool(replica_count: int = 1) -> vt.WorkerPoolSpecArgs:
    """Return a pool that runs the program. Its role is in TF_CONFIG."""
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=replica_count,
        container_spec=vt.ContainerSpecArgs(
            image_uri=image.uri,
            args=[
                pulumi.Output.concat("--data=", digits.uri),
                f"--epochs={config.require_int('epochs')}",
            ],
        ),
    )


job = vt.CustomJob(
    "parameter-server",
    framework="ParameterServerStrategy",
    worker_pool_specs=vt.topology(
        chief=pool(), workers=pool(config.require_int("workers")), parameter_servers=pool(), evaluator=pool()
    ),
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion.state)
pulumi.export("metrics", job.completion.metrics)
pulumi.export("model", job.completion.model_directory)
pulumi.export("logs", job.logs_command)
