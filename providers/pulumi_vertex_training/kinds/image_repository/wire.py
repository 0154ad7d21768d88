"""A repository as Artifact Registry's JSON writes it, and what an update has to send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.kinds.image_repository.spec import (
    CleanupCondition,
    CleanupPolicy,
    RepositorySpec,
    normalise,
)
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.wire import from_json, to_json

_UNSET = ("", None, "TAG_STATE_UNSPECIFIED", "MODE_UNSPECIFIED", "ENABLEMENT_CONFIG_UNSPECIFIED")


def to_wire(spec: RepositorySpec, *, marks: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The repository's settings in the API's JSON; `marks` are labels of ours beside those declared."""
    normal = normalise(spec)
    fixed = {"format": normal.format, "mode": normal.mode, "kmsKeyName": normal.kms_key_name}
    body = {**fixed, **settings(normal, marks=marks)}
    return {key: value for key, value in body.items() if value}


def settings(spec: RepositorySpec, *, marks: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What can change in place, all of it; an empty value is how the API takes something away."""
    return {
        "description": spec.description,
        "labels": {**spec.labels, **(marks or {})},
        "cleanupPolicies": {policy.id: _policy(policy) for policy in spec.cleanup_policies},
        "cleanupPolicyDryRun": spec.cleanup_policy_dry_run,
        "dockerConfig": {"immutableTags": spec.immutable_tags},
        "vulnerabilityScanningConfig": {"enablementConfig": spec.vulnerability_scanning},
    }


def patch(
    old: RepositorySpec, new: RepositorySpec, *, marks: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The settings that an update sends to make `new` of `old`; their keys are its mask. Empty for none.

    Raises ValueError when something differs that cannot change: that is another repository.
    """
    before, after = normalise(old), normalise(new)
    for name in ("name", "location", "format", "mode", "kms_key_name"):
        if getattr(before, name) != getattr(after, name):
            raise ValueError(f"a repository cannot change its {name}")
    was, becomes = settings(before), settings(after)
    body = {key: value for key, value in becomes.items() if value != was[key]}
    return {**body, "labels": {**body["labels"], **(marks or {})}} if "labels" in body else body


def from_wire(repository: Mapping[str, Any], *, force_destroy: bool = False) -> RepositorySpec:
    """The spec, in normal form, of a repository in the API's JSON, without labels that are ours.

    Raises ValueError for what is no repository.
    """
    parts = str(repository.get("name", "")).split("/")
    if len(parts) != 6:
        raise ValueError(f"{repository.get('name')!r} is no name of a repository")
    labels = {
        key: value for key, value in (repository.get("labels") or {}).items() if not is_provider_label(key)
    }
    scanning = _part(repository, "vulnerabilityScanningConfig").get("enablementConfig")
    flat = {
        "name": parts[5],
        "location": parts[3],
        "format": repository.get("format"),
        "mode": _known(repository.get("mode"), "STANDARD_REPOSITORY"),
        "description": repository.get("description"),
        "labels": labels,
        "kms_key_name": repository.get("kmsKeyName") or None,
        "cleanup_policies": [
            _read_policy(key, value) for key, value in (repository.get("cleanupPolicies") or {}).items()
        ],
        "cleanup_policy_dry_run": bool(repository.get("cleanupPolicyDryRun")),
        "immutable_tags": bool(_part(repository, "dockerConfig").get("immutableTags")),
        "vulnerability_scanning": _known(scanning, "INHERITED"),
        "force_destroy": force_destroy,
    }
    return normalise(from_json(RepositorySpec, {key: value for key, value in flat.items() if value}))


def _policy(policy: CleanupPolicy) -> dict[str, Any]:
    plain = to_json(policy)
    if plain.get("condition", {}).get("tagState") == "ANY" and len(plain["condition"]) > 1:
        del plain["condition"]["tagState"]
    return plain


def _read_policy(key: str, value: Mapping[str, Any]) -> dict[str, Any]:
    condition = value.get("condition")
    plain: dict[str, Any] = {"id": value.get("id") or key, "action": value.get("action")}
    if condition:
        known = {name: item for name, item in condition.items() if item not in _UNSET}
        if known and known != {"tagState": CleanupCondition().tag_state}:
            plain["condition"] = known
    if value.get("mostRecentVersions"):
        plain["mostRecentVersions"] = value["mostRecentVersions"]
    return plain


def _known(value: object, default: str) -> object:
    return default if value in _UNSET else value


def _part(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = message.get(name)
    return part if isinstance(part, Mapping) else {}
