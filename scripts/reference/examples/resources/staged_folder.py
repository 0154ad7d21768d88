"""A folder of pictures, without those that are not finished."""

import pulumi

import pulumi_vertex_training as vt

pictures = vt.StagedFolder(
    "pictures",
    bucket=vt.StagingBucket("folders"),
    source="pictures",
    include=["**/*.jpg"],
    exclude=["drafts/**"],
)
pulumi.export("pictures", pictures.uri)
