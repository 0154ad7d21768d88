"""A bucket whose old runs are deleted after 30 days."""

import pulumi

import pulumi_vertex_training as vt

bucket = vt.StagingBucket(
    "outputs",
    lifecycle_rules=[
        vt.LifecycleRuleArgs(
            action=vt.LifecycleActionArgs(type="Delete"),
            condition=vt.LifecycleConditionArgs(age=30, matches_prefixes=["runs/"]),
        )
    ],
    versioning=vt.BucketVersioningArgs(enabled=False),
    labels={"team": "vision"},
    force_destroy=True,
)
pulumi.export("bucket", bucket.url)
