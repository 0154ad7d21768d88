"""The roles that a preflight recommends are those that a `TrainingEnvironment` grants."""

from __future__ import annotations

from pulumi_vertex_training.environment.roles import ROLES, SERVICES
from pulumi_vertex_training.preflight.checks import bucket_access, capacity, deployer, replicas

GRANTED = {(role.who, role.role, role.scope) for role in ROLES}


def test_roles_of_the_deployer_and_the_replicas() -> None:
    assert {
        ("deployer", deployer.USER, "project"),
        ("deployer", deployer.LOG_VIEWER, "project"),
        ("deployer", replicas.ACCOUNT_USER, "replica account"),
        ("replicas", bucket_access.OBJECT_USER, "bucket"),
    } <= GRANTED


def test_both_accounts_may_look_up_what_a_preflight_reads() -> None:
    readers = (deployer.SERVICE_VIEWER, capacity.QUOTA_VIEWER, capacity.METRIC_VIEWER, "roles/browser")
    assert {(who, role, "project") for who in ("deployer", "planner") for role in readers} <= GRANTED


def test_services_are_enabled_by_an_environment() -> None:
    assert {*deployer.SERVICES, deployer.SERVICE_OF_IMAGES} <= set(SERVICES)
