"""MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE on Vertex AI."""

from __future__ import annotations

import pytest

from support.ground.jobs import EMPTY, REDUCTION_SERVER, pool
from support.ground.specs.environment_views import CONTRACTS, FULL, RANK_VARIABLES, ranks

REDUCTION = (pool(), pool(2), pool(3, image=REDUCTION_SERVER))


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(("position", "index", "rank"), [(0, 0, "0"), (1, 0, "1"), (1, 1, "2")])
def test_trainers_are_ranked_in_nodes(position, index, rank, contract):
    assert ranks(*FULL, pool=position, index=index, contract=contract)["RANK"] == rank


@pytest.mark.parametrize(
    ("pools", "size"),
    [
        pytest.param((pool(), pool()), "2", id="two trainers"),
        pytest.param((pool(gpus=4), pool(2, gpus=4)), "3", id="GPUs are not counted"),
        pytest.param(FULL, "3", id="servers and evaluators are not counted"),
        pytest.param(REDUCTION, "3", id="reduction servers are not counted"),
        pytest.param((pool(), EMPTY, pool()), "1", id="a chief with servers"),
    ],
)
def test_the_size_of_the_world(pools, size):
    assert ranks(*pools)["WORLD_SIZE"] == size


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        pytest.param({}, "MASTER_ADDR", "127.0.0.1", id="the chief's host"),
        pytest.param({}, "MASTER_PORT", "2000", id="the chief's port"),
        pytest.param({"open_ports": [3333, 3334]}, "MASTER_PORT", "3333", id="the training port"),
        pytest.param({"addresses": [["[::1]:2222"], ["h:1"]]}, "MASTER_ADDR", "::1", id="without brackets"),
    ],
)
def test_where_the_chief_is(options, name, value):
    assert ranks(pool(), pool(), pool=1, **options)[name] == value


@pytest.mark.parametrize(
    ("pools", "position"),
    [
        pytest.param(FULL, 2, id="parameter server"),
        pytest.param(REDUCTION, 2, id="reduction server"),
        pytest.param(FULL, 3, id="evaluator"),
        pytest.param((pool(),), 0, id="single replica"),
        pytest.param((pool(), EMPTY, EMPTY), 0, id="single replica and empty pools"),
    ],
)
def test_who_has_none(pools, position):
    assert ranks(*pools, pool=position) == {}


def test_a_trainer_has_all_four():
    assert tuple(ranks(*FULL, pool=1)) == RANK_VARIABLES


def test_an_address_without_a_port_is_rejected():
    with pytest.raises(ValueError, match="host:port"):
        ranks(pool(), pool(), addresses=[["chief"], ["worker:1"]])
