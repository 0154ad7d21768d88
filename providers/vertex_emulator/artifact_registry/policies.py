"""Cleanup policies in the API's messages: what the service demands of them, and as `cleanup` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vertex_emulator.artifact_registry.cleanup import Condition, MostRecentVersions, Policy
from vertex_emulator.rpc.methods import Violation

MAX_POLICIES = 10
MAX_ID = 127

_DELETE, _KEEP = 1, 2
_TAG_STATES: Mapping[int, Any] = {0: "ANY", 1: "TAGGED", 2: "UNTAGGED", 3: "ANY"}


def problems(policies: Mapping[str, Any]) -> Iterator[Violation]:
    """What is wrong with the `cleanup_policies` of a repository."""
    path = "repository.cleanup_policies"
    if len(policies) > MAX_POLICIES:
        yield Violation(path, f"There are {len(policies)} policies; the most is {MAX_POLICIES}.")
    for key, policy in sorted(policies.items()):
        at = f"{path}[{key}]"
        if not 0 < len(key) <= MAX_ID:
            yield Violation(at, f"The id of a policy has 1 to {MAX_ID} characters.")
        if policy.id and policy.id != key:
            yield Violation(
                f"{at}.id", f"The id is {policy.id!r}; it has to be the key {key!r}, or left out."
            )
        if policy.action not in (_DELETE, _KEEP):
            yield Violation(f"{at}.action", "The action has to be DELETE or KEEP.")
        kind = policy.WhichOneof("condition_type")
        if kind is None:
            yield Violation(at, "A policy needs a condition, or most_recent_versions.")
        elif kind == "condition":
            yield from _condition_problems(policy.condition, f"{at}.condition")
        else:
            yield from _most_recent_problems(policy, f"{at}.most_recent_versions")


def fill_ids(policies: Mapping[str, Any]) -> None:
    """The service answers with the key as the id."""
    for key, policy in policies.items():
        policy.id = key


def read(policies: Mapping[str, Any]) -> tuple[Policy, ...]:
    """The policies of a stored repository."""
    return tuple(_policy(key, policy) for key, policy in sorted(policies.items()))


def _condition_problems(condition: Any, path: str) -> Iterator[Violation]:
    if condition.tag_state not in _TAG_STATES:
        yield Violation(f"{path}.tag_state", "The tag state has to be TAGGED, UNTAGGED or ANY.")
    for name in ("older_than", "newer_than"):
        if condition.HasField(name) and getattr(condition, name).ToMicroseconds() < 0:
            yield Violation(f"{path}.{name}", "The age must not be negative.")


def _most_recent_problems(policy: Any, path: str) -> Iterator[Violation]:
    if policy.action == _DELETE:
        yield Violation(path, "Most recent versions go with the action KEEP only.")
    if policy.most_recent_versions.keep_count < 1:
        yield Violation(f"{path}.keep_count", "The number of versions to keep has to be 1 or more.")


def _policy(key: str, policy: Any) -> Policy:
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
