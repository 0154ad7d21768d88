"""A version of a model from files that exist."""

import pulumi

import pulumi_vertex_training as vt

model = vt.Model(
    "spam-filter",
    artifact_uri="gs://my-models/spam-filter/3",
    container_spec=vt.ModelContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
    ),
    version_aliases=["golden"],
    labels={"team": "mail"},
)
pulumi.export("version", model.version_id)
