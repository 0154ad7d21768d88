"""The parts that each worker builds and trains, and the parameter servers of each subnetwork.

The expected numbers come from adanet 0.9.0: its own test cases, the results of its unmodified code (as
digests), and the table that follows from it for three subnetworks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_cluster import (
    Cluster,
    PlacedWorker,
    PlacementError,
    PlacementStrategy,
    ReplicationStrategy,
    RoundRobinStrategy,
    parse_cluster_spec,
    parse_tf_config,
)
from vertex_cluster.placement.worker import cluster_size

ALL, NONE = (0, 1, 2), ()
WORKERS, SERVERS, SUBNETWORKS = st.integers(1, 40), st.integers(0, 40), st.integers(1, 20)


def worker(index: int, workers: int, subnetworks: int, servers: int = 0) -> PlacedWorker:
    return PlacedWorker(index=index, workers=workers, parameter_servers=servers, subnetworks=subnetworks)


@st.composite
def placed(draw: st.DrawFn) -> PlacedWorker:
    workers = draw(WORKERS)
    return worker(draw(st.integers(0, workers - 1)), workers, draw(SUBNETWORKS), draw(SERVERS))


def built(strategy: PlacementStrategy, one: PlacedWorker) -> tuple[int, ...]:
    return tuple(s for s in range(one.subnetworks) if strategy.build_subnetwork(one, s))


# What each worker trains of three subnetworks; E builds the ensemble and all three, without training them.
E = "E"
THREE_SUBNETWORKS = {
    1: [ALL],
    2: [E, ALL],
    3: [E, (0, 2), (1,)],
    4: [E, (0,), (1,), (2,)],
    5: [E, (0,), (1,), (2,), E],
    6: [E, (0,), (1,), (2,), E, ALL],
    7: [E, (0,), (1,), (2,), E, (0, 2), (1,)],
    8: [E, (0,), (1,), (2,), E, (0,), (1,), (2,)],
}
DROPPING = {**THREE_SUBNETWORKS, 2: [E, (0,)], 3: [E, (0,), (1,)]}
DROPPING[6] = [*THREE_SUBNETWORKS[5], (0,)]
DROPPING[7] = [*THREE_SUBNETWORKS[5], (0,), (1,)]

CASES = [
    pytest.param(drop, workers, index, expected, id=f"{'drop' if drop else 'keep'}-{workers}-{index}")
    for drop, table in ((False, THREE_SUBNETWORKS), (True, DROPPING))
    for workers, row in table.items()
    for index, expected in enumerate(row)
]


@every_row(("drop", "workers", "index", "expected"), CASES)
def test_three_subnetworks_are_trained(
    drop: bool, workers: int, index: int, expected: str | tuple[int, ...]
) -> None:
    strategy = RoundRobinStrategy(drop_remainder=drop)
    assert tuple(strategy.trained_subnetworks(worker(index, workers, 3))) == (
        NONE if expected == E else expected
    )


@every_row(("drop", "workers", "index", "expected"), CASES)
def test_three_subnetworks_are_built(
    drop: bool, workers: int, index: int, expected: str | tuple[int, ...]
) -> None:
    strategy = RoundRobinStrategy(drop_remainder=drop)
    assert built(strategy, worker(index, workers, 3)) == (ALL if expected == E else expected)


@every_row(("drop", "workers", "index", "expected"), CASES)
def test_the_ensemble_of_three_subnetworks(
    drop: bool, workers: int, index: int, expected: str | tuple[int, ...]
) -> None:
    strategy = RoundRobinStrategy(drop_remainder=drop)
    assert strategy.build_ensemble(worker(index, workers, 3)) is (expected == E or workers == 1)


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
def test_with_one_subnetwork_every_worker_does_everything(drop: bool, workers: int) -> None:
    strategy = RoundRobinStrategy(drop_remainder=drop)
    for index in range(workers):
        one = worker(index, workers, 1)
        assert (strategy.build_ensemble(one), built(strategy, one)) == (True, (0,))
        assert strategy.train_subnetworks(one)


@pytest.mark.parametrize(
    ("drop", "expected"),
    [pytest.param(False, (0, 1, 2, 3, 4), id="keep"), pytest.param(True, (0,), id="drop")],
)
def test_two_workers_and_five_subnetworks(drop: bool, expected: tuple[int, ...]) -> None:
    """Test the case that AdaNet calls two_workers_one_subnetworks."""
    strategy = RoundRobinStrategy(drop_remainder=drop)
    assert tuple(strategy.worker_tasks(worker(0, 2, 5))) == (0,)
    assert built(strategy, worker(1, 2, 5)) == expected


def test_a_last_worker_alone_trains_everything() -> None:
    strategy = RoundRobinStrategy()
    assert [len(built(strategy, worker(index, 23, 20))) for index in range(23)] == [
        20, *[1] * 20, 20, 20
    ]  # fmt: skip


def test_results_of_adanet_for_all_clusters_up_to_40_workers_and_20_subnetworks() -> None:
    """Compare 410,000 results with those of adanet 0.9.0, by a digest that was made with its code.

    They are for 40 x 20 clusters, with and without drop_remainder, and every worker: the ensemble, each
    subnetwork, and training.
    """
    digest = hashlib.sha256()
    for workers in range(1, 41):
        for subnetworks in range(1, 21):
            for drop in (False, True):
                strategy = RoundRobinStrategy(drop_remainder=drop)
                for index in range(workers):
                    one = worker(index, workers, subnetworks)
                    chosen = strategy.build_subnetworks(one)
                    answers = [s in chosen for s in range(subnetworks)]
                    answers = [strategy.build_ensemble(one), *answers, strategy.train_subnetworks(one)]
                    digest.update(bytes(answers) + b";")
    assert digest.hexdigest() == "c75ec920ebdedb4247d9784f3db554f367841b4ce64200c2e017d0a057bf6a42"


@given(placed())
def test_replication_does_everything_everywhere(one: PlacedWorker) -> None:
    strategy = ReplicationStrategy()
    everything = tuple(range(one.subnetworks))
    assert strategy.build_ensemble(one)
    assert built(strategy, one) == tuple(strategy.trained_subnetworks(one)) == everything
    assert strategy.parameter_server_group(one, 0) == tuple(range(one.parameter_servers))


@given(placed(), st.booleans())
def test_every_worker_builds_something(one: PlacedWorker, drop: bool) -> None:
    strategy = RoundRobinStrategy(drop_remainder=drop)
    assert strategy.build_ensemble(one) or built(strategy, one)


@given(placed(), st.booleans())
def test_a_worker_trains_what_it_builds_or_builds_for_the_ensemble(one: PlacedWorker, drop: bool) -> None:
    strategy = RoundRobinStrategy(drop_remainder=drop)
    trained = tuple(strategy.trained_subnetworks(one))
    assert strategy.train_subnetworks(one) is bool(trained)
    assert trained in (built(strategy, one), NONE)
    if one.workers > 1 and one.subnetworks > 1:
        assert strategy.train_subnetworks(one) is not strategy.build_ensemble(one)


GROUPS = {
    (1, 1): [(0,)],
    (3, 1): [(0, 1, 2)],
    (0, 2): [(), ()],
    (2, 5): [(0,), (1,), (0,), (1,), (0,)],
    (1, 3): [(0,), (0,), (0,)],
    (2, 3): [(0,), (1,), (0,)],
    (3, 3): [(0,), (1,), (2,)],
    (4, 3): [(0, 1), (2,), (3,)],
    (5, 3): [(0, 1), (2, 3), (4,)],
    (6, 3): [(0, 1), (2, 3), (4, 5)],
    (7, 3): [(0, 1, 2), (3, 4), (5, 6)],
    (8, 3): [(0, 1, 2), (3, 4, 5), (6, 7)],
}


@pytest.mark.parametrize(
    ("servers", "subnetworks", "groups"),
    [pytest.param(*sizes, groups, id=f"{sizes[0]}-for-{sizes[1]}") for sizes, groups in GROUPS.items()],
)
def test_dedicated_parameter_servers(servers: int, subnetworks: int, groups: list[tuple[int, ...]]) -> None:
    one = worker(0, 1, subnetworks, servers)
    strategy = RoundRobinStrategy()
    assert [strategy.parameter_server_group(one, s) for s in range(subnetworks)] == groups


@given(placed())
def test_groups_share_the_parameter_servers_evenly(one: PlacedWorker) -> None:
    groups = [RoundRobinStrategy().parameter_server_group(one, s) for s in range(one.subnetworks)]
    if one.parameter_servers >= one.subnetworks:
        assert [server for group in groups for server in group] == list(range(one.parameter_servers))
        sizes = [len(group) for group in groups]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1
    elif one.parameter_servers:
        assert groups == [(s % one.parameter_servers,) for s in range(one.subnetworks)]
    else:
        assert groups == [()] * one.subnetworks


@given(placed())
def test_without_dedication_every_subnetwork_uses_all_parameter_servers(one: PlacedWorker) -> None:
    strategy = RoundRobinStrategy(dedicate_parameter_servers=False)
    all_servers = tuple(range(one.parameter_servers))
    assert {strategy.parameter_server_group(one, s) for s in range(one.subnetworks)} == {all_servers}


class ByHalves(PlacementStrategy):
    """Custom strategy: the chief has the ensemble, the other workers every second subnetwork."""

    def worker_tasks(self, one: PlacedWorker) -> Collection[int]:
        if one.index == 0:
            return {0}
        return {s + 1 for s in range(one.subnetworks) if s % 2 == one.index % 2}


def test_a_custom_strategy_needs_one_method() -> None:
    strategy = ByHalves()
    assert [built(strategy, worker(index, 3, 5)) for index in range(3)] == [
        (0, 1, 2, 3, 4), (1, 3), (0, 2, 4)
    ]  # fmt: skip
    assert [strategy.train_subnetworks(worker(index, 3, 5)) for index in range(3)] == [False, True, True]
    assert [strategy.build_ensemble(worker(index, 3, 5)) for index in range(3)] == [True, False, False]
    assert strategy.parameter_server_group(worker(1, 3, 5, 2), 4) == (0, 1)
    assert strategy.costs(3, 2, 5) == ()


class FixedTasks(PlacementStrategy):
    """Strategy that returns the given tasks."""

    def __init__(self, tasks: Collection[int]) -> None:
        self.tasks = tasks

    def worker_tasks(self, one: PlacedWorker) -> Collection[int]:
        return self.tasks


@pytest.mark.parametrize(
    ("tasks", "trained"),
    [
        pytest.param(range(4), (0, 1, 2), id="a range"),
        pytest.param(range(1), (), id="the ensemble alone"),
        pytest.param(range(0), (), id="an empty range"),
        pytest.param(range(3, -1, -1), (0, 1, 2), id="a descending range"),
        pytest.param(range(0, 4, 2), (1,), id="a range with steps"),
        pytest.param({3, 0, 1}, (0, 2), id="a set"),
        pytest.param([2, 2, 1], (0, 1), id="a list with a task twice"),
        pytest.param((), (), id="nothing"),
    ],
)
def test_tasks_in_any_collection(tasks: Collection[int], trained: tuple[int, ...]) -> None:
    assert tuple(FixedTasks(tasks).trained_subnetworks(worker(0, 2, 3))) == trained


def test_an_ascending_range_of_tasks_is_not_expanded() -> None:
    assert FixedTasks(range(5)).trained_subnetworks(worker(0, 2, 4)) == range(4)
    assert FixedTasks(range(2, 5)).trained_subnetworks(worker(0, 2, 4)) == range(1, 4)


BAD_NUMBERS = [
    pytest.param((0, 0, 1), "workers is 0, but the minimum is 1", id="no workers"),
    pytest.param((0, -1, 1), "workers is -1, but the minimum is 1", id="negative workers"),
    pytest.param((0, 1, 0), "subnetworks is 0, but the minimum is 1", id="no subnetworks"),
    pytest.param((0, 1, 1, -1), "parameter_servers is -1, but the minimum is 0", id="negative servers"),
    pytest.param((-1, 1, 1), "index is -1, but the minimum is 0", id="negative index"),
    pytest.param((2, 2, 3), "index is 2, but there are 2 workers, 0 to 1", id="index past the end"),
    pytest.param((5, 3, 5), "index is 5, but there are 3 workers", id="where AdaNet divides by zero"),
    pytest.param((0, 1.0, 1), "workers is 1.0, not a whole number", id="a fraction"),
    pytest.param((0, 1, True), "subnetworks is True, not a whole number", id="a truth value"),
    pytest.param((0, "2", 1), "workers is '2', not a whole number", id="text"),
]


@pytest.mark.parametrize(("numbers", "message"), BAD_NUMBERS)
def test_invalid_numbers(numbers: tuple[int, ...], message: str) -> None:
    with pytest.raises(PlacementError) as caught:
        worker(*numbers)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


@every_row("subnetwork", [-1, 3, 100, True, "0", None])
@every_row("strategy", [ReplicationStrategy(), RoundRobinStrategy(), ByHalves()])
def test_a_missing_subnetwork(strategy: PlacementStrategy, subnetwork: int) -> None:
    one = worker(1, 4, 3, 2)
    for ask in (strategy.build_subnetwork, strategy.parameter_server_group):
        with pytest.raises(PlacementError, match=r"^subnetwork is .*3 subnetworks, 0 to 2\. .+\.$"):
            ask(one, subnetwork)


CLUSTER = (
    '{"cluster": {"workerpool0": ["a:1"], "workerpool1": ["b:1", "c:1"], "workerpool2": ["d:1", "e:1"],'
    ' "workerpool3": ["f:1"]}, "task": {"type": "TYPE", "index": INDEX}}'
)


def seen_from(pool: int, index: int = 0) -> Cluster:
    return parse_cluster_spec(CLUSTER.replace("TYPE", f"workerpool{pool}").replace("INDEX", str(index)))


@pytest.mark.parametrize(("pool", "index", "expected"), [(0, 0, 0), (1, 0, 1), (1, 1, 2)])
def test_a_replica_finds_its_worker_index(pool: int, index: int, expected: int) -> None:
    cluster = seen_from(pool, index)
    one = PlacedWorker.of(cluster, subnetworks=3)
    assert one == worker(expected, 3, 3, 2)
    assert one.name == cluster.name


def test_reduction_servers_are_excluded_manually() -> None:
    assert PlacedWorker.of(seen_from(0), subnetworks=3, parameter_servers=0).parameter_servers == 0


@pytest.mark.parametrize(("pool", "role"), [(2, "parameter_server"), (3, "evaluator")])
def test_a_replica_that_is_not_a_worker(pool: int, role: str) -> None:
    with pytest.raises(
        PlacementError, match=f"^cluster is seen from workerpool{pool}-0, whose role, {role},"
    ):
        PlacedWorker.of(seen_from(pool), subnetworks=3)


def test_an_evaluator_with_only_tf_config() -> None:
    text = '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "evaluator", "index": 0}}'
    with pytest.raises(PlacementError, match="whose role, evaluator"):
        PlacedWorker.of(parse_tf_config(text), subnetworks=3)


@pytest.mark.parametrize("chiefs", [(), ("a:1", "b:1")])
def test_a_cluster_needs_one_chief(chiefs: tuple[str, ...]) -> None:
    with pytest.raises(PlacementError, match=f"^cluster has {len(chiefs)} replicas in the first pool"):
        cluster_size(Cluster(pools=(chiefs, ("c:1",), (), ()), pool=1, index=0))
