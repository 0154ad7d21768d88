"""Conversion between a bucket's spec and the JSON of the Cloud Storage API, and the body of an update."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.kinds.staging_bucket.settings import PLURALS, IpFilter
from pulumi_vertex_training.kinds.staging_bucket.spec import (
    EFFECTS,
    SOFT_DELETE_DEFAULT,
    TERMINAL_DEFAULT,
    BucketSpec,
    comparable,
    normalise,
)
from vertex_training.fields.document import nested
from vertex_training.fields.effects import Effect
from vertex_training.fields.labels import KEY_LABEL
from vertex_training.fields.schema import camel_case
from vertex_training.fields.wire import from_json

_FIXED = tuple(name.partition(".")[0] for name, one in EFFECTS.items() if one.effect is Effect.REPLACE)
_SAME_NAME = (
    "autoclass",
    "cors",
    "default_event_based_hold",
    "encryption",
    "ip_filter",
    "logging",
    "retention_policy",
    "rpo",
    "soft_delete_policy",
    "website",
)
"""Fields with the same name and shape in a spec and in the API; left out if they are not set."""


def to_wire(spec: BucketSpec) -> dict[str, Any]:
    """Return the bucket's settings in the API's JSON.

    The fields of the first version are always written, also with the API's defaults; later fields only if
    they are set. `enable_object_retention` is a parameter of the call, and a lock is a call of its own.
    """
    normal = normalise(spec)
    body = {"name": normal.name, "location": normal.location.upper(), **_settings(normal)}
    for name in _SAME_NAME:
        if not getattr(normal, name):
            del body[camel_case(name)]
    if not normal.requester_pays:
        del body["billing"]
    if normal.custom_placement_config:
        regions = [region.upper() for region in normal.custom_placement_config.data_locations]
        body["customPlacementConfig"] = {"dataLocations": regions}
    if normal.hierarchical_namespace:
        body["hierarchicalNamespace"] = {"enabled": True}
    return {key: _without_null(value) for key, value in body.items() if value != {} and value != {"rule": []}}


def from_wire(
    bucket: Mapping[str, Any], *, force_destroy: bool = False, release_holds: bool = False
) -> BucketSpec:
    """Return the spec of a bucket in the API's JSON, in the form of `comparable`.

    The two options are not part of the JSON, and the label with a resource's key is not part of the spec.
    Raises ValueError if `bucket` is not a bucket.
    """
    access = nested(bucket, "iamConfiguration")
    flat = {key: bucket[key] for key in ("name", "location", "labels") if key in bucket}
    flat["labels"] = {key: value for key, value in (bucket.get("labels") or {}).items() if key != KEY_LABEL}
    flat |= {name: bucket[camel_case(name)] for name in _SAME_NAME if bucket.get(camel_case(name))}
    rules = nested(bucket, "lifecycle").get("rule") or []
    flat |= {
        "storage_class": bucket.get("storageClass") or "STANDARD",
        "uniform_bucket_level_access": bool(nested(access, "uniformBucketLevelAccess").get("enabled")),
        "public_access_prevention": _prevention(access.get("publicAccessPrevention")),
        "versioning": {"enabled": bool(nested(bucket, "versioning").get("enabled"))},
        "lifecycle_rules": rules,
        "requester_pays": bool(nested(bucket, "billing").get("requesterPays")),
        "enable_object_retention": nested(bucket, "objectRetention").get("mode") == "Enabled",
        "hierarchical_namespace": bool(nested(bucket, "hierarchicalNamespace").get("enabled")),
        "force_destroy": force_destroy,
        "release_holds": release_holds,
    }
    if regions := nested(bucket, "customPlacementConfig").get("dataLocations"):
        flat["custom_placement_config"] = {"data_locations": regions}
    return comparable(from_json(BucketSpec, _with_plurals(flat)))


def as_live(declared: BucketSpec, bucket: Mapping[str, Any]) -> BucketSpec:
    """Return `declared` with the fields that differ in the live bucket replaced.

    Returns `declared` itself if nothing differs. A field of equal meaning keeps its declared form.
    """
    live = from_wire(bucket, force_destroy=declared.force_destroy, release_holds=declared.release_holds)
    meant = comparable(declared)
    other = {
        field.name: getattr(live, field.name)
        for field in dataclasses.fields(BucketSpec)
        if getattr(meant, field.name) != getattr(live, field.name)
    }
    return dataclasses.replace(declared, **other) if other else declared


def patch(old: BucketSpec, new: BucketSpec) -> dict[str, Any]:
    """Return the body of the PATCH from `old` to `new`: only the changed settings, null for removed ones.

    The body is empty if there is nothing to send. It never locks the retention policy: see `sets_lock`.
    Raises ValueError if a field differs that cannot change in place.
    """
    before, after = comparable(old), comparable(new)
    if any(getattr(before, name) != getattr(after, name) for name in _FIXED):
        raise ValueError(f"a bucket cannot change its {' or its '.join(_FIXED)}")
    was, becomes = _settings(before), _settings(after)
    body = {key: value for key, value in becomes.items() if value != was[key]}
    if "labels" in body:
        names = dict.fromkeys([*before.labels, *after.labels])
        changed = [name for name in names if before.labels.get(name) != after.labels.get(name)]
        body["labels"] = {name: after.labels.get(name) for name in changed}
    if "iamConfiguration" in body:
        body["iamConfiguration"] = {
            key: value
            for key, value in becomes["iamConfiguration"].items()
            if value != was["iamConfiguration"][key]
        }
    return body


def sets_lock(old: BucketSpec | None, new: BucketSpec) -> bool:
    """Return whether the change locks the retention policy. `old` is None for a new bucket."""
    was = old is not None and old.retention_policy is not None and old.retention_policy.is_locked
    return new.retention_policy is not None and new.retention_policy.is_locked and not was


def _settings(spec: BucketSpec) -> dict[str, Any]:
    """Return every setting that can change in place, as in a PATCH; null stands for a missing setting."""
    return {
        "storageClass": spec.storage_class,
        "labels": dict(spec.labels),
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": spec.uniform_bucket_level_access},
            "publicAccessPrevention": spec.public_access_prevention,
        },
        "versioning": {"enabled": spec.versioning.enabled},
        "lifecycle": {"rule": [_without_null(_message(rule)) for rule in spec.lifecycle_rules]},
        "autoclass": _autoclass(spec),
        "billing": {"requesterPays": spec.requester_pays},
        "cors": [_without_null(_message(rule)) for rule in spec.cors],
        "defaultEventBasedHold": spec.default_event_based_hold,
        "encryption": _message(spec.encryption),
        "ipFilter": _message(spec.ip_filter or IpFilter(mode="Disabled")),
        "logging": _message(spec.logging),
        "retentionPolicy": _retention(spec),
        "rpo": spec.rpo or "DEFAULT",
        "softDeletePolicy": _message(spec.soft_delete_policy)
        or {"retentionDurationSeconds": str(SOFT_DELETE_DEFAULT)},
        "website": _message(spec.website),
    }


def _autoclass(spec: BucketSpec) -> dict[str, Any]:
    if spec.autoclass is None or not spec.autoclass.enabled:
        return {"enabled": False}
    return {
        "enabled": True,
        "terminalStorageClass": spec.autoclass.terminal_storage_class or TERMINAL_DEFAULT,
    }


def _retention(spec: BucketSpec) -> dict[str, Any] | None:
    if spec.retention_policy is None:
        return None
    return {"retentionPeriod": str(spec.retention_policy.retention_period)}


def _message(value: object) -> Any:
    """Return a message with all its fields, also 0 and false; an empty tuple becomes null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {}
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if field.metadata.get("int64") and item is not None:
                item = str(item)
            plain[PLURALS.get(field.name) or camel_case(field.name)] = None if item == () else _message(item)
        return plain
    if isinstance(value, tuple):
        return [_without_null(_message(item)) for item in value]
    return value


def _without_null(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return value


_PLURAL_OF = {wire: name for name, wire in PLURALS.items()}


def _with_plurals(value: object) -> Any:
    """Return rules of the API with the field names of a spec; labels are not touched."""
    if isinstance(value, Mapping):
        return {
            _PLURAL_OF.get(key, key): item if key == "labels" else _with_plurals(item)
            for key, item in value.items()
        }
    return [_with_plurals(item) for item in value] if isinstance(value, list) else value


def _prevention(value: object) -> object:
    """Return the setting under its current name: `unspecified` is the old name of `inherited`."""
    return "inherited" if value in (None, "unspecified") else value
