"""The JSON resources of buckets and objects."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.storage.disk import preconditions
from vertex_emulator.storage.disk.records import Bucket, StoredObject
from vertex_emulator.storage.fields.bucket import location_type

SELF = "https://www.googleapis.com/storage/v1"
"""The beginning of `selfLink`, which is independent of the emulator's address, as in the service."""


def bucket_resource(bucket: Bucket) -> dict[str, Any]:
    """Return the resource of a bucket."""
    resource: dict[str, Any] = {
        "kind": "storage#bucket",
        "selfLink": f"{SELF}/b/{bucket.name}",
        "id": bucket.name,
        "name": bucket.name,
        "projectNumber": project_number(bucket.project),
        "generation": str(bucket.generation),
        "metageneration": str(bucket.metageneration),
        "etag": bucket.etag,
        "timeCreated": bucket.created,
        "updated": bucket.updated,
        "locationType": location_type(bucket.settings),
        **bucket.settings,
    }
    if resource["locationType"] != "region":
        resource.setdefault("rpo", "DEFAULT")
    if bucket.soft_deleted is not None:
        resource["softDeleteTime"] = bucket.soft_deleted
        resource["hardDeleteTime"] = bucket.hard_delete
    return resource


def object_resource(stored: StoredObject, base_url: str) -> dict[str, Any]:
    """Return the resource of an object. The link to the content begins with `base_url`."""
    encoded = quote(stored.name, safe="")
    path = f"b/{stored.bucket}/o/{encoded}"
    resource: dict[str, Any] = {
        "kind": "storage#object",
        "id": f"{stored.bucket}/{stored.name}/{stored.generation}",
        "selfLink": f"{SELF}/{path}",
        "mediaLink": f"{base_url}/download/storage/v1/{path}?generation={stored.generation}&alt=media",
        "name": stored.name,
        "bucket": stored.bucket,
        "generation": str(stored.generation),
        "metageneration": str(stored.metageneration),
        **stored.settings,
        "size": str(stored.size),
        **({"md5Hash": stored.md5} if stored.md5 else {}),
        "crc32c": stored.crc32c,
        "etag": stored.etag,
        "timeCreated": stored.created,
        "updated": stored.updated,
        "timeStorageClassUpdated": stored.class_updated or stored.created,
        "timeFinalized": stored.created,
    }
    if stored.deleted is not None:
        resource["timeDeleted"] = stored.deleted
    if stored.components is not None:
        resource["componentCount"] = stored.components
    if (expiration := preconditions.expiration(stored)) is not None:
        resource["retentionExpirationTime"] = expiration
    if stored.soft_deleted is not None:
        resource["softDeleteTime"] = stored.soft_deleted
        resource["hardDeleteTime"] = stored.hard_delete
    return resource
