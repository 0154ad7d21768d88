"""Every resource and argument of an environment on Google Cloud, under Pulumi's mocks."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.environment.roles import ROLES, SERVICES
from support import gcp_types
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
    deployers=["group:ml@example.com"],
    workload_identity={"github_repository": "acme/training"},
    state_bucket="gs://states",
    network=vt.NetworkArgs(ip_cidr_range="10.0.0.0/24"),
    encryption_key={"protection_level": "HSM"},
    log_bucket=vt.LogBucketArgs(retention_days=400),
    notifications={
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
environment.export()
"""
)
PLAIN = HEAD + 'vt.TrainingEnvironment("team")\n'
EXISTING = (
    HEAD
    + """
vt.TrainingEnvironment(
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
    notifications={"channels": [gcp.monitoring.NotificationChannel("ours", type="email")]},
).export()
"""
)


@pytest.fixture(scope="module")
def full() -> Program:
    return run("prod", GOOGLE, program=FULL, project="training-environment")


@pytest.fixture(scope="module")
def plain() -> Program:
    return run("prod", GOOGLE, program=PLAIN, project="training-environment")


@pytest.fixture(scope="module")
def existing() -> Program:
    return run("prod", GOOGLE, program=EXISTING, project="training-environment")


def exports(program: Program) -> dict[str, Any]:
    (component,) = program.of("TrainingEnvironment")
    found: dict[str, Any] = component["outputs"]
    return found


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
    token, wrong = "gcp:billing/budget:Budget", {"amount": {"units": 5}, "thresholdRules": [{"spendBasis": 1.0}]}
    assert gcp_types.faults(token, wrong) == [
        "billingAccount is missing",
        "amount.units: BudgetAmountArgs has no such argument",
        "thresholdRules[0].spendBasis is 1.0, not a str",
        "thresholdRules[0].thresholdPercent is missing",
    ] or sorted(gcp_types.faults(token, wrong)) == sorted(
        [
            "amount.units: BudgetAmountArgs has no such argument",
            "billingAccount is missing",
            "thresholdRules[0].spendBasis is 1.0, not a str",
            "thresholdRules[0].thresholdPercent is missing",
        ]
    )


def test_every_resource_of_the_full_environment(full: Program) -> None:
    found: dict[str, list[str]] = {}
    for one in gcp_resources(full):
        found.setdefault(one["type"].partition(":")[2], []).append(one["name"])
    assert {kind: sorted(names) for kind, names in found.items()} == {}


