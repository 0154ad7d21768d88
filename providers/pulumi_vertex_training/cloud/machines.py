"""Persistent resources as jobs see them: one call that reads one."""

from __future__ import annotations

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated


def get(endpoint: Endpoint, resource_id: str) -> rest.Json:
    """Return a persistent resource of the endpoint's project and location as JSON. Raises NotFound."""
    url = f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources/{resource_id}"
    with translated(endpoint, f"read persistent resource {resource_id}"):
        return rest.call(endpoint, "GET", url)
