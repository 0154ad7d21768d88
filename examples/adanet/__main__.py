"""AdaNet's estimator on a chief, workers, parameter servers and an evaluator."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
strategy = config.require("strategy")
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "adanet-trainer",
    repository=repository,
    source="trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="../tensorflow/requirements.txt",
    entrypoint=["python3", "-W", "ignore", "task.py"],
)


def pool(replica_count: int = 1) -> vt.WorkerPoolSpecArgs:
    """Return a pool that runs the program. Its role is in TF_CONFIG."""
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=replica_count,
        container_spec=vt.ContainerSpecArgs(
            image_uri=image.uri,
            args=[
                pulumi.Output.concat("--data=", digits.path),
                # The same folder in every job: a larger cluster continues what a smaller one has trained.
                pulumi.Output.concat("--checkpoints=/gcs/", bucket.name, f"/checkpoints/{strategy}"),
                f"--strategy={strategy}",
                f"--subnetworks={config.require_int('subnetworks')}",
                f"--iterations={config.require_int('iterations')}",
                f"--simulated-seconds={config.require('simulatedSeconds')}",
            ],
        ),
    )


workers = config.require_int("workers")
job = vt.CustomJob(
    "adanet",
    framework="adanet",
    worker_pool_specs=vt.topology(
        chief=pool(),
        workers=pool(workers) if workers else None,
        parameter_servers=pool(config.require_int("parameterServers")),
        evaluator=pool(),
    ),
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion.state)
pulumi.export("metrics", job.completion.metrics)
pulumi.export("logs", job.logs_command)
