"""A job of the legacy AI Platform trains with MXNet: the document goes in, a job of Vertex AI comes out."""

import pathlib

import pulumi
import yaml

import pulumi_vertex_training as vt

config = pulumi.Config()
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "mxnet-trainer",
    repository=repository,
    source="trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="requirements.txt",
    vertex_cluster=True,
    entrypoint=["python3"],
)

document = yaml.safe_load(pathlib.Path(__file__).with_name("training_input.yaml").read_text())
arguments = vt.from_training_input(document, legacy_environment=True)
for pool in arguments["worker_pool_specs"]:
    container = pool["container_spec"]
    container["image_uri"] = image.uri  # the document's image is in a registry that has been shut down
    container["args"] = [
        *container["args"],
        pulumi.Output.concat("--data=", digits.path),
        f"--epochs={config.require_int('epochs')}",
    ]
job = vt.CustomJob("mxnet", **arguments, staging_bucket=bucket, wait="done")
pulumi.export("state", job.completion.state)
pulumi.export("metrics", job.completion.metrics)
pulumi.export("model", job.completion.model_directory)
pulumi.export("logs", job.logs_command)
