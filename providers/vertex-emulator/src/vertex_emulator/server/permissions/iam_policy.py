"""An IAM policy of a resource: its checks, its etag, and its replacement.

Source: IAM documentation, "Policy" and "Method: projects.serviceAccounts.setIamPolicy".
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields

_POLICY = "google.iam.v1.Policy"
_WITH_CONDITIONS = 3
_MAX_MEMBERS = 1500
_FIELDS = ("bindings", "etag", "version", "audit_configs")
_ROLE = re.compile(r"(?:(?:projects|organizations)/[^/]+/)?roles/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers"
    r"|(?:deleted:)?(?:user|serviceAccount|group|domain|principal|principalSet):.+"
)
_MEMBER_BY_ROLE = re.compile(r"(?:deleted:)?project(?:Owner|Editor|Viewer):.+")
_PERMISSION = re.compile(r"[a-z][a-z0-9]*(?:\.[A-Za-z]+)+")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of the policies of a kind of resource.

    `role` and `members` are examples for messages. `no_audits` is the message that refuses `audit_configs`,
    "" if they are allowed. `members_by_role` allows the owners, editors and viewers of a project as members.
    """

    role: str = "roles/storage.objectUser"
    members: str = "serviceAccount:EMAIL"
    no_audits: str = ""
    members_by_role: bool = False


PROJECT = Rules()
ACCOUNT = Rules(no_audits="Only the policy of a project can have audit_configs.")


def empty() -> DynamicMessage:
    """Return a policy without bindings."""
    return descriptors.message(_POLICY)


def read(stored: bytes) -> DynamicMessage:
    """Return a stored policy, with its etag."""
    policy = empty()
    policy.ParseFromString(stored)
    return with_etag(policy)


def with_etag(policy: DynamicMessage) -> DynamicMessage:
    """Set the etag of a policy to a hash of its other fields. Return the policy."""
    policy.ClearField("etag")
    digest = hashlib.sha256(policy.SerializeToString(deterministic=True)).digest()[:8]
    policy.etag = base64.b64encode(digest)
    return policy


def replaced(request: DynamicMessage, current: DynamicMessage) -> DynamicMessage:
    """Return the policy that a SetIamPolicyRequest leads to, without an etag.

    Without `bindings` in its mask the bindings stay. Raises `RpcError` ABORTED if the etag shows that the
    policy has changed since it was read.
    """
    if request.policy.etag and request.policy.etag != current.etag:
        raise RpcError(
            "ABORTED",
            "There were concurrent policy changes. Please retry the whole read-modify-write with "
            "exponential backoff.",
        )
    policy = empty()
    policy.CopyFrom(request.policy)
    if "bindings" not in (request.update_mask.paths or _FIELDS):
        policy.ClearField("bindings")
        policy.bindings.extend(current.bindings)
    policy.ClearField("etag")
    policy.version = policy.version or 1
    return policy


def check_replacement(request: DynamicMessage, rules: Rules) -> None:
    """Check a SetIamPolicyRequest. Raises `RpcError` INVALID_ARGUMENT."""
    if unknown := [path for path in request.update_mask.paths if path not in _FIELDS]:
        raise RpcError("INVALID_ARGUMENT", f"update_mask: a policy has no field {unknown[0]!r}.")
    if faults := list(problems(request.policy, rules)):
        raise invalid_fields(faults)


def check_version(request: DynamicMessage) -> None:
    """Check the version that a GetIamPolicyRequest asks for. Raises `RpcError` INVALID_ARGUMENT."""
    version = request.options.requested_policy_version
    if version not in (0, 1, 2, _WITH_CONDITIONS):
        raise RpcError("INVALID_ARGUMENT", f"There is no policy version {version}. Ask for 3.")


def check_permissions(permissions: Any) -> None:
    """Check the form of the permissions in a request. Raises `RpcError` INVALID_ARGUMENT."""
    for each in permissions:
        if "*" in each:
            raise RpcError("INVALID_ARGUMENT", f"Permission {each} is not valid: wildcards are not allowed.")
        if not _PERMISSION.fullmatch(each):
            raise RpcError("INVALID_ARGUMENT", f"Permission {each} is not valid.")


def granted(permissions: list[str]) -> DynamicMessage:
    """Return the response with the permissions that a caller has."""
    answer = descriptors.message("google.iam.v1.TestIamPermissionsResponse")
    answer.permissions.extend(permissions)
    return answer


def problems(policy: DynamicMessage, rules: Rules) -> Iterator[Violation]:
    """Check a policy and yield each violation."""
    if policy.version not in (0, 1, _WITH_CONDITIONS):
        what = f"The policy version {policy.version} does not exist. Use 1, or 3 for conditions."
        yield Violation("policy.version", what)
    if policy.audit_configs and rules.no_audits:
        yield Violation("policy.audit_configs", rules.no_audits)
    if sum(len(binding.members) for binding in policy.bindings) > _MAX_MEMBERS:
        yield Violation("policy.bindings", f"There are more than {_MAX_MEMBERS} members.")
    for index, binding in enumerate(policy.bindings):
        path = f"policy.bindings[{index}]"
        if not _ROLE.fullmatch(binding.role):
            what = f"{binding.role[:200]!r} is not a role, such as {rules.role}."
            yield Violation(f"{path}.role", what)
        for member in binding.members:
            if not (
                _MEMBER.fullmatch(member) or (rules.members_by_role and _MEMBER_BY_ROLE.fullmatch(member))
            ):
                what = f"{member[:200]!r} is not a member, such as {rules.members}."
                yield Violation(f"{path}.members", what)
        if binding.HasField("condition") and policy.version != _WITH_CONDITIONS:
            yield Violation(f"{path}.condition", "A condition requires policy version 3.")
