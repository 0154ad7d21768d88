"""Cleanup policies: their declaration, and the versions that they delete or keep.

A version is deleted if it matches a DELETE policy and no KEEP policy. A version is also kept if an image
index that is kept refers to it, or if it has a tag in a repository with immutable tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Violation

Action = Literal["DELETE", "KEEP"]
TagState = Literal["TAGGED", "UNTAGGED", "ANY"]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """The condition of a policy. All fields have to match; of several prefixes, one.

    Ages are in microseconds.
    """

    tag_state: TagState = "ANY"
    tag_prefixes: tuple[str, ...] = ()
    version_name_prefixes: tuple[str, ...] = ()
    package_name_prefixes: tuple[str, ...] = ()
    older_than: int | None = None
    newer_than: int | None = None


@dataclass(frozen=True, kw_only=True)
class MostRecentVersions:
    """The rule that matches the `keep_count` newest versions of each package.

    Without prefixes, it applies to all packages.
    """

    keep_count: int
    package_name_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One cleanup policy. `MostRecentVersions` is valid only with the action KEEP."""

    id: str
    action: Action
    rule: Condition | MostRecentVersions


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version to decide about.

    `created` is the upload time in microseconds since 1970. `parents` are the names of the indexes in the
    same package that refer to the version.
    """

    package: str
    name: str
    created: int
    tags: tuple[str, ...] = ()
    parents: tuple[str, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A version to delete, and the first policy that deletes it."""

    version: Version
    policy: str


def deletions(
    policies: Iterable[Policy], versions: Sequence[Version], *, now: int, immutable_tags: bool = False
) -> tuple[Deletion, ...]:
    """Return the versions to delete at the time `now`, in the order of `versions`."""
    ordered = sorted(policies, key=lambda policy: policy.id)
    kept: set[tuple[str, str]] = set()
    chosen: dict[tuple[str, str], Deletion] = {}
    for policy in ordered:
        met = _met(policy.rule, versions, now=now)
        if policy.action == "KEEP":
            kept.update(_key(version) for version in met)
        else:
            for version in met:
                chosen.setdefault(_key(version), Deletion(version=version, policy=policy.id))
    for version in versions:
        if _key(version) in kept or (immutable_tags and version.tags):
            chosen.pop(_key(version), None)
    _spare_parts(chosen, {_key(version): version for version in versions})
    return tuple(chosen[_key(version)] for version in versions if _key(version) in chosen)


def _spare_parts(
    chosen: dict[tuple[str, str], Deletion], versions: Mapping[tuple[str, str], Version]
) -> None:
    """Remove from `chosen` all versions to which a kept index refers, directly or through other indexes."""
    while True:
        spared = [
            key
            for key, deletion in chosen.items()
            if any(
                (key[0], parent) in versions and (key[0], parent) not in chosen
                for parent in deletion.version.parents
            )
        ]
        if not spared:
            return
        for key in spared:
            del chosen[key]


def _met(rule: Condition | MostRecentVersions, versions: Sequence[Version], *, now: int) -> list[Version]:
    if isinstance(rule, Condition):
        return [version for version in versions if _holds(rule, version, now=now)]
    packages: dict[str, list[Version]] = {}
    for version in versions:
        if _begins(version.package, rule.package_name_prefixes):
            packages.setdefault(version.package, []).append(version)
    newest = (
        sorted(found, key=lambda version: (-version.created, version.name)) for found in packages.values()
    )
    return [version for found in newest for version in found[: rule.keep_count]]


def _holds(rule: Condition, version: Version, *, now: int) -> bool:
    age = now - version.created
    return (
        (rule.tag_state == "ANY" or (rule.tag_state == "TAGGED") == bool(version.tags))
        and (not rule.tag_prefixes or any(tag.startswith(rule.tag_prefixes) for tag in version.tags))
        and _begins(version.name, rule.version_name_prefixes)
        and _begins(version.package, rule.package_name_prefixes)
        and (rule.older_than is None or age > rule.older_than)
        and (rule.newer_than is None or age < rule.newer_than)
    )


