"""IAM policies of repositories: kept and given back; whoever has the emulator's token may do everything."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.artifact_registry import names
from vertex_emulator.artifact_registry.parts import Parts
from vertex_emulator.artifact_registry.store import Record
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError, Violation, invalid_fields

_WITH_CONDITIONS = 3
_MAX_MEMBERS = 1500
_ROLE = re.compile(r"(?:(?:projects|organizations)/[^/]+/)?roles/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers|(?:deleted:)?(?:user|serviceAccount|group|domain|principal|principalSet|"
    r"projectOwner|projectEditor|projectViewer):.+"
)
_PERMISSION = re.compile(r"[a-z]+(?:\.[A-Za-z]+)+")
_PATHS = ("bindings", "etag", "version", "audit_configs")


class IamPolicies:
    """Get, set, test."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def get(self, request: Any) -> Message:
        """GetIamPolicy."""
        record = self._parts.record(names.parse_repository(request.resource))
        found: Message = self._current(record)
        return found

    def set(self, request: Any) -> Message:
        """SetIamPolicy: refused where the etag shows that the policy has changed since it was read."""
        name = names.parse_repository(request.resource)
        paths = list(request.update_mask.paths)
        if unknown := [path for path in paths if path not in _PATHS]:
            raise RpcError("INVALID_ARGUMENT", f"update_mask names {unknown[0]!r}, which a policy has not.")
        if faults := list(problems(request.policy)):
            raise invalid_fields(faults)
        with self._parts.contents.transaction():
            record = self._parts.record(name)
            current = self._current(record)
            if request.policy.etag and request.policy.etag != current.etag:
                raise RpcError(
                    "ABORTED",
                    "There were concurrent policy changes. Please retry the whole read-modify-write with "
                    "exponential backoff.",
                )
            policy = descriptors.message("google.iam.v1.Policy")
            policy.CopyFrom(request.policy)
            if "bindings" not in (paths or _PATHS):
                policy.ClearField("bindings")
                policy.bindings.extend(current.bindings)
            policy.ClearField("etag")
            policy.version = policy.version or 1
            self._parts.store.set_iam_policy(record.name, policy)
        found: Message = _with_etag(policy)
        return found

    def test(self, request: Any) -> Message:
        """TestIamPermissions."""
        self._parts.record(names.parse_repository(request.resource))
        if wrong := [each for each in request.permissions if not _PERMISSION.fullmatch(each)]:
            raise RpcError("INVALID_ARGUMENT", f"{wrong[0]!r} is not a permission.")
        answer = descriptors.message("google.iam.v1.TestIamPermissionsResponse")
        answer.permissions.extend(
            each for each in request.permissions if each.startswith("artifactregistry.")
        )
        found: Message = answer
        return found

    def _current(self, record: Record) -> Any:
        return _with_etag(self._parts.store.iam_policy(record.name))


def _with_etag(policy: Any) -> Any:
    digest = hashlib.sha256(policy.SerializeToString(deterministic=True)).digest()[:8]
    policy.etag = base64.b64encode(digest)
    return policy


def problems(policy: Any) -> Iterator[Violation]:
    """What is wrong with a policy."""
    if policy.version not in (0, 1, _WITH_CONDITIONS):
        yield Violation(
            "policy.version", f"There is no version {policy.version}; use 1, or 3 for conditions."
        )
    if policy.audit_configs:
        yield Violation("policy.audit_configs", "The policy of a repository has none.")
    if sum(len(binding.members) for binding in policy.bindings) > _MAX_MEMBERS:
        yield Violation("policy.bindings", f"There are more than {_MAX_MEMBERS} members.")
    for index, binding in enumerate(policy.bindings):
        path = f"policy.bindings[{index}]"
        if not _ROLE.fullmatch(binding.role):
            what = f"{binding.role[:200]!r} is not a role, such as roles/artifactregistry.reader."
            yield Violation(f"{path}.role", what)
        for member in binding.members:
            if not _MEMBER.fullmatch(member):
                what = (
                    f"{member[:200]!r} is not a member, such as user:EMAIL, serviceAccount:EMAIL or allUsers."
                )
                yield Violation(f"{path}.members", what)
        if binding.HasField("condition") and policy.version != _WITH_CONDITIONS:
            yield Violation(f"{path}.condition", "A condition needs a policy of version 3.")
