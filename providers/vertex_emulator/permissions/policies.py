"""The IAM policies of projects, and what may be asked about a project's permissions.

Until a policy is set, a project has the one below: its roles describe what the emulator lets programs do. A
role that includes a permission which is denied in the project is left out of it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.metadata_server import email
from vertex_emulator.permissions.denials import Denials
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError, Violation, invalid_fields

_SCHEMA = (
    """
    CREATE TABLE project_policies (
        project_number TEXT PRIMARY KEY,
        policy BLOB NOT NULL
    );
    """,
)
_POLICY = "google.iam.v1.Policy"
_WITH_CONDITIONS = 3
_ROLE = re.compile(r"(?:(?:projects|organizations)/[^/]+/)?roles/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers"
    r"|(?:deleted:)?(?:user|serviceAccount|group|domain|principal|principalSet):.+"
)
_PERMISSION = re.compile(r"[a-z][a-z0-9]*(?:\.[A-Za-z]+)+")

ROLES: Mapping[str, tuple[str, ...]] = {
    "roles/aiplatform.customCodeServiceAgent": (
        "storage.objects.create",
        "storage.objects.delete",
        "storage.objects.get",
        "storage.objects.list",
        "artifactregistry.repositories.downloadArtifacts",
        "logging.logEntries.create",
    ),
    "roles/storage.objectUser": (
        "storage.objects.create",
        "storage.objects.delete",
        "storage.objects.get",
        "storage.objects.list",
        "storage.objects.update",
    ),
    "roles/artifactregistry.reader": (
        "artifactregistry.repositories.downloadArtifacts",
        "artifactregistry.repositories.get",
        "artifactregistry.repositories.list",
    ),
    "roles/logging.logWriter": ("logging.logEntries.create",),
}
"""The permissions of the default policy's roles that matter to training (IAM documentation, "Roles and
permissions"). The other roles of the policy are never left out.
"""


class ProjectPolicies:
    """The policies of all projects."""

    def __init__(self, database: Database, denials: Denials) -> None:
        self._database = database
        self._denials = denials
        database.migrate("project_policies", _SCHEMA)

    def bindings(self, project_of: Callable[[str], str]) -> Mapping[str, Callable[[Any], Message]]:
        """Return the methods of Resource Manager by full name.

        `project_of` returns the id of a project that is named by its id or number, or raises `RpcError`.
        """

        def asked(request: Any) -> str:
            return project_of(str(request.resource).removeprefix("projects/"))

        def get(request: Any) -> Message:
            version = request.options.requested_policy_version
            if version not in (0, 1, 2, _WITH_CONDITIONS):
                raise RpcError("INVALID_ARGUMENT", f"There is no policy version {version}. Ask for 3.")
            return self.get(asked(request))

        def put(request: Any) -> Message:
            return self.set(asked(request), request.policy)

        def test(request: Any) -> Message:
            return self.test(asked(request), request)

        return {
            f"{descriptors.PROJECTS}.GetIamPolicy": get,
            f"{descriptors.PROJECTS}.SetIamPolicy": put,
            f"{descriptors.PROJECTS}.TestIamPermissions": test,
        }

    def get(self, project: str) -> Message:
        """Return the policy of a project."""
        row = self._database.row(
            "SELECT policy FROM project_policies WHERE project_number = ?", (project_number(project),)
        )
        if row is None:
            return self._default(project)
        policy = descriptors.message(_POLICY)
        policy.ParseFromString(row["policy"])
        return _with_etag(policy)

    def set(self, project: str, policy: Any) -> Message:
        """Replace the policy of a project.

        Raises `RpcError` ABORTED if the etag shows that the policy has changed since it was read.
        """
        if faults := list(_problems(policy)):
            raise invalid_fields(faults)
        with self._database.transaction() as connection:
            current: Any = self.get(project)
            if policy.etag and policy.etag != current.etag:
                raise RpcError(
                    "ABORTED",
                    "There were concurrent policy changes. Please retry the whole read-modify-write with "
                    "exponential backoff.",
                )
            new = descriptors.message(_POLICY)
            new.CopyFrom(policy)
            new.ClearField("etag")
            new.version = new.version or 1
            connection.execute(
                "INSERT INTO project_policies VALUES (?, ?) "
                "ON CONFLICT (project_number) DO UPDATE SET policy = excluded.policy",
                (project_number(project), new.SerializeToString()),
            )
        return _with_etag(new)

    def test(self, project: str, request: Any) -> Message:
        """Return the requested permissions that are not denied in a project."""
        check_permissions(request.permissions)
        answer = descriptors.message("google.iam.v1.TestIamPermissionsResponse")
        answer.permissions.extend(self._denials.granted(request.permissions, f"projects/{project}"))
        found: Message = answer
        return found

    def clear(self) -> None:
        """Go back to the default policy everywhere."""
        self._database.execute("DELETE FROM project_policies")

    def _default(self, project: str) -> Message:
        number = project_number(project)
        agent = f"serviceAccount:service-{number}@gcp-sa-aiplatform"
        policy = descriptors.message(_POLICY)
        policy.version = 1
        for role, member in (
            ("roles/aiplatform.customCodeServiceAgent", f"{agent}-cc.iam.gserviceaccount.com"),
            ("roles/aiplatform.serviceAgent", f"{agent}.iam.gserviceaccount.com"),
            ("roles/artifactregistry.reader", "allAuthenticatedUsers"),
            ("roles/logging.logWriter", "allAuthenticatedUsers"),
            ("roles/owner", f"serviceAccount:{email(project)}"),
            ("roles/storage.objectUser", "allAuthenticatedUsers"),
        ):
            permissions = ROLES.get(role, ())
            if len(self._denials.granted(permissions, f"projects/{project}")) == len(permissions):
                policy.bindings.add(role=role, members=[member])
        return _with_etag(policy)


def check_permissions(permissions: Any) -> None:
    """Check the form of the permissions in a request. Raises `RpcError` INVALID_ARGUMENT."""
    for each in permissions:
        if "*" in each:
            raise RpcError("INVALID_ARGUMENT", f"Permission {each} is not valid: wildcards are not allowed.")
        if not _PERMISSION.fullmatch(each):
            raise RpcError("INVALID_ARGUMENT", f"Permission {each} is not valid.")


def _with_etag(policy: Any) -> Message:
    policy.ClearField("etag")
    digest = hashlib.sha256(policy.SerializeToString(deterministic=True)).digest()[:8]
    policy.etag = base64.b64encode(digest)
    found: Message = policy
    return found


def _problems(policy: Any) -> Iterator[Violation]:
    for index, binding in enumerate(policy.bindings):
        path = f"policy.bindings[{index}]"
        if not _ROLE.fullmatch(binding.role):
            what = f"{binding.role[:200]!r} is not a role, such as roles/storage.objectUser."
            yield Violation(f"{path}.role", what)
        for member in binding.members:
            if not _MEMBER.fullmatch(member):
                what = f"{member[:200]!r} is not a member, such as serviceAccount:EMAIL."
                yield Violation(f"{path}.members", what)
        if binding.HasField("condition") and policy.version != _WITH_CONDITIONS:
            yield Violation(f"{path}.condition", "A condition requires policy version 3.")