def _begins(text: str, prefixes: tuple[str, ...]) -> bool:
    return not prefixes or text.startswith(prefixes)


def _key(version: Version) -> tuple[str, str]:
    return version.package, version.name


MAX_POLICIES = 10
MAX_ID = 127

_DELETE, _KEEP = 1, 2
_TAG_STATES: Mapping[int, Any] = {0: "ANY", 1: "TAGGED", 2: "UNTAGGED", 3: "ANY"}


def problems(policies: Mapping[str, Any]) -> Iterator[Violation]:
    """Check the `cleanup_policies` of a repository and yield each violation."""
    path = "repository.cleanup_policies"
    if len(policies) > MAX_POLICIES:
        yield Violation(path, f"There are {len(policies)} policies; at most {MAX_POLICIES} are allowed.")
    for key, policy in sorted(policies.items()):
        at = f"{path}[{key}]"
        if not 0 < len(key) <= MAX_ID:
            yield Violation(at, f"The id of a policy must have 1 to {MAX_ID} characters.")
        if policy.id and policy.id != key:
            yield Violation(
                f"{at}.id", f"The id is {policy.id!r}. Set it to the key {key!r}, or leave it out."
            )
        if policy.action not in (_DELETE, _KEEP):
            yield Violation(f"{at}.action", "The action must be DELETE or KEEP.")
        kind = policy.WhichOneof("condition_type")
        if kind is None:
            yield Violation(at, "A policy needs a condition, or most_recent_versions.")
        elif kind == "condition":
            yield from _condition_problems(policy.condition, f"{at}.condition")
        else:
            yield from _most_recent_problems(policy, f"{at}.most_recent_versions")


def fill_ids(policies: Mapping[str, Any]) -> None:
    """Set the id of each policy to its key, as the service does in its responses."""
    for key, policy in policies.items():
        policy.id = key


def read(policies: Mapping[str, Any]) -> tuple[Policy, ...]:
    """Return the cleanup policies of a stored repository."""
    return tuple(_policy(key, policy) for key, policy in sorted(policies.items()))


def _condition_problems(condition: DynamicMessage, path: str) -> Iterator[Violation]:
    if condition.tag_state not in _TAG_STATES:
        yield Violation(f"{path}.tag_state", "The tag state must be TAGGED, UNTAGGED or ANY.")
    for name in ("older_than", "newer_than"):
        if condition.HasField(name) and getattr(condition, name).ToMicroseconds() < 0:
            yield Violation(f"{path}.{name}", "The age must not be negative.")


def _most_recent_problems(policy: DynamicMessage, path: str) -> Iterator[Violation]:
    if policy.action == _DELETE:
        yield Violation(path, "most_recent_versions is allowed only with the action KEEP.")
    if policy.most_recent_versions.keep_count < 1:
        yield Violation(f"{path}.keep_count", "The number of versions to keep must be 1 or more.")


def _policy(key: str, policy: DynamicMessage) -> Policy:
    rule: Condition | MostRecentVersions
    if policy.WhichOneof("condition_type") == "condition":
        given = policy.condition
        rule = Condition(
            tag_state=_TAG_STATES[given.tag_state],
            tag_prefixes=tuple(given.tag_prefixes),
            version_name_prefixes=tuple(given.version_name_prefixes),
            package_name_prefixes=tuple(given.package_name_prefixes),
            older_than=given.older_than.ToMicroseconds() if given.HasField("older_than") else None,
            newer_than=given.newer_than.ToMicroseconds() if given.HasField("newer_than") else None,
        )
    else:
        rule = MostRecentVersions(
            keep_count=policy.most_recent_versions.keep_count,
            package_name_prefixes=tuple(policy.most_recent_versions.package_name_prefixes),
        )
    return Policy(id=key, action="DELETE" if policy.action == _DELETE else "KEEP", rule=rule)
