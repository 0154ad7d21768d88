"""The parameter server of a variable. The expected devices are those of AdaNet's own tests."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_cluster import (
    STANDARD_PS_OPS,
    PlacedWorker,
    PlacementError,
    ReplicationStrategy,
    RoundRobinStrategy,
    ensemble_variable_device,
    subnetwork_variable_device,
    variable_device,
)


def worker(servers: int, subnetworks: int = 1) -> PlacedWorker:
    return PlacedWorker(index=0, workers=1, parameter_servers=servers, subnetworks=subnetworks)


@pytest.mark.parametrize(
    ("servers", "name", "task"),
    [
        (1, "foo", 0), (1, "bar", 0), (1, "baz", 0),
        (3, "foo", 2), (3, "bar", 0), (3, "baz", 1),
        (6, "foo", 2), (6, "bar", 3), (6, "baz", 4),
    ],
)  # fmt: skip
def test_a_variable_of_the_ensemble(servers: int, name: str, task: int) -> None:
    assert ensemble_variable_device(worker(servers), name) == f"/job:ps/task:{task}"


# Tasks of the kernel and bias of two dense layers in each subnetwork, as Keras names them.
DENSE = {
    (1, 1): [(0, 0, 0, 0)],
    (3, 1): [(1, 0, 2, 0)],
    (2, 5): [(0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 0, 0)],
    (1, 3): [(0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)],
    (2, 3): [(0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 0, 0)],
    (3, 3): [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2)],
    (4, 3): [(1, 0, 0, 0), (2, 2, 2, 2), (3, 3, 3, 3)],
    (5, 3): [(1, 0, 0, 0), (2, 3, 3, 2), (4, 4, 4, 4)],
    (6, 3): [(1, 0, 0, 0), (2, 3, 3, 2), (5, 4, 4, 5)],
    (7, 3): [(1, 0, 2, 0), (3, 4, 4, 3), (6, 5, 5, 6)],
    (8, 3): [(1, 0, 2, 0), (4, 5, 5, 4), (7, 6, 6, 7)],
}


@every_row(
    ("servers", "subnetworks", "subnetwork", "tasks"),
    [
        pytest.param(servers, subnetworks, subnetwork, tasks, id=f"{servers}-for-{subnetworks}-{subnetwork}")
        for (servers, subnetworks), rows in DENSE.items()
        for subnetwork, tasks in enumerate(rows)
    ],
)
def test_variables_of_a_subnetwork(
    servers: int, subnetworks: int, subnetwork: int, tasks: tuple[int, ...]
) -> None:
    model = "sequential" if subnetwork == 0 else f"sequential_{subnetwork}"
    layers = [
        "dense" if number == 0 else f"dense_{number}" for number in (2 * subnetwork, 2 * subnetwork + 1)
    ]
    names = [f"{model}/{layer}/{part}" for layer in layers for part in ("kernel", "bias")]
    placed = [
        subnetwork_variable_device(RoundRobinStrategy(), worker(servers, subnetworks), subnetwork, name)
        for name in names
    ]
    assert placed == [f"/job:ps/task:{task}" for task in tasks]


def test_devices_of_adanet_for_all_clusters_up_to_40_servers_and_20_subnetworks() -> None:
    """Compare the devices of three names each, by a digest that was made with the code of adanet 0.9.0."""
    digest = hashlib.sha256()
    for servers in range(1, 41):
        for subnetworks in range(1, 21):
            for subnetwork in range(subnetworks):
                for name in ("dense/kernel", "dense/bias", "mixture_weight"):
                    device = subnetwork_variable_device(
                        RoundRobinStrategy(), worker(servers, subnetworks), subnetwork, name
                    )
                    digest.update(str(device).encode() + b";")
    assert digest.hexdigest() == "0513be148d144d0fc7e0d9de97467bd31129ea860e30b6f3b0535e2c8fafbe93"


@given(st.integers(1, 20), st.integers(1, 10), st.text(st.characters(codec="utf-8")))
def test_without_dedicated_servers_a_subnetwork_is_placed_like_the_ensemble(
    servers: int, subnetworks: int, name: str
) -> None:
    one = worker(servers, subnetworks)
    for strategy in (ReplicationStrategy(), RoundRobinStrategy(dedicate_parameter_servers=False)):
        for subnetwork in range(subnetworks):
            device = subnetwork_variable_device(strategy, one, subnetwork, name)
            assert device == ensemble_variable_device(one, name)


@given(st.lists(st.integers(0, 50), min_size=1, unique=True), st.text(st.characters(codec="utf-8")))
def test_a_variable_is_placed_in_its_group(group: list[int], name: str) -> None:
    assert variable_device(name, group) in {f"/job:ps/task:{task}" for task in group}


@pytest.mark.parametrize("operation_type", STANDARD_PS_OPS)
def test_operations_with_state(operation_type: str) -> None:
    assert ensemble_variable_device(worker(3), "foo", operation_type=operation_type) == "/job:ps/task:2"


@pytest.mark.parametrize("operation_type", ["MatMul", "Const", "ReadVariableOp", "", "variable"])
def test_operations_without_a_device(operation_type: str) -> None:
    assert ensemble_variable_device(worker(3), "foo", operation_type=operation_type) is None


def test_no_parameter_servers_no_device() -> None:
    assert ensemble_variable_device(worker(0), "foo") is None
    assert subnetwork_variable_device(RoundRobinStrategy(), worker(0, 3), 1, "foo") is None


@pytest.mark.parametrize("strategy", [RoundRobinStrategy(), ReplicationStrategy()])
def test_a_subnetwork_that_does_not_exist_has_no_device(
    strategy: RoundRobinStrategy | ReplicationStrategy,
) -> None:
    with pytest.raises(PlacementError, match=r"^subnetwork is 3"):
        subnetwork_variable_device(strategy, worker(2, 3), 3, "foo")
