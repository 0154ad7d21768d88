"""The JSON resources of buckets and objects."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.services.storage.disk import preconditions
from vertex_emulator.services.storage.disk.records import Bucket, StoredObject
from vertex_emulator.services.storage.fields import access_lists
from vertex_emulator.services.storage.fields.access_lists import Entries
from vertex_emulator.services.storage.fields.bucket import location_type

SELF = "https://www.googleapis.com/storage/v1"
"""The beginning of `selfLink`, which is independent of the emulator's address, as in the service."""


def bucket_list(bucket: Bucket) -> Entries:
    """Return the access control list of a bucket."""
    entries: Entries | None = bucket.settings.get("acl")
    return access_lists.of_bucket("projectPrivate", bucket.project) if entries is None else entries


def default_object_list(bucket: Bucket) -> Entries:
    """Return the access control list that a bucket gives new objects, besides their owner."""
    entries: Entries | None = bucket.settings.get("defaultObjectAcl")
    return (
        access_lists.of_object("projectPrivate", bucket.project, owner=False) if entries is None else entries
    )


def object_list(stored: StoredObject, bucket: Bucket) -> Entries:
    """Return the access control list of an object."""
    entries: Entries | None = stored.settings.get("acl")
    return access_lists.of_object("projectPrivate", bucket.project) if entries is None else entries


def place_of(stored: StoredObject) -> dict[str, str]:
    """Return the names of an object in the resource of an access control entry."""
    return {"bucket": stored.bucket, "object": stored.name, "generation": str(stored.generation)}


def bucket_resource(bucket: Bucket, *, full: bool = False) -> dict[str, Any]:
    """Return the resource of a bucket, with its access control lists for projection=full."""
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
    resource.pop("acl", None)
    resource.pop("defaultObjectAcl", None)
    if full and not bucket.is_uniform:
        link = f"{SELF}/b/{bucket.name}/acl"
        resource["acl"] = [
            access_lists.resource("bucketAccessControl", link, each, bucket=bucket.name)
            for each in bucket_list(bucket)
        ]
        resource["defaultObjectAcl"] = [
            access_lists.resource("objectAccessControl", "", each) for each in default_object_list(bucket)
        ]
        resource["owner"] = {"entity": f"project-owners-{project_number(bucket.project)}"}
    if resource["locationType"] != "region":
        resource.setdefault("rpo", "DEFAULT")
    if bucket.soft_deleted is not None:
        resource["softDeleteTime"] = bucket.soft_deleted
        resource["hardDeleteTime"] = bucket.hard_delete
    return resource


def object_resource(stored: StoredObject, base_url: str, *, full: Bucket | None = None) -> dict[str, Any]:
    """Return the resource of an object. The link to the content begins with `base_url`.

    For projection=full, with its access control list, `full` is its bucket.
    """
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
    resource.pop("acl", None)
    if full is not None and not full.is_uniform:
        resource["acl"] = [
            access_lists.resource("objectAccessControl", f"{SELF}/{path}/acl", each, **place_of(stored))
            for each in object_list(stored, full)
        ]
        resource["owner"] = {"entity": access_lists.owner_of(full.project)}
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
