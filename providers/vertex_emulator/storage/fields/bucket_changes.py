"""What follows from a change of a bucket's settings: times that are stamped, and changes that are refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.storage.errors import StorageError, invalid

_UNIFORM_ACCESS_FIXED_AFTER = timedelta(days=90)


def stamped(settings: dict[str, Any], before: Mapping[str, Any], moment: str) -> dict[str, Any]:
    """`settings` with the times since when they are as they are; `before` has those of what was so before."""
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
        fixed = datetime.fromisoformat(moment.replace("Z", "+00:00")) + _UNIFORM_ACCESS_FIXED_AFTER
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
    """Whether a bucket's retention policy may become another. Raises `StorageError` 400, 403."""
    old, new = before.get("retentionPolicy", {}), after.get("retentionPolicy", {})
    if not old.get("isLocked"):
        if new.get("isLocked"):
            raise invalid("retentionPolicy.isLocked is set by buckets.lockRetentionPolicy alone.")
        return
    if not new or int(new["retentionPeriod"]) < int(old["retentionPeriod"]):
        what = "reduce retention duration of" if new else "remove"
        raise StorageError(403, "forbidden", f"Cannot {what} a locked Retention Policy for bucket '{name}'.")
    if not new.get("isLocked"):
        raise StorageError(403, "forbidden", f"Cannot unlock the Retention Policy of bucket '{name}'.")


def check_together(settings: Mapping[str, Any], *, dual_region: bool) -> None:
    """Fields that go only with others. Raises `StorageError` 400."""
    if settings.get("rpo") == "ASYNC_TURBO" and not dual_region:
        raise invalid("rpo ASYNC_TURBO is for dual-region buckets alone.")
    if "customPlacementConfig" in settings and settings["location"] not in ("US", "EU", "ASIA"):
        raise invalid(
            "customPlacementConfig goes with the location US, EU or ASIA, in which its two regions lie, "
            f"not with {settings['location']}."
        )
