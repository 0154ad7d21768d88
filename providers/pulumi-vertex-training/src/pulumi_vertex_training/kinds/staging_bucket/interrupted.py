"""Take back a bucket whose creation was interrupted before any state recorded it.

Such a bucket has the key of its resource as a label, and nobody has touched it: its settings have never
changed, and it has no object. Any other bucket is somebody else's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import (
    AlreadyExists,
    CloudError,
    Conflict,
    NotFound,
    PermissionDenied,
    Unavailable,
)
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.kinds.staging_bucket import gateway, wire
from pulumi_vertex_training.kinds.staging_bucket.gateway import BucketRecord
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec
from vertex_training.fields.labels import has_key, key_label


def create_or_adopt(endpoint: Endpoint, spec: BucketSpec, key: str) -> BucketRecord:
    """Create the bucket, or adopt the one that an interrupted deployment created for this resource.

    One that differs from the declaration is deleted and created again. Raises AlreadyExists for the bucket of
    anybody else.
    """
    try:
        return _create(endpoint, spec, key)
    except (AlreadyExists, Unavailable) as error:
        # Without an answer, the bucket may exist all the same.
        found = _get_if_exists(endpoint, spec.name)
        if found is None or not has_key(_labels(found), key):
            raise _taken(error, spec.name) from error
        if not _is_untouched(endpoint, found):
            raise _touched(error, spec.name) from error
    if _is_as_declared(found, spec):
        print_line(f"bucket {spec.name}: adopted; an interrupted deployment of this stack created it")
        return found
    print_line(
        f"bucket {spec.name}: an interrupted deployment of this stack created it with other settings; it is "
        "empty, and is deleted and created again"
    )
    gateway.delete_untouched(endpoint, spec.name, if_metageneration_match=found.metageneration)
    return _create(endpoint, spec, key)


def remove(endpoint: Endpoint, name: str, key: str) -> bool:
    """Delete the bucket with this key that no state has; return False if somebody has touched it.

    Raises NotFound if there is no bucket with this key.
    """
    found = None
    with suppress(PermissionDenied):  # names are global: somebody else's bucket may not show itself
        found = gateway.get(endpoint, name)
    if found is None or not has_key(_labels(found), key):
        raise NotFound(f"bucket {name} is somebody else's", resource=name, endpoint=endpoint)
    if not _is_untouched(endpoint, found):
        return False
    try:
        gateway.delete_untouched(endpoint, name, if_metageneration_match=found.metageneration)
    except (AlreadyExists, Conflict):  # somebody was quicker
        return False
    return True


def needs_lock(record: BucketRecord, spec: BucketSpec) -> bool:
    """Return whether the retention policy is declared as locked and is not locked yet."""
    return wire.sets_lock(wire.as_live(spec, record.wire), spec)


def _create(endpoint: Endpoint, spec: BucketSpec, key: str) -> BucketRecord:
    body = wire.to_wire(spec)
    labels: Mapping[str, Any] = {**body.get("labels", {}), **key_label(key)}
    body = {**body, "labels": labels} if labels else body
    return gateway.create(endpoint, body, enable_object_retention=spec.enable_object_retention)


def _get_if_exists(endpoint: Endpoint, name: str) -> BucketRecord | None:
    """Return the bucket, or None if it does not exist or does not show itself to us."""
    try:
        return gateway.get(endpoint, name)
    except CloudError:
        return None


def _is_untouched(endpoint: Endpoint, record: BucketRecord) -> bool:
    """Return whether the bucket is as its creation left it; locking its retention policy belongs to that."""
    locked = bool((record.wire.get("retentionPolicy") or {}).get("isLocked"))
    return record.metageneration == 1 + locked and gateway.is_empty(endpoint, record.name)


def _is_as_declared(record: BucketRecord, spec: BucketSpec) -> bool:
    live = wire.as_live(spec, record.wire)
    if live.retention_policy and wire.sets_lock(live, spec):
        live = dataclasses.replace(
            live, retention_policy=dataclasses.replace(live.retention_policy, is_locked=True)
        )
    return live == spec


def _labels(record: BucketRecord) -> Mapping[str, str]:
    return record.wire.get("labels") or {}


def _taken(error: CloudError, name: str) -> CloudError:
    if not isinstance(error, AlreadyExists):
        return error
    return AlreadyExists(
        f"bucket {name}: the name is taken, because bucket names are global, and this resource did not "
        "create that bucket. Choose another name with name=. To manage the existing bucket, set adopt=True. "
        "To use it only, pass its name instead of declaring it.",
        code=error.code,
        resource=name,
        endpoint=error.endpoint,
    )


def _touched(error: CloudError, name: str) -> AlreadyExists:
    return AlreadyExists(
        f"bucket {name}: an interrupted deployment of this stack created it, but since then it was changed "
        "or filled. To keep it as it is, set adopt=True. To create it again, delete it first.",
        code=error.code,
        resource=name,
        endpoint=error.endpoint,
    )
