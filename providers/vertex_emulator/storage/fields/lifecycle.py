"""Lifecycle rules of a bucket: checked and kept, not carried out ("Object Lifecycle Management")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.storage.errors import invalid
from vertex_emulator.storage.fields import checks as fields

MAX_RULES = 100

_CONDITIONS: Mapping[str, fields.Check] = {
    "age": fields.whole,
    "createdBefore": fields.date,
    "customTimeBefore": fields.date,
    "daysSinceCustomTime": fields.whole,
    "daysSinceNoncurrentTime": fields.whole,
    "isLive": fields.boolean,
    "matchesPrefix": fields.texts,
    "matchesStorageClass": fields.texts,
    "matchesSuffix": fields.texts,
    "noncurrentTimeBefore": fields.date,
    "numNewerVersions": fields.whole,
}
_ACTION: Mapping[str, fields.Check] = {
    "type": fields.one_of("AbortIncompleteMultipartUpload", "Delete", "SetStorageClass"),
    "storageClass": fields.storage_class,
}
_WITH_ABORT = frozenset({"age", "matchesPrefix", "matchesSuffix"})


def check(path: str, value: Any) -> dict[str, Any] | None:
    """The normal form of a bucket's `lifecycle`; None without rules. Raises `StorageError` 400."""
    rules = fields.record(path, value, {"rule": _rules}).get("rule", [])
    return {"rule": rules} if rules else None


def _rules(path: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise invalid(f"{path} has to be a list.")
    if len(value) > MAX_RULES:
        raise invalid(f"{path} has {len(value)} rules; the most is {MAX_RULES}.")
    return [_rule(f"{path}[{index}]", rule) for index, rule in enumerate(value)]


def _rule(path: str, value: Any) -> dict[str, Any]:
    rule = fields.record(
        path,
        value,
        {
            "action": lambda at, item: fields.record(at, item, _ACTION),
            "condition": lambda at, item: fields.record(at, item, _CONDITIONS),
        },
    )
    action, condition = rule.get("action", {}), rule.get("condition", {})
    kind = action.get("type")
    if kind is None:
        raise invalid(f"{path}.action.type is missing. Say Delete or SetStorageClass.")
    if (kind == "SetStorageClass") != ("storageClass" in action):
        raise invalid(
            f"{path}.action.storageClass goes with the type SetStorageClass, and is needed there; the type "
            f"is {kind}."
        )
    if not condition:
        raise invalid(f"{path}.condition needs at least one condition, such as age.")
    if kind == "AbortIncompleteMultipartUpload" and (other := set(condition) - _WITH_ABORT):
        raise invalid(
            f"{path}.condition.{min(other)} does not go with AbortIncompleteMultipartUpload, which takes "
            f"{', '.join(sorted(_WITH_ABORT))}."
        )
    return {"action": action, "condition": condition}
