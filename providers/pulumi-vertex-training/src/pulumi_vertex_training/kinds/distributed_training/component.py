"""`DistributedTraining` as a component of the package."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.kinds.distributed_training.resource import OF_JOB, DistributedTraining
from pulumi_vertex_training.program.construction import Component
from vertex_training.topology.pools import WorkerPoolSpec

COMPONENT = Component(
    made=DistributedTraining,
    hints={
        **dict.fromkeys(
            ("chief", "workers", "parameter_servers", "reduction_servers", "evaluator"), WorkerPoolSpec
        ),
        **dict.fromkeys(("executor_image_uri", "project", "location"), str),
    },
    parts={
        "bucket": "StagingBucket",
        "repository": "ImageRepository",
        "image": "TrainingImage",
        "package": "StagedPackage",
    },
    required=("chief",),
    needed={"image": ("source",), "package": ("source",)},
    otherwise=dict.fromkeys(("bucket", "repository", "image", "package", "reduction_servers"), ("string",)),
    lists=("package",),
    passed_on="CustomJob",
    left_out=("worker_pool_specs",),
    outputs={
        **dict.fromkeys(("job", "bucket_name", "image_uri", *OF_JOB), str),
        **{"package_uris": tuple[str, ...], "metrics": Any},
    },
    always=("job", "bucket_name", "package_uris", "job_id", "state", "create_time"),
)
