"""Checks of the less common fields of a bucket, such as lifecycle rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vertex_emulator.services.storage.errors import invalid, unsupported
from vertex_emulator.services.storage.fields import access_lists, checks

_MAX_RETENTION = 3_155_760_000
_MAX_CORS = 100
_KEY = re.compile(r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+")
_ENFORCED = (
    "googleManagedEncryptionEnforcementConfig",
    "customerManagedEncryptionEnforcementConfig",
    "customerSuppliedEncryptionEnforcementConfig",
)
_REGIONS_OF_A_PAIR = 2


def _texts(path: str, value: object) -> list[str]:
    """Check a list of strings, which may be empty."""
    return [] if value == [] else checks.texts(path, value)


def cors(path: str, value: object) -> list[dict[str, Any]] | None:
    """Check `cors`. Return None without entries."""
    if value == {}:
        return None
    if not isinstance(value, list):
        raise invalid(f"{path} must be a list.")
    if len(value) > _MAX_CORS:
        raise invalid(f"{path} has {len(value)} entries; the limit is {_MAX_CORS}.")
    schema: Mapping[str, checks.Check] = {
        "maxAgeSeconds": checks.whole,
        "method": _texts,
        "origin": _texts,
        "responseHeader": _texts,
    }
    return [checks.record(f"{path}[{index}]", entry, schema) for index, entry in enumerate(value)] or None


def retention_policy(path: str, value: object) -> dict[str, Any] | None:
    """Check `retentionPolicy`. Return None without a policy."""
    sent = checks.record(
        path,
        value,
        {"retentionPeriod": checks.whole, "effectiveTime": checks.moment, "isLocked": checks.boolean},
    )
    if not sent:
        return None
    seconds = sent.get("retentionPeriod")
    if seconds is None:
        raise invalid(f"{path}.retentionPeriod is missing. Set it to the seconds that objects are retained.")
    if not 0 < seconds <= _MAX_RETENTION:
        raise invalid(f"{path}.retentionPeriod must be from 1 to {_MAX_RETENTION} seconds, not {seconds}.")
    kept: dict[str, Any] = {"retentionPeriod": str(seconds)}
    if sent.get("isLocked"):
        kept["isLocked"] = True
    return kept


def autoclass(path: str, value: object) -> dict[str, Any] | None:
    """Check `autoclass`, and fill in defaults."""
    sent = checks.record(
        path,
        value,
        {
            "enabled": checks.boolean,
            "terminalStorageClass": checks.one_of("NEARLINE", "ARCHIVE"),
            "toggleTime": checks.moment,
            "terminalStorageClassUpdateTime": checks.moment,
        },
    )
    if not sent:
        return None
    kept: dict[str, Any] = {"enabled": sent.get("enabled", False)}
    if kept["enabled"]:
        kept["terminalStorageClass"] = sent.get("terminalStorageClass", "NEARLINE")
    return kept


def encryption(path: str, value: object) -> dict[str, Any] | None:
    """Check `encryption`."""

    def config(at: str, item: object) -> dict[str, Any]:
        schema: Mapping[str, checks.Check] = {
            "restrictionMode": checks.one_of("NotRestricted", "FullyRestricted"),
            "effectiveTime": checks.moment,
        }
        sent = checks.record(at, item, schema)
        if sent.get("restrictionMode") == "FullyRestricted":
            raise unsupported(f"{at}.restrictionMode FullyRestricted", "Leave it NotRestricted.")
        return sent

    schema: Mapping[str, checks.Check] = {"defaultKmsKeyName": key_name, **dict.fromkeys(_ENFORCED, config)}
    return checks.record(path, value, schema) or None


def key_name(path: str, value: object) -> str:
    """Check the name of a key of Cloud KMS."""
    name = checks.text(path, value)
    if not _KEY.fullmatch(name):
        raise invalid(
            f"{path} must be projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY, not {name!r}."
        )
    return name


def logging(path: str, value: object) -> dict[str, Any] | None:
    """Check `logging`."""
    return checks.record(path, value, {"logBucket": checks.text, "logObjectPrefix": checks.text}) or None


def website(path: str, value: object) -> dict[str, Any] | None:
    """Check `website`."""
    return checks.record(path, value, {"mainPageSuffix": checks.text, "notFoundPage": checks.text}) or None


def billing(path: str, value: object) -> dict[str, Any] | None:
    """Check `billing`."""
    return checks.record(path, value, {"requesterPays": checks.boolean}) or None


def rpo(path: str, value: object) -> str | None:
    """Check `rpo`."""
    return None if value == {} else checks.one_of("DEFAULT", "ASYNC_TURBO")(path, value)


def event_based_hold(path: str, value: object) -> bool | None:
    """Check `defaultEventBasedHold`."""
    return None if value == {} else checks.boolean(path, value)


def placement(path: str, value: object) -> dict[str, Any] | None:
    """Check `customPlacementConfig`, which names two regions."""
    locations = checks.record(path, value, {"dataLocations": checks.texts}).get("dataLocations")
    if locations is None:
        return None
    if len(locations) != _REGIONS_OF_A_PAIR:
        raise invalid(f"{path}.dataLocations must name two regions, not {len(locations)}.")
    return {"dataLocations": [location.upper() for location in locations]}


def hierarchical_namespace(path: str, value: object) -> dict[str, Any] | None:
    """Check `hierarchicalNamespace`, which must not be enabled."""
    sent = checks.record(path, value, {"enabled": checks.boolean})
    if sent.get("enabled"):
        raise unsupported(
            f"the field {path!r} of a bucket", "Use object names with slashes, which are folders under /gcs."
        )
    return sent or None


def ip_filter(path: str, _value: object) -> None:
    """Reject `ipFilter`."""
    raise unsupported(f"the field {path!r} of a bucket", "It accepts requests from this machine only.")


def access_list(path: str, value: object) -> list[dict[str, str]] | None:
    """Check `acl` or `defaultObjectAcl`. Return None for the default list."""
    roles = access_lists.BUCKET_ROLES if path == "acl" else access_lists.OBJECT_ROLES
    return None if value == {} else access_lists.entries(path, value, roles=roles)


CHECKS: Mapping[str, checks.Check] = {
    "acl": access_list,
    "autoclass": autoclass,
    "billing": billing,
    "cors": cors,
    "customPlacementConfig": placement,
    "defaultEventBasedHold": event_based_hold,
    "defaultObjectAcl": access_list,
    "encryption": encryption,
    "hierarchicalNamespace": hierarchical_namespace,
    "ipFilter": ip_filter,
    "logging": logging,
    "retentionPolicy": retention_policy,
    "rpo": rpo,
    "website": website,
}
REPLACED_WHOLE = frozenset({"cors", "customPlacementConfig", "acl", "defaultObjectAcl"})
"""Fields that a patch does not merge, because they are lists."""


MAX_RULES = 100

_CONDITIONS: Mapping[str, checks.Check] = {
    "age": checks.whole,
    "createdBefore": checks.date,
    "customTimeBefore": checks.date,
    "daysSinceCustomTime": checks.whole,
    "daysSinceNoncurrentTime": checks.whole,
    "isLive": checks.boolean,
    "matchesPrefix": checks.texts,
    "matchesStorageClass": checks.texts,
    "matchesSuffix": checks.texts,
    "noncurrentTimeBefore": checks.date,
    "numNewerVersions": checks.whole,
}
_ACTION: Mapping[str, checks.Check] = {
    "type": checks.one_of("AbortIncompleteMultipartUpload", "Delete", "SetStorageClass"),
    "storageClass": checks.storage_class,
}
_WITH_ABORT = frozenset({"age", "matchesPrefix", "matchesSuffix"})


def check(path: str, value: object) -> dict[str, Any] | None:
    """Check `lifecycle`. Return None without rules. Raises `StorageError` 400."""
    rules = checks.record(path, value, {"rule": _rules}).get("rule", [])
    return {"rule": rules} if rules else None


def _rules(path: str, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise invalid(f"{path} must be a list.")
    if len(value) > MAX_RULES:
        raise invalid(f"{path} has {len(value)} rules; the limit is {MAX_RULES}.")
    return [_rule(f"{path}[{index}]", rule) for index, rule in enumerate(value)]


def _rule(path: str, value: object) -> dict[str, Any]:
    rule = checks.record(
        path,
        value,
        {
            "action": lambda at, item: checks.record(at, item, _ACTION),
            "condition": lambda at, item: checks.record(at, item, _CONDITIONS),
        },
    )
    action, condition = rule.get("action", {}), rule.get("condition", {})
    kind = action.get("type")
    if kind is None:
        raise invalid(f"{path}.action.type is missing. Set it to Delete or SetStorageClass.")
    if (kind == "SetStorageClass") != ("storageClass" in action):
        raise invalid(
            f"{path}.action.storageClass is required for the type SetStorageClass and invalid for others; "
            f"the type is {kind}."
        )
    if not condition:
        raise invalid(f"{path}.condition needs at least one condition, such as age.")
    if kind == "AbortIncompleteMultipartUpload" and (other := set(condition) - _WITH_ABORT):
        raise invalid(
            f"{path}.condition.{min(other)} is invalid for AbortIncompleteMultipartUpload. Use "
            f"{', '.join(sorted(_WITH_ABORT))}."
        )
    return {"action": action, "condition": condition}
