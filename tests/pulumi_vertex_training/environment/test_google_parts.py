"""Every resource and argument of an environment on Google Cloud, under Pulumi's mocks."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.environment.roles import ROLES, SERVICES
from support.client import gcp_types
from support.mocked_program import Program, run
from support.tables import every_row

GOOGLE = {
    "vertex-training:endpoint": "google",
    "vertex-training:project": "my-project",
    "vertex-training:location": "europe-west4",
}
HEAD = "import pulumi\nimport pulumi_gcp as gcp\nimport pulumi_vertex_training as vt\n"
FULL = (
    HEAD
    + """
environment = vt.TrainingEnvironment(
    "team",
    services=["bigquery.googleapis.com"],
    scheduler_account=True,
    deployers=["group:ml@example.com"],
    workload_identity={"github_repository": "acme/training"},
    state_bucket="gs://states",
    network=vt.NetworkArgs(ip_cidr_range="10.0.0.0/24"),
    encryption_key={"protection_level": "HSM"},
    log_bucket=vt.LogBucketArgs(retention_days=400),
    notification_channels={
        "emails": ["ml@example.com"],
        "webhook_url": pulumi.Output.secret("https://example.com/?auth_token=1"),
        "channels": ["projects/my-project/notificationChannels/7"],
    },
    budget={"billing_account": "012345-567890-ABCDEF", "amount": 500, "currency": "EUR"},
    persistent_resource={
        "resource_pools": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}],
        "wait": False,
    },
    tensorboard=True,
)
shown = environment
"""
)
PLAIN = HEAD + 'vt.TrainingEnvironment("team")\n'
EXISTING = (
    HEAD
    + """
