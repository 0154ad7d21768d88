"""Mistakes in the arguments of an environment, and the ids that it makes of names."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks

import pulumi_vertex_training as vt
from pulumi_vertex_training.environment.google.provision import repository_parts
from pulumi_vertex_training.environment.google.scope import identifier
from support.tables import every_row

POOL = {"github_repository": "acme/training"}


class _NoResources(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        raise AssertionError(f"{args.name} is declared in spite of the mistakes")

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        return {}


@pytest.fixture(autouse=True)
def _program(event_loop: None) -> None:
    mocks.set_mocks(_NoResources(), project="digits", stack="dev")


@every_row(
    ("given", "says"),
    [
        ({"netwrk": True}, ["team: netwrk: unknown argument; did you mean network?"]),
        (
            {"network": {"ip_range": "10.0.0.0/8"}, "budget": {"amount": 5}},
            [
                "team: network.ip_range: unknown argument; did you mean ip_cidr_range?",
                "team: budget.billing_account is missing",
            ],
        ),
        (
            {"budget": True},
            [
                "team: budget.billing_account is missing",
                "team: budget.amount is missing",
                "team: budget is True; give a BudgetArgs or a dictionary",
            ],
        ),
        (
            {"log_bucket": 90},
            [
                "team: log_bucket is 90; give True, a LogBucketArgs, a dictionary, or the full name of an "
                "existing one"
            ],
        ),
        (
            {"workload_identity": {}},
            ["team: workload_identity needs either github_repository or gitlab_project"],
        ),
        (
            {"workload_identity": {"github_repository": "https://github.com/acme/training"}},
            [
                "team: workload_identity.github_repository is 'https://github.com/acme/training'; give "
                "OWNER/NAME, such as my-team/training"
            ],
        ),
        (
            {"deployers": ["ml@example.com"]},
            [
                "team: deployers has 'ml@example.com'; give a principal, such as user:ada@example.com or "
                "group:ml@example.com"
            ],
        ),
        (
            {"deployers": "group:ml@example.com"},
            ["team: deployers is 'group:ml@example.com'; give a list, such as [\"group:ml@example.com\"]"],
        ),
        (
            {"deployer_account": False, "workload_identity": POOL, "state_bucket": "states"},
            [
                "team: workload_identity is given, but deployer_account is False; leave one of them out",
                "team: state_bucket is given, but deployer_account is False; leave one of them out",
            ],
        ),
        ({"grant_roles": "all"}, ["team: grant_roles is 'all'; it must be True or False"]),
        (
            {"tensorboard": 5, "replica_account": None},
            [
                "team: replica_account is None; give True, False, a service account or its address",
                "team: tensorboard is 5; give True or the full name of an existing one",
            ],
        ),
        ({"bucket": {"nam": "x"}}, ["team: bucket.nam: unknown argument; did you mean name?"]),
    ],
)
def test_mistakes_are_reported_at_once(given: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        vt.TrainingEnvironment("team", **given)
    assert str(raised.value).splitlines() == says


@every_row(
    ("name", "says"),
    [
        ("dev", "the environment 'dev' is not the full name of a stack; give ORGANIZATION/PROJECT/STACK"),
        ("a/b/", "such as organization/training-environment/dev"),
        (None, "the environment None is not the full name of a stack"),
    ],
)
def test_the_name_of_an_environment_has_three_parts(name: Any, says: str) -> None:
    with pytest.raises(pulumi.RunError, match=says):
        vt.get_training_environment(name)


@every_row(
    ("parts", "suffix", "longest", "made"),
    [
        (["digits", "dev"], "replica", 30, "digits-dev-replica"),
        (["Digits_2", "dev"], "", 30, "digits-2-dev"),
        (["2digits", "dev"], "", 30, "e-2digits-dev"),
        (["a" * 40, "dev"], "replica", 30, "aaaaaaaaaaaaaaa-46f36f-replica"),
    ],
)
def test_ids_are_what_the_services_accept(parts: list[str], suffix: str, longest: int, made: str) -> None:
    found = identifier(parts, suffix, longest=longest)
    assert found == made
    assert len(found) <= longest


def test_an_address_of_a_repository_has_three_parts() -> None:
    assert repository_parts("us-docker.pkg.dev/p/images") == ["us", "p", "images"]
    assert repository_parts("us-docker.pkg.dev/example.com/p/images") == ["us", "example.com:p", "images"]
    for wrong in ("gcr.io/p/images", "us-docker.pkg.dev/p", "images"):
        with pytest.raises(pulumi.RunError, match="is not an address of Artifact Registry"):
            repository_parts(wrong)
