"""The program of environment/ under Pulumi's mocks: its settings become parts of an environment."""

from __future__ import annotations

import json

import pytest

from support.client import gcp_types
from support.mocked_program import Program, run
from support.tables import not_empty

GOOGLE = {
    "vertex-training:endpoint": "google",
    "vertex-training:project": "my-project",
    "vertex-training:location": "europe-west4",
}
NEW = {
    "deployers": json.dumps(["group:ml@example.com"]),
    "githubRepository": "acme/training",
    "schedulerAccount": "new",
    "network": "new",
    "encryptionKey": "new",
    "logRetentionDays": "365",
    "alertEmails": json.dumps(["ml@example.com", "ops@example.com"]),
    "alertWebhook": "https://example.com/?auth_token=7b0c1d",
    "billingAccount": "012345-567890-ABCDEF",
    "monthlyBudget": "500",
    "persistentResource": "new",
    "persistentReplicas": "3",
    "tensorboard": "new",
    "stateBucket": "states",
}
EXISTING = {
    "bucket": "theirs",
    "repository": "us-docker.pkg.dev/p/images",
    "replicaAccount": "trainer@p.iam.gserviceaccount.com",
    "deployerAccount": "none",
    "enableServices": "false",
    "logRetentionDays": "0",
    "network": "projects/12/global/networks/shared",
    "persistentResource": "machines",
}


def environment(settings: dict[str, str], *secrets: str) -> Program:
    return run(
        "prod",
        {**GOOGLE, **{f"training-environment:{key}": value for key, value in settings.items()}},
        folder="environment",
        project="training-environment",
        secrets=tuple(f"training-environment:{key}" for key in secrets),
    )


@pytest.fixture(scope="module")
def new() -> Program:
    return environment(NEW, "alertWebhook")


def test_every_setting_reaches_its_part(new: Program) -> None:
    assert not new.error
    assert new.named("Budget", "training-budget")["amount"] == {"specifiedAmount": {"units": "500"}}
    assert new.named("ProjectBucketConfig", "training-logs")["retentionDays"] == 365
    assert {one["name"] for one in new.of("NotificationChannel")} == {
        *("training-ml@example.com", "training-ops@example.com", "training-webhook"),
    }
    (pool,) = new.named("PersistentResource", "training")["resource_pools"]
    assert pool == {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 3}
    assert {one["name"] for one in new.of("Account")} == {
        *("training-deployer", "training-planner", "training-scheduler", "training-replica"),
    }
    for kind in ("Network", "CryptoKey", "AiTensorboard", "WorkloadIdentityPoolProvider", "ProjectSink"):
        assert len(new.of(kind)) == 1


def test_every_argument_fits_the_installed_package(new: Program) -> None:
    for one in not_empty(each for each in new.declared if each["type"].startswith("gcp:")):
        assert gcp_types.faults(one["type"], one["inputs"]) == []


def test_the_webhook_stays_secret(new: Program) -> None:
    labels = new.named("NotificationChannel", "training-webhook")["labels"]
    assert labels[gcp_types.SECRET_KEY] == gcp_types.SECRET
    assert "7b0c1d" not in new.printed


def test_existing_pieces_are_named_in_the_settings() -> None:
    found = environment(EXISTING)
    assert not found.error
    kinds = {one["type"].rpartition(":")[2] for one in found.declared}
    assert kinds == {"TrainingEnvironment", "BucketIAMMember", "IAMMember"}
    assert {one["inputs"]["bucket"] for one in found.of("BucketIAMMember")} == {"theirs"}


def test_a_webhook_in_plain_text_is_refused_and_not_shown() -> None:
    found = environment(NEW)
    assert "run `pulumi config set --secret training-environment:alertWebhook --stack prod`" in found.error
    assert "7b0c1d" not in found.error + found.printed
