"""The IAM policies of projects, and what may be asked about a project's permissions.

Until a policy is set, a project has the one below: its roles describe what the emulator lets programs do. A
role that includes a permission which is denied in the project is left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.metadata_server import email
from vertex_emulator.server.permissions import iam_policy
from vertex_emulator.server.permissions.denials import Denials
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Unary

SCHEMA = (
    """
    CREATE TABLE project_policies (
        project_number TEXT PRIMARY KEY,
        policy BLOB NOT NULL,
        project TEXT NOT NULL
    );
    """,
)
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
        database.migrate("project_policies", SCHEMA)

    def bindings(self, project_of: Callable[[str], str]) -> Mapping[str, Unary]:
        """Return the methods of Resource Manager by full name.

        `project_of` returns the id of a project that is named by its id or number, or raises `RpcError`.
        """

        def asked(request: DynamicMessage) -> str:
            return project_of(str(request.resource).removeprefix("projects/"))

        def get(request: DynamicMessage) -> DynamicMessage:
            iam_policy.check_version(request)
            return self.get(asked(request))

        def put(request: DynamicMessage) -> DynamicMessage:
            return self.set(asked(request), request)

        def test(request: DynamicMessage) -> DynamicMessage:
            return self.test(asked(request), request)

        return {
            f"{descriptors.PROJECTS}.GetIamPolicy": get,
            f"{descriptors.PROJECTS}.SetIamPolicy": put,
            f"{descriptors.PROJECTS}.TestIamPermissions": test,
        }

    def get(self, project: str) -> DynamicMessage:
        """Return the policy of a project."""
        row = self._database.row(
            "SELECT policy FROM project_policies WHERE project_number = ?", (project_number(project),)
        )
        if row is None:
            return self._default(project)
        return iam_policy.read(row["policy"])

    def set(self, project: str, request: DynamicMessage) -> DynamicMessage:
        """Replace the policy of a project.

        Raises `RpcError` ABORTED if the etag shows that the policy has changed since it was read.
        """
        iam_policy.check_replacement(request, iam_policy.PROJECT)
        with self._database.transaction() as connection:
            new = iam_policy.replaced(request, self.get(project))
            connection.execute(
                "INSERT INTO project_policies (project_number, policy, project) VALUES (?, ?, ?) "
                "ON CONFLICT (project_number) DO UPDATE "
                "SET policy = excluded.policy, project = excluded.project",
                (project_number(project), new.SerializeToString(), project),
            )
        return iam_policy.with_etag(new)

    def test(self, project: str, request: DynamicMessage) -> DynamicMessage:
        """Return the requested permissions that are not denied in a project."""
        iam_policy.check_permissions(request.permissions)
        return iam_policy.granted(self._denials.granted(request.permissions, f"projects/{project}"))

    def clear(self) -> None:
        """Go back to the default policy everywhere."""
        self._database.execute("DELETE FROM project_policies")

    def _default(self, project: str) -> DynamicMessage:
        number = project_number(project)
        agent = f"serviceAccount:service-{number}@gcp-sa-aiplatform"
        policy = iam_policy.empty()
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
        return iam_policy.with_etag(policy)