shown = vt.TrainingEnvironment(
    "team",
    services=False,
    bucket="gs://theirs",
    repository="us-docker.pkg.dev/example.com/web/images",
    replica_account="trainer@other.iam.gserviceaccount.com",
    deployer_account=gcp.serviceaccount.Account("bot", account_id="bot"),
    planner_account="reader@other.iam.gserviceaccount.com",
    network="projects/12/global/networks/shared",
    encryption_key="projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k",
    log_bucket="projects/p/locations/global/buckets/jobs",
    persistent_resource="machines",
    tensorboard="projects/p/locations/europe-west4/tensorboards/1",
    notification_channels={"channels": [gcp.monitoring.NotificationChannel("ours", type="email")]},
)
"""
)


@pytest.fixture(scope="module")
def full() -> Program:
    return run("prod", GOOGLE, program=FULL, project="training-environment", preview=False)


@pytest.fixture(scope="module")
def plain() -> Program:
    return run("prod", GOOGLE, program=PLAIN, project="training-environment")


@pytest.fixture(scope="module")
def existing() -> Program:
    return run("prod", GOOGLE, program=EXISTING, project="training-environment", preview=False)


def gcp_resources(program: Program) -> list[dict[str, Any]]:
    return [one for one in program.declared if one["type"].startswith("gcp:")]


@every_row("name", ["full", "plain", "existing"])
def test_every_argument_fits_the_installed_package(name: str, request: pytest.FixtureRequest) -> None:
    program = request.getfixturevalue(name)
    assert not program.error
    found = {
        f"{one['type']} {one['name']}": gcp_types.faults(one["type"], one["inputs"])
        for one in gcp_resources(program)
    }
    assert not {name: faults for name, faults in found.items() if faults}


def test_the_comparison_finds_wrong_names_and_types() -> None:
    wrong = {
        "amount": {"units": 5},
        "thresholdRules": [{"spendBasis": 1.0}],
        "budgetFilter": {"projects": "p"},
    }
    assert sorted(gcp_types.faults("gcp:billing/budget:Budget", wrong)) == [
        "amount.units: BudgetAmountArgs has no such argument",
        "billingAccount is missing",
        "budgetFilter.projects is 'p', not a list",
        "thresholdRules[0].spendBasis is 1.0, not a str",
        "thresholdRules[0].thresholdPercent is missing",
    ]


KEY = "team-key-id"
NETWORK = "team-network-id"
DEPLOYER = "training-envir-197368-deployer"
PLANNER = "training-enviro-d2a65c-planner"
REPLICA = "training-enviro-53e69d-replica"
SCHEDULER = "training-envi-159e4c-scheduler"
IN_PROJECT = {"project": "my-project"}
PARTS: dict[str, dict[str, Any]] = {
    "Network team-network": {
        **IN_PROJECT,
        "autoCreateSubnetworks": False,
        "description": "Peered with the machines of training jobs",
    },
    "Subnetwork team-subnetwork": {
        **IN_PROJECT,
        "region": "europe-west4",
        "network": NETWORK,
        "ipCidrRange": "10.0.0.0/24",
        "privateIpGoogleAccess": True,
    },
    "GlobalAddress team-addresses": {
        **IN_PROJECT,
        "network": NETWORK,
        "addressType": "INTERNAL",
        "purpose": "VPC_PEERING",
        "prefixLength": 16,
    },
    "Connection team-peering": {
        "network": NETWORK,
        "service": "servicenetworking.googleapis.com",
        "reservedPeeringRanges": ["team-addresses-name"],
    },
    "KeyRing team-keys": {**IN_PROJECT, "location": "europe-west4"},
    "CryptoKey team-key": {
        "keyRing": "team-keys-id",
        "purpose": "ENCRYPT_DECRYPT",
        "rotationPeriod": "7776000s",
        "versionTemplate": {"algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION", "protectionLevel": "HSM"},
    },
    "ServiceIdentity team-aiplatform-agent": {**IN_PROJECT, "service": "aiplatform.googleapis.com"},
    "ServiceIdentity team-artifactregistry-agent": {
        **IN_PROJECT,
        "service": "artifactregistry.googleapis.com",
    },
    "Account team-deployer": {
        **IN_PROJECT,
        "accountId": DEPLOYER,
        "displayName": "Deploys trainings with Pulumi",
    },
    "Account team-planner": {
        **IN_PROJECT,
        "accountId": PLANNER,
        "displayName": "Plans trainings, and reads only",
    },
    "Account team-replica": {
        **IN_PROJECT,
        "accountId": REPLICA,
        "displayName": "Runs the replicas of training jobs",
    },
    "Account team-scheduler": {
        **IN_PROJECT,
        "accountId": SCHEDULER,
        "displayName": "Submits the jobs of schedules",
    },
    "WorkloadIdentityPool team-pool": {
        **IN_PROJECT,
        "workloadIdentityPoolId": "training-environment-prod-ci",
        "displayName": "Continuous integration",
        "description": "Deploys trainings from acme/training",
    },
    "WorkloadIdentityPoolProvider team-provider": {
        **IN_PROJECT,
        "workloadIdentityPoolId": "training-environment-prod-ci",
        "workloadIdentityPoolProviderId": "github",
        "attributeMapping": {
            "google.subject": "assertion.sub",
            "attribute.repository": "assertion.repository",
            "attribute.environment": "assertion.environment",
        },
        "attributeCondition": 'assertion.repository == "acme/training"',
        "oidc": {"issuerUri": "https://token.actions.githubusercontent.com"},
    },
    "ProjectBucketConfig team-logs": {
        **IN_PROJECT,
        "location": "europe-west4",
        "bucketId": "training-environment-prod-jobs",
        "retentionDays": 400,
        "description": "Logs of training jobs",
        "cmekSettings": {"kmsKeyName": KEY},
    },
    "ProjectSink team-logs": {
        **IN_PROJECT,
        "name": "training-environment-prod-jobs",
        "destination": "logging.googleapis.com/team-logs-name",
        "filter": 'resource.type="ml_job"',
        "description": "Keeps the logs of training jobs",
        "uniqueWriterIdentity": True,
    },
    "NotificationChannel team-ml@example.com": {
        **IN_PROJECT,
        "type": "email",
        "displayName": "Trainings: ml@example.com",
        "labels": {"email_address": "ml@example.com"},
    },
    "NotificationChannel team-webhook": {
        **IN_PROJECT,
        "type": "webhook_tokenauth",
        "displayName": "Trainings: webhook",
        "labels": {
            gcp_types.SECRET_KEY: gcp_types.SECRET,
            "value": {"url": "https://example.com/?auth_token=1"},
        },
    },
    "Budget team-budget": {
        "billingAccount": "012345-567890-ABCDEF",
        "displayName": "training-environment prod",
        "budgetFilter": {"projects": ["projects/1234"], "calendarPeriod": "MONTH"},
        "amount": {"specifiedAmount": {"units": "500", "currencyCode": "EUR"}},
        "thresholdRules": [
            {"thresholdPercent": 0.5},
            {"thresholdPercent": 0.9},
            {"thresholdPercent": 1},
            {"thresholdPercent": 1, "spendBasis": "FORECASTED_SPEND"},
        ],
        "allUpdatesRule": {
            "monitoringNotificationChannels": [
                "team-ml@example.com-name",
                "team-webhook-name",
                "projects/my-project/notificationChannels/7",
            ],
            "disableDefaultIamRecipients": True,
        },
    },
    "AiTensorboard team-tensorboard": {
        **IN_PROJECT,
        "region": "europe-west4",
        "displayName": "training-environment prod",
        "encryptionSpec": {"kmsKeyName": KEY},
    },
}
"""Every resource of the full environment with all of its arguments, except services and grants."""


def test_every_part_has_these_arguments(full: Program) -> None:
    found = {
        f"{one['type'].rpartition(':')[2]} {one['name']}": one["inputs"]
        for one in gcp_resources(full)
        if one["type"].rpartition(":")[2] != "Service" and not one["type"].casefold().endswith("member")
    }
    assert found == PARTS


def member(account: str) -> str:
    return f"serviceAccount:{account}@my-project.iam.gserviceaccount.com"


def test_the_grants_are_those_of_the_table_and_no_more(full: Program) -> None:
    accounts = {"deployer": DEPLOYER, "planner": PLANNER, "scheduler": SCHEDULER, "replicas": REPLICA}
    where = {
        "project": ("my-project",),
        "bucket": ("my-project-bucket",),
        "state bucket": ("states",),
        "repository": ("europe-west4", "my-project", "r"),
        "replica account": (f"projects/my-project/serviceAccounts/{member(REPLICA)[15:]}",),
        "scheduler account": (f"projects/my-project/serviceAccounts/{member(SCHEDULER)[15:]}",),
    }
    wanted = {(member(accounts[role.who]), role.role, *where[role.scope]) for role in ROLES}
    pool = "principalSet://iam.googleapis.com/team-pool-name/attribute.environment"
    deployer, planner = (
        f"projects/my-project/serviceAccounts/{member(name)[15:]}" for name in (DEPLOYER, PLANNER)
    )
    wanted |= {
        ("group:ml@example.com", "roles/iam.serviceAccountTokenCreator", deployer),
        (f"{pool}/prod", "roles/iam.workloadIdentityUser", deployer),
        (f"{pool}/prod-plan", "roles/iam.workloadIdentityUser", planner),
    }
    encrypts = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
    wanted |= {
        ("serviceAccount:agent-of-aiplatform.googleapis.com", encrypts, KEY),
        ("serviceAccount:agent-of-artifactregistry.googleapis.com", encrypts, KEY),
        ("serviceAccount:agent-of-storage", encrypts, KEY),
    }
    found = set()
    for one in gcp_resources(full):
        inputs = one["inputs"]
        match one["type"].rpartition(":")[2]:
            case "BucketIAMMember":
                target = (inputs["bucket"],)
            case "RepositoryIamMember":
                target = (inputs["location"], inputs["project"], inputs["repository"])
            case "CryptoKeyIAMMember":
                target = (inputs["cryptoKeyId"],)
            case "IAMMember":
                target = (inputs.get("serviceAccountId") or inputs["project"],)
            case _:
                continue
        found.add((inputs["member"], inputs["role"], *target))
    assert found == wanted


def test_our_own_parts_use_network_key_and_account(full: Program) -> None:
    bucket, repository = full.named("StagingBucket", "team"), full.named("ImageRepository", "team")
    machines = full.named("PersistentResource", "team")
    assert bucket["encryption"] == {"default_kms_key_name": KEY}
    assert repository["kms_key_name"] == KEY
    assert machines["encryption_spec"] == {"kms_key_name": KEY}
    assert machines["network"] == "projects/1234/global/networks/team-network-name"
    assert machines["resource_runtime_spec"] == {
        "service_account_spec": {"enable_custom_service_account": True}
    }


def test_the_values_of_the_full_environment(full: Program) -> None:
    assert full.values == {
        "endpoint": "google",
        "project": "my-project",
        "location": "europe-west4",
        "bucket": "my-project-bucket",
        "repository": "europe-west4-docker.pkg.dev/my-project/r",
        "replica_account": member(REPLICA)[15:],
        "deployer_account": member(DEPLOYER)[15:],
        "planner_account": member(PLANNER)[15:],
        "scheduler_account": member(SCHEDULER)[15:],
        "network": "projects/1234/global/networks/team-network-name",
        "kms_key_name": KEY,
        "persistent_resource_id": "machines-of-team",
        "tensorboard": "team-tensorboard-name",
        "notification_channels": [
            "team-ml@example.com-name",
            "team-webhook-name",
            "projects/my-project/notificationChannels/7",
        ],
        "workload_identity_provider": "team-provider-name",
        "log_bucket": "team-logs-name",
    }


def test_services_follow_the_parts(full: Program, plain: Program, existing: Program) -> None:
    def services(program: Program) -> set[str]:
        return {one["inputs"]["service"] for one in program.of("Service")}

    assert services(plain) == set(SERVICES)
    assert services(full) == {
        *SERVICES,
        "compute.googleapis.com",
        "servicenetworking.googleapis.com",
        "cloudkms.googleapis.com",
        "billingbudgets.googleapis.com",
        "sts.googleapis.com",
        "cloudscheduler.googleapis.com",
        "bigquery.googleapis.com",
    }
    assert services(existing) == set()
    assert all(one["inputs"]["disableOnDestroy"] is False for one in full.of("Service"))


def test_an_environment_with_defaults_has_two_accounts_and_nothing_that_costs(plain: Program) -> None:
    kinds = {one["type"].rpartition(":")[2] for one in gcp_resources(plain)}
    assert kinds == {"Service", "Account", "IAMMember", "BucketIAMMember", "RepositoryIamMember"}
    assert {one["name"] for one in plain.of("Account")} == {"team-deployer", "team-replica"}


def test_existing_pieces_are_taken_as_they_are(existing: Program) -> None:
    assert existing.values == {
        "endpoint": "google",
        "project": "my-project",
        "location": "europe-west4",
        "bucket": "theirs",
        "repository": "us-docker.pkg.dev/example.com/web/images",
        "replica_account": "trainer@other.iam.gserviceaccount.com",
        "deployer_account": "bot@my-project.iam.gserviceaccount.com",
        "planner_account": "reader@other.iam.gserviceaccount.com",
        "scheduler_account": None,
        "network": "projects/12/global/networks/shared",
        "kms_key_name": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k",
        "persistent_resource_id": "machines",
        "tensorboard": "projects/p/locations/europe-west4/tensorboards/1",
        "notification_channels": ["ours-name"],
        "workload_identity_provider": None,
        "log_bucket": "projects/p/locations/global/buckets/jobs",
    }
    made = [one for one in existing.declared if not one["type"].casefold().endswith("member")]
    assert sorted(one["type"].rpartition(":")[2] for one in made) == [
        *("Account", "NotificationChannel", "ProjectSink", "ServiceIdentity", "ServiceIdentity"),
        "TrainingEnvironment",
    ]
    grants = existing.named("RepositoryIamMember", "team-planner-artifactregistry-reader")
    assert (grants["location"], grants["project"], grants["repository"]) == (
        "us",
        "example.com:web",
        "images",
    )
    actas = existing.named("IAMMember", "team-deployer-iam-serviceAccountUser")
    assert actas["serviceAccountId"] == "projects/-/serviceAccounts/trainer@other.iam.gserviceaccount.com"


def test_gitlab_has_its_own_issuer_and_claim_and_grants_can_be_left_out() -> None:
    program = (
        'federation = {"gitlab_project": "g/sub/p", "environment": "live"}\n'
        'vt.TrainingEnvironment("team", workload_identity=federation, planner_account=False)\n'
        'vt.TrainingEnvironment("other", grant_roles=False, encryption_key="projects/p/k")\n'
    )
    found = run("prod", GOOGLE, program=HEAD + program)
    provider = found.named("WorkloadIdentityPoolProvider", "team-provider")
    assert provider["oidc"] == {"issuerUri": "https://gitlab.com"}
    assert provider["attributeCondition"] == 'assertion.project_path == "g/sub/p"'
    assert provider["attributeMapping"]["attribute.repository"] == "assertion.project_path"
    assert found.named("IAMMember", "team-deployer-federation")["member"].endswith("/live")
    assert {one["name"] for one in found.of("Account")} == {
        *("team-deployer", "team-replica", "other-deployer", "other-replica"),
    }
    grants = [one["name"] for one in found.declared if one["type"].casefold().endswith("member")]
    assert not [name for name in grants if name.startswith("other-")]


def test_without_pulumi_gcp_the_message_names_the_command() -> None:
    program = 'import pulumi_vertex_training as vt\nvt.TrainingEnvironment("team")\n'
    found = run("prod", GOOGLE, program=program, without="pulumi_gcp")
    assert found.error == (
        "team: an environment on Google Cloud is made with pulumi_gcp, which is not installed. Run `pip "
        'install "pulumi-gcp>=10,<11"` in the Python environment of the program.'
    )


def test_on_the_emulator_the_same_program_keeps_what_exists_and_makes_no_google_resource() -> None:
    found = run(
        "test", {"vertex-training:endpoint": "emulator"}, program=EXISTING, project="training-environment"
    )
    theirs = {"bot", "ours"}
    assert {one["name"] for one in gcp_resources(found)} == theirs
    assert found.values["network"] == "projects/12/global/networks/shared"
    assert found.values["replica_account"] == "trainer@other.iam.gserviceaccount.com"
    assert found.values["notification_channels"] == ["ours-name"]
    assert found.values["tensorboard"] == "projects/p/locations/europe-west4/tensorboards/1"
    assert "made without roles, which the emulator does not have" in found.printed


def test_on_the_emulator_one_line_lists_everything_that_is_left_out() -> None:
    found = run(
        "test", {"vertex-training:endpoint": "emulator"}, program=FULL, project="training-environment"
    )
    assert not gcp_resources(found)
    assert (
        "made without services, service accounts, roles, notification channels, workload identity, network, "
        "encryption key, log bucket, budget and TensorBoard, which the emulator does not have"
    ) in found.printed
    assert {one["type"].rpartition(":")[2] for one in found.declared} - {"StackKey"} == {
        *("TrainingEnvironment", "StagingBucket", "ImageRepository", "PersistentResource"),
    }
    (bucket,) = found.of("StagingBucket")
    assert "encryption" not in bucket["inputs"]
