"""The checks of a repository for images, before anything is sent to Artifact Registry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pulumi_vertex_training.kinds.image_repository.spec import (
    CleanupCondition,
    CleanupPolicy,
    RepositorySpec,
    normalise,
)
from vertex_training.catalog.regions import REGIONS, is_misspelled
from vertex_training.fields import durations
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.labels import MAX_PROVIDER_LABELS, label_problems
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, shown

MAX_POLICIES = 10
MULTI_REGIONS = ("asia", "europe", "us")

_FORMATS = ("MAVEN", "NPM", "APT", "YUM", "PYTHON", "KFP", "GO", "GENERIC", "RUBY")
_MODES = ("VIRTUAL_REPOSITORY", "REMOTE_REPOSITORY", "VIRTUAL", "REMOTE")
_API = "Artifact Registry API, Repository"
_CLEANUP = 'Artifact Registry documentation, "Configure cleanup policies"'

REPOSITORY_NAME = Rule(
    name="repository-name",
    says="a repository's name has 1 to 63 lowercase letters, digits and dashes and begins with a letter",
    source='Artifact Registry documentation, "Create repositories"',
)
REPOSITORY_LOCATION = Rule(
    name="repository-location",
    says="a repository is in a region, or in one of the multi-regions asia, europe and us",
    source='Artifact Registry documentation, "Repository locations"',
)
REPOSITORY_FORMAT = Rule(
    name="repository-format",
    says="a repository for images has the format DOCKER",
    source=f"{_API}.format; ours: repositories of other formats hold no images",
)
REPOSITORY_MODE = Rule(
    name="repository-mode",
    says="a repository for images has the mode STANDARD_REPOSITORY",
    source=f"{_API}.mode; ours: repositories of other modes accept no pushes",
)
REPOSITORY_KEY = Rule(
    name="repository-kms-key",
    says="a key is given by its full name, and is in the repository's location",
    source=f'{_API}.kms_key_name; "Enable customer-managed encryption keys"',
)
CLEANUP_COUNT = Rule(
    name="cleanup-policies",
    says=f"a repository has at most {MAX_POLICIES} cleanup policies",
    source='Artifact Registry documentation, "Cleanup policy overview"',
)
CLEANUP_ID = Rule(
    name="cleanup-policy-id",
    says="a cleanup policy has an id that no other policy of its repository has",
    source=f"{_API}.cleanup_policies",
)
CLEANUP_CHOICE = Rule(
    name="cleanup-policy-choice",
    says="a cleanup policy has either a condition or most_recent_versions",
    source=_CLEANUP,
)
CLEANUP_RECENT = Rule(
    name="cleanup-most-recent",
    says="most_recent_versions belongs to a policy with the action KEEP",
    source="Artifact Registry API, CleanupPolicy.most_recent_versions",
)
CLEANUP_KEEP_COUNT = Rule(
    name="cleanup-keep-count", says="a policy keeps at least 1 version of each image", source=_CLEANUP
)
CLEANUP_AGE = Rule(
    name="cleanup-age", says="an age is a positive duration, in seconds or days", source=_CLEANUP
)
_AGE = "write it in days or seconds, for example 30d or 2592000s"
CLEANUP_TAGS = Rule(
    name="cleanup-tag-prefixes",
    says="tag_prefixes do not go with the tag_state UNTAGGED",
    source="ours: an untagged version has no tag with a prefix, so nothing would match",
)
CLEANUP_EVERYTHING = Rule(
    name="cleanup-everything",
    says="a policy that deletes has a condition",
    source="ours: without one it deletes every image, also those that jobs are about to run",
    level="warning",
)
CLEANUP_ONLY_KEEPS = Rule(
    name="cleanup-only-keeps",
    says="policies that keep go with one that deletes",
    source='Artifact Registry documentation, "Cleanup policy overview"',
    level="warning",
)

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_REGION = re.compile(r"[a-z]+-[a-z]+\d+")
_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def read(value: object) -> Decoded[RepositorySpec]:
    """Decode, normalise and check a declared repository, and collect every problem with its path."""
    return decode(RepositorySpec, value).then(normalise, validate)


def validate(spec: RepositorySpec) -> list[Problem]:
    """Return every problem of a repository, in the order of its fields."""
    return [
        *_name_problems(spec.repository_id),
        *_location_problems(spec.location.lower()),
        *_kind_problems(spec.format.upper(), spec.mode.upper()),
        *label_problems(spec.labels, spare=MAX_PROVIDER_LABELS),
        *_key_problems(spec.kms_key_name, spec.location.lower()),
        *_policies_problems(spec.cleanup_policies),
    ]


def _name_problems(name: str) -> Iterator[Problem]:
    if _NAME.fullmatch(name):
        return
    better = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")[:63].rstrip("-")
    example = f"; for example {better}" if better and better != name else ""
    yield REPOSITORY_NAME.broken(
        "repository_id",
        f"{shown(name)} cannot be a repository's name; it has 1 to 63 lowercase letters, digits and dashes, "
        f"begins with a letter and ends with a letter or digit{example}",
    )


def _location_problems(location: str) -> Iterator[Problem]:
    if (_REGION.fullmatch(location) and not is_misspelled(location)) or location in MULTI_REGIONS:
        return
    guess = (
        nearest(location, (*REGIONS, *MULTI_REGIONS)) or "give the region of the jobs, such as us-central1"
    )
    yield REPOSITORY_LOCATION.broken(
        "location", f"{shown(location)} is not a location of repositories; {guess}"
    )


def _kind_problems(kind: str, mode: str) -> Iterator[Problem]:
    if kind in _FORMATS:
        yield REPOSITORY_FORMAT.broken(
            "format",
            f"a repository of the format {kind} holds no images. Leave it out, or use "
            "pulumi_gcp.artifactregistry.Repository",
        )
    elif kind not in ("", "DOCKER"):
        yield REPOSITORY_FORMAT.broken(
            "format", f"{shown(kind)} is not a format. Leave it out: the default is DOCKER"
        )
    if mode in ("", "STANDARD", "STANDARD_REPOSITORY"):
        return
    if mode in _MODES:
        yield REPOSITORY_MODE.broken(
            "mode",
            f"a repository of the mode {mode} accepts no pushes. Declare it with "
            "pulumi_gcp.artifactregistry.Repository, and pull from it: base_image of a TrainingImage can be "
            "any image name",
        )
    else:
        yield REPOSITORY_MODE.broken(
            "mode", f"{shown(mode)} is not a mode. Leave it out: the default is STANDARD_REPOSITORY"
        )


def _key_problems(key: str | None, location: str) -> Iterator[Problem]:
    if not key:
        return
    match = _KEY.fullmatch(key)
    if match is None:
        yield REPOSITORY_KEY.broken(
            "kms_key_name",
            f"{shown(key, longest=200)} is not the full name of a key; write "
            "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        )
    elif match[1] != location:
        yield REPOSITORY_KEY.broken(
            "kms_key_name",
            f"the key is in {match[1]}, but the repository is in {location}. Use a key in {location}",
            rests_on=("kms_key_name", "location"),
        )


def _policies_problems(policies: tuple[CleanupPolicy, ...]) -> Iterator[Problem]:
    if len(policies) > MAX_POLICIES:
        yield CLEANUP_COUNT.broken(
            "cleanup_policies",
            f"{len(policies)} policies; a repository has at most {MAX_POLICIES}. Merge some of them",
            rests_on=("cleanup_policies",),
        )
    counts = Counter(policy.id for policy in policies)
    for i, policy in enumerate(policies):
        path = f"cleanup_policies[{i}]"
        if not policy.id:
            yield CLEANUP_ID.broken(f"{path}.id", "'' is not an id. Give the policy an id")
        elif counts[policy.id] > 1:
            ids = tuple(f"cleanup_policies[{j}].id" for j in range(len(policies)))
            yield CLEANUP_ID.broken(
                f"{path}.id",
                f"{shown(policy.id)} is the id of {counts[policy.id]} policies. Give each policy its own id",
                rests_on=ids,
            )
        yield from _policy_problems(policy, path)
    if policies and all(policy.action == "KEEP" for policy in policies):
        yield CLEANUP_ONLY_KEEPS.broken(
            "cleanup_policies",
            f"{len(policies)} with the action KEEP and none with DELETE, so they have no effect. Add one "
            "with DELETE",
            rests_on=("cleanup_policies", *(f"cleanup_policies[{i}].action" for i in range(len(policies)))),
        )


def _policy_problems(policy: CleanupPolicy, path: str) -> Iterator[Problem]:
    recent, condition = policy.most_recent_versions, policy.condition
    both = (f"{path}.condition", f"{path}.most_recent_versions")
    if recent is not None and condition is not None:
        yield CLEANUP_CHOICE.broken(
            path, "has both condition and most_recent_versions. Split it into two policies", rests_on=both
        )
    elif recent is None and condition is None:
        if policy.action == "KEEP":
            yield CLEANUP_CHOICE.broken(
                path, "has neither condition nor most_recent_versions. Set one of them", rests_on=both
            )
        else:
            yield _everything(path, both)
    if recent is not None:
        if policy.action == "DELETE":
            yield CLEANUP_RECENT.broken(
                f"{path}.most_recent_versions",
                "does not go with the action DELETE. Keep the newest versions with KEEP, and delete the "
                "others with a second policy",
                rests_on=(f"{path}.action", f"{path}.most_recent_versions"),
            )
        if recent.keep_count < 1:
            yield CLEANUP_KEEP_COUNT.broken(
                f"{path}.most_recent_versions.keep_count",
                f"{recent.keep_count} versions; keep at least 1, or leave the policy out",
            )
    if condition is not None:
        if condition == CleanupCondition() and policy.action == "DELETE":
            yield _everything(path, (f"{path}.condition.*", f"{path}.action"))
        yield from _condition_problems(condition, f"{path}.condition")


def _everything(path: str, rests_on: tuple[str, ...]) -> Problem:
    return CLEANUP_EVERYTHING.broken(
        path,
        "deletes every image of the repository about a day after it is pushed. Give a condition, for "
        "example older_than",
        rests_on=rests_on,
    )


def _condition_problems(condition: CleanupCondition, path: str) -> Iterator[Problem]:
    if condition.tag_prefixes and condition.tag_state == "UNTAGGED":
        yield CLEANUP_TAGS.broken(
            f"{path}.tag_prefixes",
            "does not go with tag_state UNTAGGED, because nothing would match. Use TAGGED, or leave one "
            "of the two out",
            rests_on=(f"{path}.tag_prefixes", f"{path}.tag_state"),
        )
    for name in ("older_than", "newer_than"):
        age = getattr(condition, name)
        if age is not None and (fault := durations.problem_with(durations.in_seconds(age), remedy=_AGE)):
            yield CLEANUP_AGE.broken(f"{path}.{name}", fault)
