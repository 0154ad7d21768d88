"""TF_CONFIG on Vertex AI."""

from __future__ import annotations

import pytest

from support.ground.jobs import EMPTY, REDUCTION_SERVER, package_pool, pool
from support.ground.specs.environment_views import CONTRACTS, FULL, cluster_spec, environment, tf_config
from support.tables import every_row

REDUCTION = (pool(), pool(), pool(2, image=REDUCTION_SERVER))

EXAMPLE = {
    "cluster": {
        "chief": ["training-workerpool0-[ID_STRING_1]-0:2222"],
        "ps": ["training-workerpool2-[ID_STRING_1]-0:2222"],
        "worker": ["training-workerpool1-[ID_STRING_1]-0:2222", "training-workerpool1-[ID_STRING_1]-1:2222"],
    },
    "environment": "cloud",
    "task": {"cloud": "[ID_STRING_2]", "index": 0, "trial": "1", "type": "worker"},
}
"""The example of "Distributed training": a worker in the first trial of a tuning job."""


@pytest.mark.parity("Custom jobs: the environment of a replica")
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_documents_example(contract):
    cluster = EXAMPLE["cluster"]
    found = tf_config(
        pool(),
        pool(2),
        pool(),
        pool=1,
        trial="1",
        contract=contract,
        addresses=[cluster["chief"], cluster["worker"], cluster["ps"]],
    )
    assert found.pop("job")
    found["task"]["cloud"] = "[ID_STRING_2]"
    assert found == EXAMPLE


@every_row("contract", CONTRACTS)
@every_row(
    ("pools", "position", "is_set"),
    [
        pytest.param((pool(),), 0, False, id="a single replica"),
        pytest.param((pool(), EMPTY, EMPTY, EMPTY), 0, False, id="a single replica and empty pools"),
        pytest.param((package_pool(),), 0, False, id="a single replica with a package"),
        pytest.param((pool(), pool()), 0, True, id="two replicas"),
        pytest.param((pool(), EMPTY, EMPTY, pool()), 0, True, id="a chief with an evaluator"),
        pytest.param((pool(), EMPTY, EMPTY, pool()), 3, True, id="an evaluator"),
        pytest.param((pool(), EMPTY, pool()), 2, True, id="a parameter server"),
        pytest.param(REDUCTION, 0, True, id="a chief with reduction servers"),
        pytest.param(REDUCTION, 2, False, id="a reduction server"),
    ],
)
def test_where_it_is_set(pools, position, is_set, contract):
    assert ("TF_CONFIG" in environment(*pools, pool=position, contract=contract)) is is_set


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(("position", "task"), [(0, "chief"), (1, "worker"), (2, "ps"), (3, "evaluator")])
def test_the_type_of_a_task(position, task, contract):
    assert tf_config(*FULL, pool=position, contract=contract)["task"]["type"] == task


@pytest.mark.parametrize(("position", "index"), [(0, 0), (1, 0), (1, 1), (2, 1), (3, 0)])
def test_the_index_of_a_task(position, index):
    assert tf_config(*FULL, pool=position, index=index)["task"]["index"] == index


@pytest.mark.parametrize("position", range(4))
def test_the_cluster_is_the_same_in_every_task(position):
    assert tf_config(*FULL, pool=position)["cluster"] == {
        "chief": ["127.0.0.1:2000"],
        "worker": ["127.0.0.1:2100", "127.0.0.1:2101"],
        "ps": ["127.0.0.1:2200", "127.0.0.1:2201"],
    }


@pytest.mark.parametrize(
    ("pools", "names"),
    [
        pytest.param((pool(), pool()), ["chief", "worker"], id="workers"),
        pytest.param((pool(), EMPTY, pool()), ["chief", "ps"], id="parameter servers alone"),
        pytest.param((pool(), EMPTY, EMPTY, pool()), ["chief"], id="never an evaluator"),
        pytest.param(REDUCTION, ["chief", "worker"], id="reduction servers are no ps"),
        pytest.param((pool(), pool(image=REDUCTION_SERVER)), ["chief", "worker"], id="the position decides"),
    ],
)
def test_the_names_in_the_cluster(pools, names):
    assert list(tf_config(*pools)["cluster"]) == names


def test_the_environment_is_the_cloud():
    assert tf_config(*FULL)["environment"] == "cloud"


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_job_is_that_of_cluster_spec(contract):
    pools = (package_pool(), pool())
    found = tf_config(*pools, pool=1, contract=contract)["job"]
    assert found == cluster_spec(*pools, pool=1, contract=contract)["job"]


def test_the_number_that_the_service_uses_is_the_same_in_every_task():
    assert tf_config(*FULL)["task"]["cloud"] == tf_config(*FULL, pool=3)["task"]["cloud"]
