"""Prepare a Google Cloud project for training: services, a service account and its roles."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

import pulumi_vertex_training as vt

SERVICES = (
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "storage.googleapis.com",
    "logging.googleapis.com",
)
BUCKET_ROLES = ("roles/storage.objectAdmin", "roles/storage.legacyBucketReader")


@dataclass(frozen=True)
class Cloud:
    """Services of the project, and the service account of the replicas."""

    services: list[pulumi.Resource]
    account_email: pulumi.Output[str]


def prepare() -> Cloud:
    """Enable the services, and declare the account."""
    from pulumi_gcp import projects, serviceaccount

    services: list[pulumi.Resource] = [
        projects.Service(name.partition(".")[0], project=vt.project(), service=name, disable_on_destroy=False)
        for name in SERVICES
    ]
    account = serviceaccount.Account(
        "trainer",
        project=vt.project(),
        account_id=f"{pulumi.get_project()}-{pulumi.get_stack()}"[:30].rstrip("-"),
        display_name="Runs the replicas of training jobs",
        opts=pulumi.ResourceOptions(depends_on=services),
    )
    return Cloud(services=services, account_email=account.email)


def trainer(cloud: Cloud, bucket: vt.StagingBucket) -> pulumi.Output[str]:
    """Return the account's e-mail address, known once the account can read and write the bucket."""
    from pulumi_gcp import storage

    member = cloud.account_email.apply(lambda email: f"serviceAccount:{email}")
    grants = [
        storage.BucketIAMMember(
            f"trainer-{role.rpartition('.')[2]}", bucket=bucket.name, role=role, member=member
        )
        for role in BUCKET_ROLES
    ]
    return pulumi.Output.all(cloud.account_email, *[grant.id for grant in grants]).apply(
        lambda known: known[0]
    )
