"""The bucket as Cloud Storage's JSON API writes it, and the body of a PATCH from one spec to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.specs.bucket import BucketSpec, LifecycleRule, normalise
from vertex_training.specs.hints import camel_case
from vertex_training.specs.wire import from_json, to_json


def to_wire(spec: BucketSpec) -> dict[str, Any]:
    """The bucket's settings as the API's JSON, all of them, whether they are the API's defaults or not."""
    normal = normalise(spec)
    body = {"name": normal.name, "location": normal.location.upper(), **_settings(normal)}
    return {key: value for key, value in body.items() if value != {} and value != {"rule": []}}


def from_wire(bucket: Mapping[str, Any], *, force_destroy: bool = False) -> BucketSpec:
    """The spec, in normal form, of a bucket in the API's JSON; `force_destroy` is not part of that.

    Raises ValueError for what is no bucket.
    """
    access = _part(bucket, "iamConfiguration")
    flat = {key: bucket[key] for key in ("name", "location", "labels") if key in bucket}
    rules = _part(bucket, "lifecycle").get("rule") or []
    flat |= {
        "storage_class": bucket.get("storageClass") or "STANDARD",
        "uniform_bucket_level_access": bool(_part(access, "uniformBucketLevelAccess").get("enabled")),
        "public_access_prevention": _prevention(access.get("publicAccessPrevention")),
        "versioning": bool(_part(bucket, "versioning").get("enabled")),
        "lifecycle_rules": rules,
        "force_destroy": force_destroy,
    }
    return normalise(from_json(BucketSpec, flat))


def patch(old: BucketSpec, new: BucketSpec) -> dict[str, Any]:
    """The body of the PATCH that makes `new` of `old`: the changed settings only, null for labels that go.

    Empty when there is nothing to send. Raises ValueError when the name or the location differs: that is
    another bucket.
    """
    before, after = normalise(old), normalise(new)
    if (before.name, before.location) != (after.name, after.location):
        raise ValueError("a bucket cannot change its name or its location")
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


def _settings(spec: BucketSpec) -> dict[str, Any]:
    return {
        "storageClass": spec.storage_class,
        "labels": dict(spec.labels),
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": spec.uniform_bucket_level_access},
            "publicAccessPrevention": spec.public_access_prevention,
        },
        "versioning": {"enabled": spec.versioning},
        "lifecycle": {"rule": [_rule(rule) for rule in spec.lifecycle_rules]},
    }


def _rule(rule: LifecycleRule) -> dict[str, Any]:
    """A rule; a condition of 0 days or `isLive` false says something here, so only None is left out."""
    given = {name: value for name, value in vars(rule.condition).items() if value is not None and value != ()}
    plain = {camel_case(name): list(v) if isinstance(v, tuple) else v for name, v in given.items()}
    return {"action": to_json(rule.action), "condition": plain}


def _prevention(value: object) -> object:
    """`unspecified` is the old name of `inherited`."""
    return "inherited" if value in (None, "unspecified") else value


def _part(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = message.get(name)
    return part if isinstance(part, Mapping) else {}
