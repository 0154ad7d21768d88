"""The platforms of an image in a registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulumi_vertex_training.cloud.container_registry import client
from pulumi_vertex_training.cloud.container_registry.descriptors import json_object, parts_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import UnexpectedAnswer


def platforms_of(endpoint: Endpoint, name: ImageName) -> frozenset[str]:
    """Return the platforms of an image, such as "linux/amd64". Raises NotFound, UnexpectedAnswer."""
    manifest = client.manifest(endpoint, name)
    try:
        if manifest.is_index:
            return frozenset(_of_index(json_object(manifest.content, "the index")))
        config = client.read_blob(endpoint, name, parts_of(manifest.content).config)
        return frozenset({_platform(json_object(config, "the configuration"))})
    except ValueError as error:
        raise UnexpectedAnswer(
            f"Could not read image {name} ({endpoint}): {error}. Push the image again.",
            resource=str(name),
            endpoint=endpoint,
        ) from error


def _of_index(index: Mapping[str, Any]) -> Iterator[str]:
    manifests = index.get("manifests")
    for entry in manifests if isinstance(manifests, list) else ():
        platform = entry.get("platform") if isinstance(entry, dict) else None
        # Attestations are entries of the platform unknown/unknown.
        if isinstance(platform, dict) and platform.get("os") != "unknown":
            yield _platform(platform)


def _platform(described: Mapping[str, Any]) -> str:
    return f"{described.get('os', '')}/{described.get('architecture', '')}"
