"""The roles of an account by policies, as far as these can tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from pulumi_vertex_training.cloud.project.access import Policy

Answer = Literal["yes", "perhaps", "no"]

_EVERYBODY = frozenset({"allUsers", "allAuthenticatedUsers"})
_OF_OTHERS = ("group:", "domain:", "projectOwner:", "projectEditor:", "projectViewer:", "principalSet:")
"""Members that may or may not include an account."""

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


def has_role(email: str, roles: Collection[str], policies: Iterable[Policy]) -> Answer:
    """Return whether a service account has one of the roles.

    It "perhaps" has one by a group, a condition or a custom role, whose permissions no policy lists.
    """
    found: Answer = "no"
    for binding in (binding for policy in policies for binding in policy):
        named = f"serviceAccount:{email}" in binding.members or not _EVERYBODY.isdisjoint(binding.members)
        by_others = any(member.startswith(_OF_OTHERS) for member in binding.members)
        if not (named or by_others):
            continue
        if binding.role in roles and named and not binding.is_conditional:
            return "yes"
        if binding.role in roles or not binding.role.startswith("roles/"):
            found = "perhaps"
    return found
