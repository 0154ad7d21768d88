"""The bucket and the last model of another program."""

import pulumi_vertex_training as vt

bucket = vt.get_staging_bucket("my-bucket")
model = vt.get_model("spam-filter", version="golden")
job = vt.get_custom_job("1234567890123456789")

vt.Model(
    "again",
    artifact_uri=job.model_directory,
    container_spec=vt.ModelContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
    ),
    parent_model=model.name,
)
