"""A pipeline that trains with a script and uploads the model."""

import pulumi

import pulumi_vertex_training as vt

bucket = vt.StagingBucket("pipelines")

pipeline = vt.TrainingPipeline(
    "flowers",
    custom_task=vt.task_from_script(
        "flowers-trainer",
        "train.py",
        bucket=bucket,
        container_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
        args=["--epochs", 3],
    ),
    model_to_upload=vt.ModelArgs(
        display_name="flowers",
        container_spec=vt.ModelContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
        ),
    ),
    model_id="flowers",
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("model", pipeline.model)
