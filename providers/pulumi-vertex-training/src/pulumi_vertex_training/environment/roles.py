"""The roles that an environment grants: who has each one, on what, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Who = Literal["deployer", "planner", "scheduler", "replicas"]
Scope = Literal["project", "bucket", "repository", "replica account", "scheduler account", "state bucket"]


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role that an account has on a resource. With `needs`, only if the environment has that part."""

    who: Who
    role: str
    scope: Scope
    why: str
    needs: str = ""

    @property
    def short(self) -> str:
        """Return the role for names of resources, such as `aiplatform-user`."""
        return self.role.removeprefix("roles/").replace(".", "-")


def _role(who: Who, role: str, scope: Scope, why: str, needs: str = "") -> Role:
    return Role(who=who, role=f"roles/{role}", scope=scope, why=why, needs=needs)


def _preflight(who: Who) -> tuple[Role, ...]:
    """Return the roles that let a preflight look up what deploying does not need to read."""
    return (
        _role(who, "serviceusage.serviceUsageViewer", "project", "reads which services are enabled"),
        _role(who, "cloudquotas.viewer", "project", "reads quotas, to compare them with a job"),
        _role(who, "monitoring.viewer", "project", "reads how much of a quota is in use"),
        _role(who, "browser", "project", "reads the project's policy, for the access of the replicas"),
    )


ROLES = (
    _role(
        "deployer",
        "aiplatform.user",
        "project",
        "submits, reads, cancels and deletes jobs, and registers models",
    ),
    _role("deployer", "logging.viewer", "project", "reads the logs of jobs, to report why one failed"),
    *_preflight("deployer"),
    _role("deployer", "iam.serviceAccountUser", "replica account", "runs jobs as the replicas' account"),
    _role(
        "deployer", "storage.objectUser", "bucket", "stages packages and data, and reads metrics and models"
    ),
    _role("deployer", "storage.legacyBucketReader", "bucket", "reads the bucket's location and settings"),
    _role("deployer", "artifactregistry.repoAdmin", "repository", "pushes images, and deletes old ones"),
    _role(
        "deployer",
        "storage.objectUser",
        "state bucket",
        "reads and writes Pulumi's state, and its lock",
        "state_bucket",
    ),
    _role(
        "deployer",
        "monitoring.alertPolicyEditor",
        "project",
        "declares the alerts of jobs with notifications",
        "notification_channels",
    ),
    _role("deployer", "cloudscheduler.admin", "project", "declares schedules", "scheduler_account"),
    _role(
        "deployer",
        "iam.serviceAccountUser",
        "scheduler account",
        "lets schedules run as the scheduler's account",
        "scheduler_account",
    ),
    _role("scheduler", "aiplatform.user", "project", "submits the jobs of schedules"),
    _role("scheduler", "iam.serviceAccountUser", "replica account", "runs jobs as the replicas' account"),
    _role(
        "planner", "aiplatform.viewer", "project", "reads jobs and models, to show what a change does to them"
    ),
    _role("planner", "logging.viewer", "project", "reads the logs of jobs, to report why one failed"),
    *_preflight("planner"),
    _role("planner", "storage.objectViewer", "bucket", "looks up packages, data and metrics"),
    _role("planner", "storage.legacyBucketReader", "bucket", "reads the bucket's location and settings"),
    _role("planner", "artifactregistry.reader", "repository", "looks up images"),
    _role(
        "planner",
        "storage.objectViewer",
        "state bucket",
        "reads Pulumi's state; a preview writes none",
        "state_bucket",
    ),
    _role(
        "replicas", "storage.objectUser", "bucket", "reads data and packages, writes checkpoints and models"
    ),
    _role(
        "replicas",
        "storage.legacyBucketReader",
        "bucket",
        "reads the bucket's settings, as clients of Cloud Storage do before they open it",
    ),
    _role("replicas", "logging.logWriter", "project", "writes the log of the training program"),
    _role(
        "replicas",
        "aiplatform.user",
        "project",
        "uploads event files to TensorBoard; Google documents this role for it",
        "tensorboard",
    ),
)
"""Every role of the accounts. docs/guides/teams/environments.md has the same table."""

IMPERSONATION = "roles/iam.serviceAccountTokenCreator"
"""Role of the people in `deployers` on the deployer's account."""

FEDERATION = "roles/iam.workloadIdentityUser"
"""Role of the workflows in `workload_identity` on the accounts of deployer and planner."""

ENCRYPTION = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
"""Role of Google's service agents on the encryption key."""

SERVICES = (
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "storage.googleapis.com",
    "logging.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "serviceusage.googleapis.com",
    "cloudquotas.googleapis.com",
    "monitoring.googleapis.com",
)
"""Services that every environment needs."""

SERVICES_OF_PARTS = {
    "network": ("compute.googleapis.com", "servicenetworking.googleapis.com"),
    "encryption_key": ("cloudkms.googleapis.com",),
    "budget": ("billingbudgets.googleapis.com",),
    "workload_identity": ("sts.googleapis.com",),
    "scheduler_account": ("cloudscheduler.googleapis.com",),
}
"""Services that a part needs besides."""
