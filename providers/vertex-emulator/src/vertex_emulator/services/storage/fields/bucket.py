"""The fields of a bucket resource: checks, defaults, and effects of changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.services.storage.errors import StorageError, invalid, unsupported
from vertex_emulator.services.storage.fields import bucket_options, checks

_MULTI_REGIONS = frozenset({"US", "EU", "ASIA"})
_DUAL_REGIONS = frozenset({"NAM4", "EUR4", "EUR5", "EUR7", "EUR8", "ASIA1"})
_REGION = re.compile(r"[A-Z]{2,}-[A-Z]{3,}[0-9]{1,2}")
_LABEL_KEY = re.compile(r"[^\W\d_A-Z][\w-]{0,62}")
_LABEL_VALUE = re.compile(r"[\w-]{0,63}")
_MAX_LABELS = 64
_DAY = 24 * 60 * 60
_SOFT_DELETE_DEFAULT = 7 * _DAY
_SOFT_DELETE_MOST = 90 * _DAY
_FIXED = ("name", "location", "generation", "projectNumber", "timeCreated", "id", "kind", "locationType")
_SERVICE_MADE = frozenset(
    {
        *(
            "etag",
            "hardDeleteTime",
            "metageneration",
            "objectRetention",
            "owner",
            "selfLink",
            "softDeleteTime",
        ),
        *("updated", *_FIXED),
    }
) - {"name", "location"}
_PLACED = ("customPlacementConfig",)


def created(body: object, *, moment: str, object_retention: bool = False) -> dict[str, Any]:
    """Return the settings of a new bucket with defaults, without its name.

    `object_retention` allows objects to have a retention of their own.
    """
    sent = checks.document(body)
    for name in sorted(_SERVICE_MADE & sent.keys()):
        if sent[name] is not None:
            raise invalid(f"{name} of a bucket is set by the service. Leave it out.")
    sent = _without_service_made(sent)
    sent.pop("name", None)
    settings = _merged(_defaults(_location("location", sent.pop("location", None) or "US")), sent)
    if object_retention:
        settings["objectRetention"] = {"mode": "Enabled"}
    check_retention("", {}, settings)
    return _finished(settings, {}, moment)


def imported(settings: Mapping[str, Any], *, moment: str) -> dict[str, Any]:
    """Return the settings of a bucket from another emulator, checked as for a new bucket."""
    sent = dict(settings)
    retention = sent.pop("objectRetention", None)
    merged = _merged(_defaults(_location("location", sent.pop("location", None) or "US")), sent)
    if retention is not None:
        merged["objectRetention"] = checks.record(
            "objectRetention", retention, {"mode": checks.one_of("Enabled")}
        )
    return _finished(merged, sent, moment)


def patched(
    settings: Mapping[str, Any], body: object, *, current: Mapping[str, Any], moment: str
) -> dict[str, Any]:
    """Return the settings after a patch: null removes a field or an entry, and objects are merged.

    `current` is the bucket's whole resource. Fixed fields must not differ from it.
    """
    sent = _without_fixed(_without_service_made(checks.document(body)), current)
    changed = _merged(dict(settings), sent)
    check_retention(current["name"], settings, changed)
    return _finished(changed, settings, moment)


def replaced(
    settings: Mapping[str, Any], body: object, *, current: Mapping[str, Any], moment: str
) -> dict[str, Any]:
    """Return the settings after an update with a whole resource. Missing fields get their defaults."""
    sent = _without_service_made(checks.document(body))
    sent = _without_fixed({name: value for name, value in sent.items() if value is not None}, current)
    base = _defaults(settings["location"])
    fixed = {name: settings[name] for name in ("objectRetention", *_PLACED) if name in settings}
    changed = _merged({**base, **fixed}, sent)
    check_retention(current["name"], settings, changed)
    return _finished(changed, settings, moment)


def location_type(settings: Mapping[str, Any]) -> str:
    """Return the location type of a bucket with these settings."""
    location = settings["location"]
    if location in _DUAL_REGIONS or "customPlacementConfig" in settings:
        return "dual-region"
    return "multi-region" if location in _MULTI_REGIONS else "region"


def _defaults(location: str) -> dict[str, Any]:
    return {
        "location": location,
        "storageClass": "STANDARD",
        "iamConfiguration": _access("iamConfiguration", {}),
        "softDeletePolicy": _soft_delete("softDeletePolicy", {}),
    }


def _finished(settings: dict[str, Any], before: Mapping[str, Any], moment: str) -> dict[str, Any]:
    check_together(settings, dual_region=location_type(settings) == "dual-region")
    return stamped(settings, before, moment)


def _without_fixed(sent: dict[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
    for name in ("name", "location"):
        if name in sent and str(sent[name]).upper() != str(current[name]).upper():
            raise invalid(
                f"The {name} of a bucket cannot be changed: it is {current[name]!r}. Create another bucket."
            )
        sent.pop(name, None)
    for name in _PLACED:
        if name in sent and sent[name] != current.get(name):
            raise invalid(f"The {name} of a bucket cannot be changed. Create another bucket.")
        sent.pop(name, None)
    return sent


def _without_service_made(body: Mapping[str, Any]) -> dict[str, Any]:
    """Remove fields that the service sets. Clients send them back, and the service ignores them."""
    return {name: value for name, value in body.items() if name not in _SERVICE_MADE}


def _merged(settings: dict[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in sent.items():
        if name == "iamConfiguration":
            value = _current_spelling(value)
        if name not in _CHECKS:
            raise unsupported(
                f"the field {name!r} of a bucket", f"It has {', '.join(sorted([*_CHECKS, 'location']))}."
            )
        kept = _CHECKS[name](name, _merge(settings.get(name), value, whole=name in _REPLACED_WHOLE))
        if kept is None:
            settings.pop(name, None)
        else:
            settings[name] = kept
    return settings


def _current_spelling(access: object) -> Any:
    """Replace bucketPolicyOnly, the old name of uniformBucketLevelAccess, which takes precedence."""
    if not isinstance(access, dict) or "bucketPolicyOnly" not in access:
        return access
    return {"uniformBucketLevelAccess": access["bucketPolicyOnly"], **access}


def _merge(old: object, new: object, *, whole: bool) -> Any:
    """Merge two JSON values (RFC 7396)."""
    if whole or not isinstance(new, dict):
        return {} if new is None else new
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value, whole=False) if isinstance(value, dict) else value
    return merged


def _location(path: str, value: object) -> str:
    location = checks.text(path, value).upper()
    if location not in _MULTI_REGIONS | _DUAL_REGIONS and not _REGION.fullmatch(location):
        raise invalid(
            f"The specified location constraint is not valid: {value!r}. Name a region such as us-central1, "
            "or US, EU or ASIA."
        )
    return location


def _labels(path: str, value: object) -> dict[str, str] | None:
    if not isinstance(value, dict):
        raise invalid(f"{path} must be an object of strings.")
    if len(value) > _MAX_LABELS:
        raise invalid(f"{path} has {len(value)} entries; the limit is {_MAX_LABELS}.")
    for key, item in value.items():
        if not _LABEL_KEY.fullmatch(key) or key != key.lower() or len(key.encode()) > 128:
            raise invalid(
                f"{path} has the key {key!r}: it must begin with a lower-case letter and have at most 63 "
                "lower-case letters, digits, '-' and '_'."
            )
        if not isinstance(item, str) or not _LABEL_VALUE.fullmatch(item) or item != item.lower():
            raise invalid(
                f"{path}.{key} is {item!r}: it may have up to 63 lower-case letters, digits, '-' and '_'."
            )
    return dict(value) or None


def _access(path: str, value: object) -> dict[str, Any]:
    uniform: Mapping[str, checks.Check] = {"enabled": checks.boolean, "lockedTime": checks.moment}
    sent = checks.record(
        path,
        value,
        {
            "uniformBucketLevelAccess": lambda at, item: checks.record(at, item, uniform),
            "bucketPolicyOnly": lambda at, item: checks.record(at, item, uniform),
            "publicAccessPrevention": checks.one_of("inherited", "enforced", "unspecified"),
        },
    )
    given = sent.get("uniformBucketLevelAccess", {})
    kept: dict[str, Any] = {"enabled": given.get("enabled", False)}
    if kept["enabled"] and "lockedTime" in given:
        kept["lockedTime"] = given["lockedTime"]
    prevention = sent.get("publicAccessPrevention", "inherited")
    return {
        "bucketPolicyOnly": kept,
        "uniformBucketLevelAccess": kept,
        "publicAccessPrevention": "inherited" if prevention == "unspecified" else prevention,
    }


def _soft_delete(path: str, value: object) -> dict[str, Any]:
    sent = checks.record(
        path, value, {"retentionDurationSeconds": checks.whole, "effectiveTime": checks.moment}
    )
    seconds = sent.get("retentionDurationSeconds", _SOFT_DELETE_DEFAULT)
    if seconds and not _SOFT_DELETE_DEFAULT <= seconds <= _SOFT_DELETE_MOST:
        raise invalid(
            f"{path}.retentionDurationSeconds must be 0, or from {_SOFT_DELETE_DEFAULT} to "
            f"{_SOFT_DELETE_MOST} (7 to 90 days), not {seconds}."
        )
    # 64-bit numbers are strings in the API's JSON.
    return {"retentionDurationSeconds": str(seconds)}


_CHECKS: Mapping[str, checks.Check] = {
    **bucket_options.CHECKS,
    "iamConfiguration": _access,
    "labels": _labels,
    "lifecycle": bucket_options.check,
    "softDeletePolicy": _soft_delete,
    "storageClass": lambda path, value: "STANDARD" if value == {} else checks.storage_class(path, value),
    "versioning": lambda path, value: checks.record(path, value, {"enabled": checks.boolean}) or None,
}
_REPLACED_WHOLE = frozenset({"lifecycle", "storageClass"}) | bucket_options.REPLACED_WHOLE


_UNIFORM_ACCESS_FIXED_AFTER = timedelta(days=90)


def stamped(settings: dict[str, Any], before: Mapping[str, Any], moment: str) -> dict[str, Any]:
    """Return the settings with the time of each policy's last change. Unchanged ones have it in `before`."""
    _stamp(settings, before, "softDeletePolicy", "effectiveTime", by="retentionDurationSeconds", at=moment)
    if settings["softDeletePolicy"]["retentionDurationSeconds"] == "0":
        settings["softDeletePolicy"].pop("effectiveTime", None)
    _stamp(settings, before, "retentionPolicy", "effectiveTime", by="retentionPeriod", at=moment)
    _stamp(settings, before, "autoclass", "toggleTime", by="enabled", at=moment)
    if "terminalStorageClass" in settings.get("autoclass", {}):
        name = "terminalStorageClass"
        _stamp(settings, before, "autoclass", "terminalStorageClassUpdateTime", by=name, at=moment)
    access = settings["iamConfiguration"]["uniformBucketLevelAccess"]
    if access["enabled"]:
        old = before.get("iamConfiguration", {}).get("uniformBucketLevelAccess", {})
        fixed = times.parse(moment) + _UNIFORM_ACCESS_FIXED_AFTER
        access["lockedTime"] = access.get("lockedTime") or old.get("lockedTime") or rfc3339(fixed)
    else:
        access.pop("lockedTime", None)
    return settings


