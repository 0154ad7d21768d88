"""XGBoost and LightGBM train on a chief and its workers: two jobs of one image."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "boosting-trainer",
    repository=repository,
    source="trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="requirements.txt",
    vertex_cluster=True,
)

machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
for framework in ("xgboost", "lightgbm"):
    task = vt.ContainerSpecArgs(
        image_uri=image.uri,
        args=[
            "task.py",
            framework,
            pulumi.Output.concat("--data=", digits.path),
            f"--rounds={config.require_int('rounds')}",
        ],
    )
    job = vt.CustomJob(
        framework,
        framework=framework,
        worker_pool_specs=vt.topology(
            chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
            workers=vt.WorkerPoolSpecArgs(
                machine_spec=machine, container_spec=task, replica_count=config.require_int("workers")
            ),
        ),
        staging_bucket=bucket,
        wait="done",
    )
    pulumi.export(framework, job.completion)
