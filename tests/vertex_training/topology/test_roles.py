from __future__ import annotations

import pytest

from support.ground.jobs import EMPTY, REDUCTION_SERVER, pool
from vertex_training.topology.roles import Role, is_distributed, is_reduction_server_image, replicas, role_of


@pytest.mark.parametrize(
    ("position", "role"), [(0, Role.CHIEF), (1, Role.WORKER), (2, Role.PARAMETER_SERVER), (3, Role.EVALUATOR)]
)
def test_the_position_decides_the_role(position, role):
    assert role_of(position, pool()) is role


def test_the_image_tells_reduction_from_parameter_servers():
    assert role_of(2, pool(image=REDUCTION_SERVER)) is Role.REDUCTION_SERVER


def test_the_image_matters_only_in_the_third_position():
    assert role_of(1, pool(image=REDUCTION_SERVER)) is Role.WORKER


def test_a_fifth_pool_has_no_role():
    with pytest.raises(ValueError, match="at most 4 worker pools"):
        role_of(4, pool())


@pytest.mark.parametrize(
    ("image", "is_one"),
    [
        (REDUCTION_SERVER, True),
        ("europe-docker.pkg.dev/vertex-ai-restricted/training/reductionserver", True),
        ("asia-docker.pkg.dev/vertex-ai-restricted/training/reductionserver@sha256:" + "0" * 64, True),
        ("us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver2:latest", False),
        ("mirror.example/reductionserver:latest", False),
    ],
)
def test_reduction_server_images(image, is_one):
    assert is_reduction_server_image(image) is is_one


def test_replicas_are_named_by_pool_and_index():
    assert [each.name for each in replicas([pool(), EMPTY, pool(2)])] == [
        "workerpool0-0",
        "workerpool2-0",
        "workerpool2-1",
    ]


@pytest.mark.parametrize(
    ("pools", "distributed"),
    [([pool()], False), ([pool(), pool()], True), ([pool(), EMPTY, EMPTY, pool()], True), ([], False)],
)
def test_a_job_is_distributed_with_more_than_one_replica(pools, distributed):
    assert is_distributed(pools) is distributed


@pytest.mark.parametrize(
    ("role", "count", "words"),
    [
        (Role.CHIEF, 1, "chief"),
        (Role.WORKER, 1, "workers"),
        (Role.PARAMETER_SERVER, 2, "parameter servers"),
        (Role.EVALUATOR, 1, "evaluator"),
        (Role.EVALUATOR, 2, "evaluators"),
    ],
)
def test_roles_in_words(role, count, words):
    assert role.in_words(count) == words
