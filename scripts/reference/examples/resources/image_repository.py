"""A repository that keeps the five newest images."""

import pulumi

import pulumi_vertex_training as vt

repository = vt.ImageRepository(
    "images",
    cleanup_policies=[
        {"id": "old", "action": "DELETE", "condition": {"older_than": "30d"}},
        {"id": "new", "action": "KEEP", "most_recent_versions": {"keep_count": 5}},
    ],
    docker_config={"immutable_tags": True},
)
pulumi.export("repository", repository.url)
