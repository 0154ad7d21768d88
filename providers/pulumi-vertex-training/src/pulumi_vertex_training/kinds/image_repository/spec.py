"""The spec of a repository for container images: its normal form, its JSON, and the effect of each change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar

from vertex_training.catalog import api
from vertex_training.fields.document import nested
from vertex_training.fields.durations import in_seconds
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.wire import from_json, to_json

TagState = Literal["ANY", "TAGGED", "UNTAGGED"]

HOST_SUFFIX = "-docker.pkg.dev"


@dataclass(frozen=True, kw_only=True)
class CleanupCondition:
    """Condition of a cleanup policy: a version has to match all fields that are set.

    `older_than` and `newer_than` are durations since a version was pushed: "2592000s", or "30d" as in
    gcloud's policy files.
    """

    tag_state: TagState = "ANY"
    """ANY, TAGGED or UNTAGGED."""
    tag_prefixes: tuple[str, ...] = ()
    """Prefixes of tags; one must match."""
    version_name_prefixes: tuple[str, ...] = ()
    """Prefixes of version names (digests); one must match."""
    package_name_prefixes: tuple[str, ...] = ()
    """Prefixes of image names; one must match."""
    older_than: str | None = None
    """Smallest time since the version was pushed, such as "30d" or "2592000s"."""
    newer_than: str | None = None
    """Largest time since the version was pushed, such as "30d" or "2592000s"."""


@dataclass(frozen=True, kw_only=True)
class MostRecentVersions:
    """The `keep_count` newest versions of each image."""

    keep_count: int
    """Number of versions of each image to keep."""
    package_name_prefixes: tuple[str, ...] = ()
    """Prefixes of image names. Default: all images."""


@dataclass(frozen=True, kw_only=True)
class CleanupPolicy:
    """Policy by which the service deletes or keeps versions. `id` is unique in the repository."""

    id: str
    """Id of the policy, unique in the repository."""
    action: Literal["DELETE", "KEEP"]
    """DELETE or KEEP."""
    condition: CleanupCondition | None = None
    """Versions to delete or keep. Give this or `most_recent_versions`."""
    most_recent_versions: MostRecentVersions | None = None
    """Newest versions of each image, only for KEEP."""


@dataclass(frozen=True, kw_only=True)
class DockerConfig:
    """Settings of images."""

    immutable_tags: bool = False
    """Forbid moving or removing tags."""


@dataclass(frozen=True, kw_only=True)
class VulnerabilityScanningConfig:
    """Scanning of images for vulnerabilities."""

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["Repository.VulnerabilityScanningConfig"]

    enablement_config: Literal["INHERITED", "DISABLED"] = "INHERITED"
    """`INHERITED` from the project, or `DISABLED`."""


@dataclass(frozen=True, kw_only=True)
class RepositorySpec:
    """A repository that images are pushed to.

    `repository_id` is the last part of its full name. The API has no `force_destroy`: it deletes the images
    together with the repository.
    """

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset(
        {"maven_config", "remote_repository_config", "virtual_repository_config"}
    )
    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["Repository"]

    repository_id: str
    """Id of the repository. Default: see docs/guides/programs/previews.md#ids.
    """
    location: str
    """Location of the repository. Default: the stack's location."""
    format: str = "DOCKER"
    """Only DOCKER: repositories of other formats hold no images."""
    mode: str = "STANDARD_REPOSITORY"
    """Only STANDARD_REPOSITORY: repositories of other modes accept no pushes."""
    description: str = ""
    """Description of the repository."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the repository."""
    kms_key_name: str | None = None
    """Full name of the encryption key, in the repository's location."""
    cleanup_policies: tuple[CleanupPolicy, ...] = ()
    """Policies that delete or keep versions, such as `{"id": "old", "action": "DELETE", "condition":
    {"older_than": "30d"}}` or `{"id": "new", "action": "KEEP", "most_recent_versions": {"keep_count": 5}}`.
    """
    cleanup_policy_dry_run: bool = False
    """Only log what the policies would delete."""
    docker_config: DockerConfig | None = None
    """Settings of images, such as `{"immutable_tags": True}`."""
    vulnerability_scanning_config: VulnerabilityScanningConfig | None = None
    """Scanning of images, such as `{"enablement_config": "DISABLED"}`."""
    force_destroy: bool = False
    """Delete the images together with the repository. By default, a repository with images is not deleted."""


Repository = TypeVar("Repository", bound=RepositorySpec)

_IN_PLACE = FieldEffect(effect=Effect.UPDATE, reason="a repository's settings can change in place")
_POLICIES = FieldEffect(effect=Effect.UPDATE, reason="a repository's cleanup policies can change in place")
_SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")

EFFECTS: FieldTable = MappingProxyType(
    {
        "repository_id": FieldEffect(effect=Effect.REPLACE, reason="a repository cannot be renamed"),
        "location": FieldEffect(effect=Effect.REPLACE, reason="a repository cannot move"),
        "format": FieldEffect(effect=Effect.REPLACE, reason="a repository keeps its format"),
        "mode": FieldEffect(effect=Effect.REPLACE, reason="a repository keeps its mode"),
        "kms_key_name": FieldEffect(
            effect=Effect.REPLACE, reason="the key of a repository cannot change once it exists"
        ),
        "description": _IN_PLACE,
        "labels": _IN_PLACE,
        "cleanup_policies[].id": _POLICIES,
        "cleanup_policies[].action": _POLICIES,
        "cleanup_policies[].condition.tag_state": _POLICIES,
        "cleanup_policies[].condition.tag_prefixes": _POLICIES,
        "cleanup_policies[].condition.version_name_prefixes": _POLICIES,
        "cleanup_policies[].condition.package_name_prefixes": _POLICIES,
        "cleanup_policies[].condition.older_than": _POLICIES,
        "cleanup_policies[].condition.newer_than": _POLICIES,
        "cleanup_policies[].most_recent_versions.keep_count": _POLICIES,
        "cleanup_policies[].most_recent_versions.package_name_prefixes": _POLICIES,
        "cleanup_policy_dry_run": _IN_PLACE,
        "docker_config.immutable_tags": _IN_PLACE,
        "vulnerability_scanning_config.enablement_config": _IN_PLACE,
        "force_destroy": FieldEffect(
            effect=Effect.UPDATE, reason="only the provider uses it; the repository does not have it"
        ),
        **dict.fromkeys(sorted(RepositorySpec.SERVER_OWNED), _SERVICE),
        **{
            f"vulnerability_scanning_config.{name}": _SERVICE
            for name in sorted(VulnerabilityScanningConfig.SERVER_OWNED)
        },
    }
)


