"""The hash of a declaration, by which a deployment knows whether its job has to run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.running.job_diff import completed


def hash_of(declared: JobResourceType, props: Mapping[str, Any]) -> Any:
    """Return the hash of a job's inputs."""
    decoded = declared.read_inputs(props)
    return completed(declared, decoded.draft, decoded.unknown)["spec_hash"]
