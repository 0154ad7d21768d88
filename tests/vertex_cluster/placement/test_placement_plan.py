"""The placement on a cluster: the trainers of each subnetwork, dropped subnetworks, limits, warnings."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vertex_cluster import (
    Cluster,
    PlacedWorker,
    PlacementError,
    PlacementStrategy,
    Plan,
    ReplicationStrategy,
    RoundRobinStrategy,
    WorkerPlan,
    plan,
    plan_for,
    plan_warnings,
    plans,
)

WORKERS, SERVERS, SUBNETWORKS = st.integers(1, 40), st.integers(0, 12), st.integers(1, 20)
STRATEGIES = st.one_of(
    st.just(ReplicationStrategy()),
    st.builds(RoundRobinStrategy, drop_remainder=st.booleans(), dedicate_parameter_servers=st.booleans()),
)


def test_a_plan_in_full() -> None:
    assert plan(RoundRobinStrategy(), 3, 2, 3) == Plan(
        parameter_servers=2,
        subnetworks=3,
        workers=(
            WorkerPlan(0, "workerpool0-0", True, (0, 1, 2), False, ()),
            WorkerPlan(1, "workerpool1-0", False, (0, 2), True, (0, 2)),
            WorkerPlan(2, "workerpool1-1", False, (1,), True, (1,)),
        ),
        parameter_server_groups=((0,), (1,), (0,)),
    )


@pytest.mark.parametrize(
    ("workers", "subnetworks", "dropped"),
    [
        pytest.param(1, 3, (), id="one worker drops nothing"),
        pytest.param(2, 1, (), id="one subnetwork is never dropped"),
        pytest.param(2, 3, (1, 2), id="where AdaNet warns of 0"),
        pytest.param(2, 2, (1,), id="as many workers as subnetworks, where AdaNet does not warn"),
        pytest.param(3, 3, (2,), id="three of each"),
        pytest.param(4, 3, (), id="one complete group"),
        pytest.param(6, 3, (), id="an incomplete second group drops nothing"),
        pytest.param(3, 10, (2, 3, 4, 5, 6, 7, 8, 9), id="far too few workers"),
    ],
)
def test_dropped_subnetworks(workers: int, subnetworks: int, dropped: tuple[int, ...]) -> None:
    assert (
        plan(RoundRobinStrategy(drop_remainder=True), workers, 0, subnetworks).dropped_subnetworks == dropped
    )


@given(WORKERS, SUBNETWORKS)
def test_dropped_subnetworks_start_at_the_number_of_trainers(workers: int, subnetworks: int) -> None:
    assume(workers > 1 and subnetworks > 1)
    made = plan(RoundRobinStrategy(drop_remainder=True), workers, 0, subnetworks)
    assert made.dropped_subnetworks == tuple(range(workers - 1, subnetworks))


@given(WORKERS, SUBNETWORKS)
def test_without_dropping_trainers_are_even(workers: int, subnetworks: int) -> None:
    trainers = plan(RoundRobinStrategy(), workers, 0, subnetworks).trainers
    assert min(trainers) >= 1
    assert max(trainers) - min(trainers) <= 1


@given(WORKERS, SUBNETWORKS, st.booleans())
def test_each_group_has_one_ensemble_worker(workers: int, subnetworks: int, drop: bool) -> None:
    assume(subnetworks > 1)
    made = plan(RoundRobinStrategy(drop_remainder=drop), workers, 0, subnetworks)
    assert made.ensemble_workers == tuple(range(0, workers, subnetworks + 1))
    assert len(made.ensemble_workers) == -(-workers // (subnetworks + 1))


@given(STRATEGIES, WORKERS, SERVERS, SUBNETWORKS)
def test_a_plan_agrees_with_the_strategy_of_each_worker(
    strategy: PlacementStrategy, workers: int, servers: int, subnetworks: int
) -> None:
    made = plan(strategy, workers, servers, subnetworks)
    assert [one.index for one in made.workers] == list(range(workers))
    assert len(made.parameter_server_groups) == subnetworks
    for one in made.workers:
        asked = PlacedWorker(
            index=one.index, workers=workers, parameter_servers=servers, subnetworks=subnetworks
        )
        assert one.build_ensemble is strategy.build_ensemble(asked)
        assert one.train_subnetworks is strategy.train_subnetworks(asked)
        assert one.build_subnetworks == tuple(
            s for s in range(subnetworks) if strategy.build_subnetwork(asked, s)
        )
    for subnetwork, group in enumerate(made.parameter_server_groups):
        assert group == strategy.parameter_server_group(asked, subnetwork)


@given(STRATEGIES, WORKERS, SERVERS, st.lists(SUBNETWORKS, min_size=1, max_size=4))
def test_each_iteration_has_its_own_plan(
    strategy: PlacementStrategy, workers: int, servers: int, numbers: list[int]
) -> None:
    assert plans(strategy, workers, servers, numbers) == tuple(
        plan(strategy, workers, servers, subnetworks) for subnetworks in numbers
    )


@pytest.mark.parametrize("pool", [0, 1, 2, 3])
def test_every_replica_sees_the_same_plan(pool: int) -> None:
    pools = (("a:1",), ("b:1", "c:1"), ("d:1", "e:1"), ("f:1",))
    cluster = Cluster(pools=pools, pool=pool, index=0)
    assert plan_for(RoundRobinStrategy(), cluster, 3) == plan(RoundRobinStrategy(), 3, 2, 3)


def test_a_plan_without_the_reduction_servers_of_a_cluster() -> None:
    cluster = Cluster(pools=(("a:1",), ("b:1",), ("c:1",), ()), pool=0, index=0)
    made = plan_for(RoundRobinStrategy(), cluster, 2, parameter_servers=0)
    assert made == plan(RoundRobinStrategy(), 2, 0, 2)


@pytest.mark.parametrize(
    ("numbers", "path"),
    [
        pytest.param((0, 0, 1), "workers", id="no workers"),
        pytest.param((1, -1, 1), "parameter_servers", id="negative servers"),
        pytest.param((1, 0, 0), "subnetworks", id="no subnetworks"),
        pytest.param((10_001, 0, 1), "workers", id="too many workers"),
        pytest.param((1, 10_001, 1), "parameter_servers", id="too many servers"),
        pytest.param((1, 0, 10_001), "subnetworks", id="too many subnetworks"),
        pytest.param((10_000, 0, 10_000), "subnetworks", id="too many pairs of workers"),
        pytest.param((1, 10_000, 10_000), "subnetworks", id="too many pairs of servers"),
        pytest.param((10**30, 0, 10**30), "workers", id="absurd"),
    ],
)
def test_numbers_outside_the_limits(numbers: tuple[int, int, int], path: str) -> None:
    with pytest.raises(PlacementError) as caught:
        plan(ReplicationStrategy(), *numbers)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("numbers", "remedy"),
    [
        ((0, 0, 1), "Count the chief and the workers."),
        ((1, -1, 1), "Give 0 for a cluster without them."),
        ((1, 0, 0), "Give the number that the iteration trains."),
    ],
)
def test_a_number_outside_the_limits_has_a_remedy(numbers: tuple[int, int, int], remedy: str) -> None:
    with pytest.raises(PlacementError) as caught:
        plan(ReplicationStrategy(), *numbers)
    assert str(caught.value).endswith(f". {remedy}")


@pytest.mark.parametrize(
    ("numbers", "path"),
    [
        pytest.param([], "subnetworks_per_iteration", id="no iteration"),
        pytest.param([3, 0], "subnetworks_per_iteration[1]", id="an iteration without subnetworks"),
        pytest.param([1] * 10_001, "subnetworks_per_iteration", id="too many iterations"),
        pytest.param([400_000 // 100] * 101, "subnetworks_per_iteration", id="too much in all"),
    ],
)
def test_iterations_outside_the_limits(numbers: list[int], path: str) -> None:
    with pytest.raises(PlacementError) as caught:
        plans(RoundRobinStrategy(), 3, 0, numbers)
    assert caught.value.path == path


def test_the_largest_plans_are_made() -> None:
    assert len(plan(RoundRobinStrategy(), 10_000, 0, 100).workers) == 10_000
    assert plan(RoundRobinStrategy(), 100, 100, 10_000).trainers == (1,) * 10_000


class Wrong(PlacementStrategy):
    """Strategy that returns the given numbers."""

    def __init__(self, tasks: Collection[int], built: Collection[int], servers: tuple[int, ...]) -> None:
        self.tasks, self.built, self.servers = tasks, built, servers

    def worker_tasks(self, one: PlacedWorker) -> Collection[int]:
        return self.tasks

    def build_subnetworks(self, one: PlacedWorker) -> Collection[int]:
        return self.built

    def parameter_server_group(self, one: PlacedWorker, subnetwork: int) -> tuple[int, ...]:
        return self.servers


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        pytest.param(
            Wrong({0, 4}, {0}, ()), "Wrong.worker_tasks returned 0 to 4, but there are 4", id="task"
        ),
        pytest.param(
            Wrong({-1, 1}, {0}, ()), "Wrong.worker_tasks returned -1 to 1, but there are 4", id="negative"
        ),
        pytest.param(
            Wrong({0}, {3}, ()), "Wrong.build_subnetworks returned 3 to 3, but there are 3", id="subnetwork"
        ),
        pytest.param(
            Wrong({0}, {0}, (2,)),
            "Wrong.parameter_server_group returned 2 to 2, but there are 2",
            id="server",
        ),
    ],
)
def test_a_strategy_with_numbers_out_of_range(strategy: PlacementStrategy, message: str) -> None:
    with pytest.raises(PlacementError) as caught:
        plan(strategy, 2, 2, 3)
    assert str(caught.value).startswith(message)


def test_a_strategy_with_untrained_middle_subnetworks() -> None:
    made = plan(Wrong({0, 2}, {1}, ()), 2, 0, 4)
    assert made.dropped_subnetworks == (0, 2, 3)
    assert plan_warnings(made)[0].startswith("3 of 4 subnetworks are dropped (first 0, last 3):")


class Resting(RoundRobinStrategy):
    def train_subnetworks(self, one: PlacedWorker) -> bool:
        return one.index == 1


def test_a_plan_calls_every_overridden_method() -> None:
    made = plan(Resting(), 4, 0, 3)
    assert [one.train_subnetworks for one in made.workers] == [False, True, False, False]
    assert made.trainers == (1, 0, 0)


@pytest.mark.parametrize(
    ("strategy", "workers", "subnetworks", "beginnings"),
    [
        pytest.param(RoundRobinStrategy(), 4, 3, [], id="an even plan"),
        pytest.param(ReplicationStrategy(), 5, 3, [], id="replication"),
        pytest.param(RoundRobinStrategy(), 1, 3, [], id="one worker"),
        pytest.param(RoundRobinStrategy(), 3, 3, [], id="a difference of one"),
        pytest.param(
            RoundRobinStrategy(True), 2, 3, ["2 of 3 subnetworks are dropped (1 to 2)"], id="dropped"
        ),
        pytest.param(
            RoundRobinStrategy(True), 3, 3, ["1 of 3 subnetworks are dropped (2)"], id="one dropped"
        ),
        pytest.param(
            RoundRobinStrategy(), 23, 20, ["workerpool1-21 trains 20 subnetworks, others only 1"], id="uneven"
        ),
        pytest.param(
            RoundRobinStrategy(), 6, 3, ["workerpool1-4 trains 3 subnetworks, others only 1"], id="by two"
        ),
        pytest.param(
            RoundRobinStrategy(), 5, 3, ["workerpool1-3 starts a new group"], id="one ensemble more"
        ),
    ],
)
def test_warnings(strategy: PlacementStrategy, workers: int, subnetworks: int, beginnings: list[str]) -> None:
    found = plan_warnings(plan(strategy, workers, 0, subnetworks))
    assert len(found) == len(beginnings)
    for warning, beginning in zip(found, beginnings, strict=True):
        assert warning.startswith(beginning)


def test_a_warning_in_full() -> None:
    assert plan_warnings(plan(RoundRobinStrategy(), 23, 0, 20)) == (
        "workerpool1-21 trains 20 subnetworks, others only 1, so its steps take longest. "
        "A multiple of 21 workers shares them evenly.",
    )


@pytest.mark.parametrize(
    ("strategy", "workers"),
    [
        pytest.param(Wrong({0}, {0, 1, 2}, ()), 1, id="an ensemble worker alone"),
        pytest.param(Wrong((), (), ()), 2, id="workers that do nothing"),
    ],
)
def test_only_a_later_ensemble_worker_has_a_warning(strategy: PlacementStrategy, workers: int) -> None:
    (warning,) = plan_warnings(plan(strategy, workers, 0, 3))
    assert warning.startswith("3 of 3 subnetworks are dropped (0 to 2):")


def test_plans_and_strategies_are_values() -> None:
    made = {plan(RoundRobinStrategy(), 3, 2, 3): RoundRobinStrategy()}
    assert {made[plan(RoundRobinStrategy(), 3, 2, 3)], ReplicationStrategy()} == {
        RoundRobinStrategy(),
        ReplicationStrategy(),
    }


@given(WORKERS, SUBNETWORKS)
def test_the_number_of_workers_in_a_warning_drops_nothing(workers: int, subnetworks: int) -> None:
    made = plan(RoundRobinStrategy(drop_remainder=True), workers, 0, subnetworks)
    better = plan(RoundRobinStrategy(drop_remainder=True), max(workers, subnetworks + 1), 0, subnetworks)
    assert better.dropped_subnetworks == ()
    if made.dropped_subnetworks:
        assert f"with {subnetworks + 1} workers or more" in plan_warnings(made)[0]