def registry_host(location: str) -> str:
    """Return the registry host of a location."""
    return f"{location}{HOST_SUFFIX}"


def url(project: str, location: str, name: str) -> str:
    """Return the prefix of the image names of a repository: HOST/PROJECT/NAME.

    In a domain-scoped project ("example.com:web") the colon becomes a slash (Artifact Registry documentation,
    "Repository and image names").
    """
    return f"{registry_host(location)}/{project.replace(':', '/')}/{name}"


def full_name(project: str, location: str, name: str) -> str:
    """Return the repository's name in the API."""
    return f"projects/{project}/locations/{location}/repositories/{name}"


def normalise(spec: Repository) -> Repository:
    """Return the normal form: enums in upper case, durations in seconds, policies sorted by id."""
    mode = spec.mode.upper()
    return replace(
        spec,
        location=spec.location.lower(),
        format=spec.format.upper() or "DOCKER",
        mode="STANDARD_REPOSITORY" if mode in ("", "STANDARD") else mode,
        kms_key_name=spec.kms_key_name or None,
        docker_config=None if spec.docker_config == DockerConfig() else spec.docker_config,
        vulnerability_scanning_config=None
        if spec.vulnerability_scanning_config == VulnerabilityScanningConfig()
        else spec.vulnerability_scanning_config,
        cleanup_policies=tuple(sorted(map(_normal_policy, spec.cleanup_policies), key=lambda one: one.id)),
    )


def _normal_policy(policy: CleanupPolicy) -> CleanupPolicy:
    condition = policy.condition
    if condition is None or condition == CleanupCondition():
        return replace(
            policy, condition=None
        )  # the service drops an empty condition, which matches every version
    return replace(
        policy,
        condition=replace(
            condition,
            older_than=in_seconds(condition.older_than) if condition.older_than else None,
            newer_than=in_seconds(condition.newer_than) if condition.newer_than else None,
        ),
    )


_UNSET = ("", None, "TAG_STATE_UNSPECIFIED", "MODE_UNSPECIFIED", "ENABLEMENT_CONFIG_UNSPECIFIED")


def to_wire(spec: RepositorySpec, *, ownership_labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the repository in the API's JSON; `ownership_labels` are added to the declared labels."""
    normal = normalise(spec)
    fixed = {"format": normal.format, "mode": normal.mode, "kmsKeyName": normal.kms_key_name}
    body = {**fixed, **settings(normal, ownership_labels=ownership_labels)}
    return {key: value for key, value in body.items() if value}


def settings(spec: RepositorySpec, *, ownership_labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return all settings that can change in place; with an empty value, the API removes a setting."""
    return {
        "description": spec.description,
        "labels": {**spec.labels, **(ownership_labels or {})},
        "cleanupPolicies": {policy.id: _policy(policy) for policy in spec.cleanup_policies},
        "cleanupPolicyDryRun": spec.cleanup_policy_dry_run,
        "dockerConfig": {"immutableTags": (spec.docker_config or DockerConfig()).immutable_tags},
        "vulnerabilityScanningConfig": {
            "enablementConfig": (
                spec.vulnerability_scanning_config or VulnerabilityScanningConfig()
            ).enablement_config
        },
    }


def patch(
    old: RepositorySpec, new: RepositorySpec, *, ownership_labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings that an update from `old` to `new` sends; their keys are its mask.

    The result is empty if nothing changes. Raises ValueError if a field differs that cannot change in place.
    """
    before, after = normalise(old), normalise(new)
    for name in ("repository_id", "location", "format", "mode", "kms_key_name"):
        if getattr(before, name) != getattr(after, name):
            raise ValueError(f"a repository cannot change its {name}")
    was, becomes = settings(before), settings(after)
    body = {key: value for key, value in becomes.items() if value != was[key]}
    return {**body, "labels": {**body["labels"], **(ownership_labels or {})}} if "labels" in body else body


def from_wire(repository: Mapping[str, Any], *, force_destroy: bool = False) -> RepositorySpec:
    """Return the spec, in normal form, of a repository in the API's JSON, without ownership labels.

    Raises ValueError if `repository` is not a repository.
    """
    parts = str(repository.get("name", "")).split("/")
    if len(parts) != 6:
        raise ValueError(f"{repository.get('name')!r} is not the name of a repository")
    labels = {
        key: value for key, value in (repository.get("labels") or {}).items() if not is_provider_label(key)
    }
    scanning = nested(repository, "vulnerabilityScanningConfig").get("enablementConfig")
    flat = {
        "repository_id": parts[5],
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
        "docker_config": {"immutable_tags": bool(nested(repository, "dockerConfig").get("immutableTags"))},
        "vulnerability_scanning_config": {"enablement_config": _known(scanning, "INHERITED")},
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
