"""Buckets and objects in the JSON of the API."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from vertex_training.emulator.projects import project_number
from vertex_training.emulator.storage import protection
from vertex_training.emulator.storage.bucket_fields import location_type
from vertex_training.emulator.storage.records import Bucket, StoredObject

_SELF = "https://www.googleapis.com/storage/v1"
"""As the service writes `selfLink`, whatever host was asked: a name rather than an address."""

_PLAIN = re.compile(r"[0-9A-Za-z_.~/-]*")
"""Names in which nothing but slashes has to be encoded, as most are."""

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def bucket_resource(bucket: Bucket) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "kind": "storage#bucket",
        "selfLink": f"{_SELF}/b/{bucket.name}",
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
    """`base_url` is what the client reached the emulator by: the link to the content begins with it."""
    path = f"b/{stored.bucket}/o/{_encoded(stored.name)}"
    resource: dict[str, Any] = {
        "kind": "storage#object",
        "id": f"{stored.bucket}/{stored.name}/{stored.generation}",
        "selfLink": f"{_SELF}/{path}",
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
    if (expiration := protection.expiration(stored)) is not None:
        resource["retentionExpirationTime"] = expiration
    if stored.soft_deleted is not None:
        resource["softDeleteTime"] = stored.soft_deleted
        resource["hardDeleteTime"] = stored.hard_delete
    return resource


def _encoded(name: str) -> str:
    """A name as one segment of a path."""
    return name.replace("/", "%2F") if _PLAIN.fullmatch(name) else quote(name, safe="")


def object_text(stored: StoredObject, base_url: str) -> str:
    """`object_resource` as JSON: listings write a great many, most of which have the usual fields only."""
    if _is_rare(stored):
        return _json(object_resource(stored, base_url))
    name, path = stored.name, f"b/{stored.bucket}/o/{_encoded(stored.name)}"
    settings = _json(dict(stored.settings))[1:-1]
    return (
        f'{{"kind":"storage#object","id":{_json(f"{stored.bucket}/{name}/{stored.generation}")},'
        f'"selfLink":"{_SELF}/{path}",'
        f'"mediaLink":"{base_url}/download/storage/v1/{path}?generation={stored.generation}&alt=media",'
        f'"name":{_json(name)},"bucket":"{stored.bucket}","generation":"{stored.generation}",'
        f'"metageneration":"{stored.metageneration}",{settings}{"," if settings else ""}'
        f'"size":"{stored.size}","md5Hash":"{stored.md5}","crc32c":"{stored.crc32c}","etag":"{stored.etag}",'
        f'"timeCreated":"{stored.created}","updated":"{stored.updated}",'
        f'"timeStorageClassUpdated":"{stored.class_updated or stored.created}",'
        f'"timeFinalized":"{stored.created}"}}'
    )


def _is_rare(stored: StoredObject) -> bool:
    return (
        not stored.md5
        or stored.deleted is not None
        or stored.components is not None
        or stored.retained_until is not None
        or stored.soft_deleted is not None
        or "retention" in stored.settings
    )
