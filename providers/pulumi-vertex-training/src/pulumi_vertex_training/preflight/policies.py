"""Find an account's roles in IAM policies; roles inherited from a folder are unknown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pulumi_vertex_training.cloud.project.access import Policy

Answer = Literal["yes", "perhaps", "no"]

_EVERYBODY = frozenset({"allUsers", "allAuthenticatedUsers"})
_OF_OTHERS = ("group:", "domain:", "principalSet:")
"""Members that may or may not include an account."""
_OF_PROJECTS = {
    "projectOwner": "roles/owner",
    "projectEditor": "roles/editor",
    "projectViewer": "roles/viewer",
}
"""Members of a new bucket's policy: each stands for everybody with a role in the project."""

OBJECT_WRITERS = frozenset(
    {
        "roles/owner",
        "roles/editor",
        "roles/storage.admin",
        "roles/storage.objectAdmin",
        "roles/storage.objectUser",
        "roles/aiplatform.customCodeServiceAgent",
    }
)
"""Roles that read and write objects."""

OBJECT_READERS = OBJECT_WRITERS | {
    "roles/storage.objectViewer",
    "roles/storage.legacyObjectReader",
    "roles/storage.legacyObjectOwner",
}
"""Roles that read objects."""

IMAGE_READERS = frozenset(
    {
        "roles/owner",
        "roles/editor",
        "roles/viewer",
        "roles/artifactregistry.admin",
        "roles/artifactregistry.repoAdmin",
        "roles/artifactregistry.writer",
        "roles/artifactregistry.reader",
        "roles/artifactregistry.serviceAgent",
        "roles/aiplatform.serviceAgent",
        "roles/aiplatform.customCodeServiceAgent",
    }
)
"""Roles that pull images."""


SECRET_READERS = frozenset({"roles/owner", "roles/secretmanager.admin", "roles/secretmanager.secretAccessor"})
"""Roles that read the values of secrets."""


def has_role(
    email: str, roles: Collection[str], policies: Collection[Policy], *, project: str = ""
) -> Answer:
    """Return whether a service account has one of the roles. `project` is one whose policy is among them.

    It "perhaps" has one by a group, a condition or a custom role, whose permissions no policy lists.
    """
    answer: Answer = "no"
    names = {f"serviceAccount:{email}", *_EVERYBODY}
    for binding in (binding for policy in policies for binding in policy):
        may_grant = binding.role in roles or not binding.role.startswith("roles/")
        answers = {_is_member(email, member, policies, project) for member in binding.members if may_grant}
        named = "yes" in answers or not names.isdisjoint(binding.members)
        if binding.role in roles and named and not binding.is_conditional:
            return "yes"
        if may_grant and (named or "perhaps" in answers):
            answer = "perhaps"
    return answer


def _is_member(email: str, member: str, policies: Collection[Policy], project: str) -> Answer:
    """Return whether a member that is no account includes a service account."""
    kind, _, name = member.partition(":")
    if kind not in _OF_PROJECTS:
        return "perhaps" if member.startswith(_OF_OTHERS) else "no"
    return has_role(email, {_OF_PROJECTS[kind]}, policies) if name == project else "perhaps"
