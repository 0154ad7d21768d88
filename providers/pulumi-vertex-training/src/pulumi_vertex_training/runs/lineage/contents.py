"""The contents of what a run names: digests of its images, hashes of its packages and of its data."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar
from urllib.parse import quote

from pulumi_vertex_training.cloud import objects, rest
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import image_names
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.objects import SHA256_KEY, STAGED_KEY
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.lineage.lineage import Data, Image, Lineage, Package
from pulumi_vertex_training.runs.prerequisites import is_looked_up
from vertex_training.fields import uris
from vertex_training.fields.uris import GcsUri

_HASH = re.compile(r"(?P<folder>.*/(?P<sha256>[0-9a-f]{16}))/?")
"""The name of a staged folder, which ends in the first digits of the hash of its files."""

T = TypeVar("T")


def looked_up(endpoint: Endpoint, lineage: Lineage) -> Lineage:
    """Return a lineage with the contents that the services have now. What they do not answer stays unknown.

    Images that are not in somebody's own repository of Artifact Registry are not looked up.
    """
    return replace(
        lineage,
        images=_each(endpoint, lineage.images, _image),
        packages=_each(endpoint, lineage.packages, _package),
        data=_each(endpoint, lineage.data, _data),
    )


def _each(endpoint: Endpoint, items: Sequence[T], find: Callable[[Endpoint, T], T]) -> tuple[T, ...]:
    def found(item: T) -> T:
        try:
            return find(endpoint, item)
        except CloudError:
            return item

    return tuple(call_each(found, items))


def _image(endpoint: Endpoint, image: Image) -> Image:
    if image.digest is not None or not is_looked_up(image.uri):
        return image
    return replace(image, digest=registry.digest_at(endpoint, image_names.parse(image.uri)))


def _package(endpoint: Endpoint, package: Package) -> Package:
    address = uris.parse_or_none(package.uri)
    found = objects.find(endpoint, address.bucket, address.name) if address and address.name else None
    return replace(package, sha256=found.metadata.get(SHA256_KEY)) if found else package


def _data(endpoint: Endpoint, data: Data) -> Data:
    if data.kind == "dataset":
        return _dataset(endpoint, data)
    address = uris.parse_or_none(data.uri)
    if address is None or not address.name:
        return data
    found = None if data.uri.endswith("/") else objects.find(endpoint, address.bucket, address.name)
    if found is not None:
        return replace(
            data, kind="file", sha256=found.metadata.get(SHA256_KEY), version=str(found.generation)
        )
    return _staged_folder(endpoint, data, address)


def _dataset(endpoint: Endpoint, data: Data) -> Data:
    """Return a managed dataset with its etag, which each change of it changes."""
    with translated(endpoint, f"read dataset {data.uri}"):
        url = f"{endpoint.vertex_url}/v1/{endpoint.parent}/datasets/{quote(data.uri, safe='')}"
        found = rest.call(endpoint, "GET", url)
    return replace(data, version=found.get("etag") or found.get("updateTime"))


def _staged_folder(endpoint: Endpoint, data: Data, address: GcsUri) -> Data:
    match = _HASH.fullmatch(f"/{address.name}")
    if match is None:
        return data
    inside = objects.list_objects(endpoint, address.bucket, prefix=f"{match['folder'][1:]}/")
    first = next(itertools.islice(inside, 1), None)
    if first is None or STAGED_KEY not in first.metadata:
        return data
    return replace(data, kind="folder", sha256=match["sha256"])
