"""A data file, and the argument with which a program finds it."""

import pulumi

import pulumi_vertex_training as vt

data = vt.StagedFile("data", bucket=vt.StagingBucket("files"), source="digits.csv")

task = vt.ContainerSpecArgs(
    image_uri="europe-docker.pkg.dev/my-project/training/digits:1",
    args=[pulumi.Output.concat("--data=", data.path)],
)
