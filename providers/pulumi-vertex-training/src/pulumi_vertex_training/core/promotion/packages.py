"""A promoted package: copied by Cloud Storage, and kept for a rollback."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound, PermissionDenied
from pulumi_vertex_training.cloud.objects import NO_KEY, PROMOTED, SHARED_KEY, STAGED_KEY, ObjectRecord
from pulumi_vertex_training.core.promotion.entries import PromotedPackage
from vertex_training.fields.uris import GcsUri


def ensure(endpoint: Endpoint, target: GcsUri, entry: PromotedPackage) -> ObjectRecord:
    """Copy a promoted package unless it is there, and mark it: no stack deletes it with its resource.

    Raises NotFound if it exists nowhere.
    """
    there = objects.find(endpoint, target.bucket, target.name)
    if there is not None and has_content(there, entry):
        if SHARED_KEY in there.metadata:
            return there
        return objects.add_metadata(endpoint, target.bucket, target.name, {SHARED_KEY: PROMOTED})
    source = entry.source_uri
    found = objects.find(endpoint, source.bucket, source.name)
    if found is None or not has_content(found, entry):
        raise NotFound(gone(entry, [target, source]), code=404, resource=entry.source, endpoint=endpoint)
    return objects.copy(
        endpoint,
        found,
        target.name,
        bucket=target.bucket,
        metadata={STAGED_KEY: NO_KEY, SHARED_KEY: PROMOTED, objects.SHA256_KEY: entry.sha256},
        if_generation_match=there.generation if there is not None else 0,
    )


def keep_source(endpoint: Endpoint, entry: PromotedPackage) -> None:
    """Mark the package in the stack that has tried it, so that it exists until the other one is deployed.

    Whoever may only read there can promote all the same.
    """
    source = entry.source_uri
    found = objects.find(endpoint, source.bucket, source.name)
    if found is not None and SHARED_KEY not in found.metadata:
        with suppress(PermissionDenied):
            objects.add_metadata(endpoint, source.bucket, source.name, {SHARED_KEY: PROMOTED})


def has_content(record: ObjectRecord, entry: PromotedPackage) -> bool:
    """Return whether an object has the promoted content, by its size and the hash in its metadata."""
    return record.size == entry.size and record.metadata.get(objects.SHA256_KEY) == entry.sha256


def gone(entry: PromotedPackage, places: Sequence[GcsUri]) -> str:
    """Return the error for a package that is in none of the places any more."""
    package = f"the package {entry.file} with the hash {entry.sha256}"
    return entry.gone(package, [f"as {place}" for place in places])