def _stamp(
    settings: dict[str, Any], before: Mapping[str, Any], field: str, time: str, *, by: str, at: str
) -> None:
    if field not in settings:
        return
    old = before.get(field, {})
    same = old.get(by) == settings[field].get(by)
    settings[field] = {**settings[field], time: (old.get(time) if same else None) or at}


def check_retention(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Check a change of a bucket's retention policy. Raises `StorageError` 400, 403."""
    old, new = before.get("retentionPolicy", {}), after.get("retentionPolicy", {})
    if not old.get("isLocked"):
        if new.get("isLocked"):
            raise invalid("retentionPolicy.isLocked can be set by buckets.lockRetentionPolicy only.")
        return
    if not new or int(new["retentionPeriod"]) < int(old["retentionPeriod"]):
        what = "reduce retention duration of" if new else "remove"
        raise StorageError(403, "forbidden", f"Cannot {what} a locked Retention Policy for bucket '{name}'.")
    if not new.get("isLocked"):
        raise StorageError(403, "forbidden", f"Cannot unlock the Retention Policy of bucket '{name}'.")


def check_together(settings: Mapping[str, Any], *, dual_region: bool) -> None:
    """Check fields that depend on each other. Raises `StorageError` 400."""
    if settings.get("rpo") == "ASYNC_TURBO" and not dual_region:
        raise invalid("rpo ASYNC_TURBO is for dual-region buckets only.")
    if "customPlacementConfig" in settings and settings["location"] not in ("US", "EU", "ASIA"):
        raise invalid(
            "customPlacementConfig requires the location US, EU or ASIA, in which its two regions are, "
            f"not {settings['location']}."
        )
